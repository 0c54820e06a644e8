"""Previous: turning distances of which 1 wins, by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.io.errors import VoidError
from softhat.proof.stock.heads import recognise
from softhat.proof.stock.heads.previous import PreviousHead
from softhat.proof.stock.kind import Gaps, HeadForms
from softhat.proof.stock.variables import Form
from tests.proof.stock.heads.made import ONE, head_forms, stream, weights

CONTEXT = 9


def looking(distance: int, size: float = 12.0) -> HeadForms:
    """Σ_b size·cos(π(i - j - distance)/2^b)."""
    turns = [np.pi / 2**b for b in range(4)]
    rows = [
        (
            (
                Form({ONE: size * np.cos(w * distance)}, 0.0),
                Form({ONE: -size * np.sin(w * distance)}, 0.0),
            ),
            Form({ONE: 1.0}, 0.0),
        )
        for w in turns
    ]
    return head_forms(rows, CONTEXT, turns)


def test_the_theorem_by_brute_force() -> None:
    atoms, cells = stream(CONTEXT)
    h = looking(1)
    head, _ = recognise(h, cells, atoms)
    assert isinstance(head, PreviousHead)
    assert head.gap >= 24.0  # the digit that differs costs twice its size
    shares = weights(h, cells, [0] * (CONTEXT - 1))
    leak = head.leak(Gaps(head.gap, head.clear), CONTEXT)
    for i in range(1, CONTEXT):
        assert 1 - shares[i, i - 1] <= leak


def test_another_distance_is_void() -> None:
    atoms, cells = stream(CONTEXT)
    with pytest.raises(VoidError):
        recognise(looking(2), cells, atoms)
