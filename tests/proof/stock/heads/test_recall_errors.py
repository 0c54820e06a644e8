"""How far the scores of a Llama's Recall may be off: what rests is exact, all else counts."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.numerics.formats import FORMATS
from softhat.proof.stock.heads.recall import RecallHead, exactly_zero, turned_gaps
from softhat.proof.stock.kind import Pair
from softhat.proof.stock.rotary import Resting, RotaryScores, StoredRows, TurnedScores
from softhat.proof.stock.variables import BitCell, ConstantCell, Form

SLOW = np.array([1e-9] * 4)


GAP, CLEAR = 64.0, 512.0


def head(zeros: tuple[tuple[int, int, float], ...]) -> RecallHead:
    return RecallHead(
        block=0,
        head=0,
        pairs=tuple(Pair(p, "content", 0j, True) for p in range(3)),
        gap=GAP,
        clear=CLEAR,
        sizes=np.zeros(4),
        anchored=0.0,
        compares=((1, 2),),
        zeros=zeros,
    )


def errors(zeros: tuple[tuple[int, int, float], ...], quiet: set[int]) -> tuple[float, float]:
    scores = RotaryScores(FORMATS["float32"], True, SLOW, 64)
    sizes = np.array([8.0, 1000.0, 1000.0, 0.0] + [0.0] * 4)
    rows = StoredRows(sizes, 1e-5 * sizes)
    start = [ConstantCell(-1.0, -1.0), ConstantCell(1.0, -1.0), BitCell(3)]
    setting = TurnedScores(
        storage=scores.storage,
        fused=True,
        keys=64,
        rotary=scores,
        query=rows,
        key=rows,
        scale=0.0,
        resting=Resting(list(start), quiet),
        counted=False,
        advice="",
    )
    left = turned_gaps(head(zeros), setting)
    return GAP - left.gap, CLEAR - left.clear


def test_a_bit_that_rests_costs_nothing() -> None:
    near, far = errors(((1, 0, -1.0), (2, 2, 1.0)), {0})
    assert near < 1.0 < far


@pytest.mark.parametrize(
    ("zeros", "quiet"),
    [
        (((1, 0, -1.0),), {0}),  # one row has no zero
        (((1, 0, 1.0), (2, 2, 1.0)), {0}),  # the value that a gate writes
        (((1, 0, -1.0), (2, 2, 1.0)), set()),  # tails that are not lost
        (((1, 1, -1.0), (2, 2, 1.0)), {1}),  # it starts as the other value
    ],
)
def test_a_bit_that_does_not_counts_whole(
    zeros: tuple[tuple[int, int, float], ...], quiet: set[int]
) -> None:
    near, far = errors(zeros, quiet)
    assert near > 1e-5 * 1000 * 1000 / 8**0.5
    assert far >= near / 2


def test_only_powers_of_two_cancel_exactly() -> None:
    """Fused with its sum a product is not rounded: 0.1·a, then 0.1·a - round(0.1·a), is not 0."""
    cells = [ConstantCell(1.0, 1.0), BitCell(3)]
    assert exactly_zero(Form({0: 64.0, 1: 64.0}, 0.0), cells) == (1, -1.0)
    assert exactly_zero(Form({0: 48.0, 1: 48.0}, 0.0), cells) is None
    assert exactly_zero(Form({0: 64.0, 1: 32.0}, 0.0), cells) is None
    assert exactly_zero(Form({0: 64.0, 1: 64.0}, 1.0), cells) is None
