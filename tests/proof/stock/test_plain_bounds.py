"""What plain checkpoints of all architectures argue alike, on numbers whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from softhat.io.errors import VoidError
from softhat.numerics.kernels import SDPA
from softhat.proof.stock.counts import MeanCount
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.kind import KEPT
from softhat.proof.stock.plain_bounds import PlainBounds
from softhat.proof.stock.storage import STORAGES

FLOAT32, BFLOAT16 = STORAGES[0], STORAGES[1]
GATE = Gate(
    target=0, units=(0, 1), out=1.0, low=4.0, high=12.0, fails=-3.0, never=False, clears=False
)


class Given(PlainBounds):
    """Bounds of nothing, whose means are off by what is given."""

    def __init__(self, storage: Any, errors: tuple[float, ...] = ()) -> None:
        self.storage, self.fused, self.kernel = storage, True, SDPA
        self.kept_share, self.errors = KEPT[0], errors
        self.bounds = {}

    def mean_errors(self, positions: int) -> Iterator[float]:
        return (positions * error for error in self.errors)


def test_means_must_keep_their_share() -> None:
    bounds = Given(FLOAT32, (1e-3, 2e-3))
    bounds.check_length(449)
    assert bounds.bounds["mean of a count, of the least"] == pytest.approx(0.9)
    with pytest.raises(VoidError, match="reach its size"):
        bounds.check_length(450)


COUNT = MeanCount(size=1.0, bos=0.5, unit=1.0, grid=0.5, least=0.5)


def test_a_mean_is_measured_by_the_least_one() -> None:
    """Ten values of 1 and one of 1/2: two exact sums divided, or ten roundings of their size."""
    bounds, u, sizes = Given(FLOAT32), 2.0**-24, 1 + 0.5 / 10
    exact = bounds.mean_error(COUNT, 10, 0.0, True, 2.0**-8)
    assert exact == pytest.approx(10 * (2.0**-8 + 4 * u * sizes / 10) / 0.5, rel=1e-12)
    rounded = bounds.mean_error(COUNT, 10, 0.0, False, 2.0**-8)
    assert rounded == pytest.approx(10 * (2.0**-8 + 10 * u * sizes) / 0.5, rel=1e-12)
    with pytest.raises(VoidError, match="too much of its size"):
        bounds.mean_error(COUNT, 10, 0.0, True, 2.0**-6)


def test_sums_are_exact_up_to_the_integers_of_float32() -> None:
    """2^23 ones are 2^24 times the grid, and the constant's share is one more."""
    assert Given(BFLOAT16).mean_error(COUNT, 2**23 - 1, 0.0, True, 0.0) < 1e-5
    with pytest.raises(VoidError, match="beyond float32's integers"):
        Given(BFLOAT16).mean_error(COUNT, 2**23, 0.0, True, 0.0)
    assert Given(FLOAT32).mean_error(COUNT, 2**23, 0.0, True, 0.0) > 1e3


def test_the_nearer_side_of_a_clip_is_the_room() -> None:
    bounds = Given(FLOAT32)
    assert bounds.gate_room(GATE, 1.0) == 2.0  # 3 below, 4 above
    assert bounds.gate_room(GATE, 1.0, 0.5) == 0.5
    assert bounds.gate_room(replace(GATE, fails=-5.0), 1.0) == 3.0
    assert bounds.gate_room(replace(GATE, low=1.0, never=True), 1.0) == 2.0  # it never holds


def test_small_formats_leave_half_a_spacing() -> None:
    bounds = Given(BFLOAT16)  # eight digits: just below 4 they are 2^-6 apart
    assert bounds.gate_room(GATE, 0.0) == 2.0**-7
    with pytest.raises(VoidError, match="too many digits"):
        bounds.gate_room(replace(GATE, high=12.0 + 2.0**-8), 0.0)
