"""Latest: its gaps by brute force, learned positions and turning ones; what is none is void."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from softhat.io.errors import VoidError
from softhat.proof.stock.heads import recognise
from softhat.proof.stock.heads.latest import LatestHead
from softhat.proof.stock.kind import Gaps, stepwise
from softhat.proof.stock.variables import Form
from tests.proof.stock.heads.made import DIGIT, ONE, A, head_forms, stream, weights

CONTEXT = 8
IS_A = Form({A: 0.5, ONE: 0.5}, 0.0)


def rising(step: float, penalty: float) -> Any:
    """step·j - penalty·[a at j]."""
    digits = [(Form({}, step * 2.0 ** (b - 1)), Form({DIGIT + b: 1.0}, 0.0)) for b in range(3)]
    return head_forms([*digits, (Form({}, -penalty), IS_A)], CONTEXT)


def turning(step: float, penalty: float) -> Any:
    """The same by a sine of the distance, which falls by at least `step`."""
    w, half = 0.2, 0.2 * (CONTEXT - 1) / 2
    size = step / (w * np.cos(half)) * 1.001
    query = (Form({ONE: size * np.sin(half)}, 0.0), Form({ONE: size * np.cos(half)}, 0.0))
    rows = [(query, Form({ONE: 1.0}, 0.0)), (Form({ONE: -penalty}, 0.0), IS_A)]
    return head_forms(rows, CONTEXT, [w, 1e-12])


@pytest.mark.parametrize("made", [rising, turning])
def test_the_theorem_by_brute_force(made: Any) -> None:
    """All but the leak is on the last key that is no a, in every word."""
    atoms, cells = stream(CONTEXT)
    h = made(4.0, 60.0)
    head, _ = recognise(h, cells, atoms)
    assert isinstance(head, LatestHead)
    assert 4.0 * (1 - 1e-9) <= head.gap <= 4.4  # a sine falls a little faster in the middle
    leak = stepwise(Gaps(head.gap, head.clear), CONTEXT)
    for code in range(3 ** (CONTEXT - 1)):
        word = [code // 3**k % 3 for k in range(CONTEXT - 1)]
        if code % 7 == 0:
            shares = weights(h, cells, word)
            for i in range(CONTEXT):
                last = max(j for j in range(i + 1) if j == 0 or word[j - 1] != 0)
                assert 1 - shares[i, last] <= leak * (1 + 1e-9)


def test_nothing_is_ruled_out() -> None:
    atoms, cells = stream(CONTEXT)
    rows = [(Form({}, 4.0 * 2.0 ** (b - 1)), Form({DIGIT + b: 1.0}, 0.0)) for b in range(3)]
    head, _ = recognise(head_forms(rows, CONTEXT), cells, atoms)
    assert isinstance(head, LatestHead) and head.clear == inf


@pytest.mark.parametrize("made", [rising, turning])
@pytest.mark.parametrize("numbers", [(-4.0, 60.0), (4.0, 20.0), (4.0, -60.0), (0.0, 60.0)])
def test_what_is_none_is_void(made: Any, numbers: tuple[float, float]) -> None:
    """Scores that fall, penalties that are too small, or of the wrong sign."""
    atoms, cells = stream(CONTEXT)
    with pytest.raises(VoidError):
        recognise(made(*numbers), cells, atoms)
