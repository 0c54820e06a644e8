"""What plain checkpoints of all architectures argue alike, on numbers whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from softhat.io.errors import VoidError
from softhat.proof.stock.counts import MeanCount
from softhat.proof.stock.derivation import Derivation
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.plain_bounds import PlainBounds
from softhat.proof.stock.storage import STORAGES

FLOAT32, BFLOAT16 = STORAGES[0], STORAGES[1]
GATE = Gate(
    target=0, units=(0, 1), out=1.0, low=4.0, high=12.0, fails=-3.0, never=False, clears=False
)


class Given(PlainBounds[Any, Any]):
    """Bounds whose means are off by what is given."""

    def __init__(self, storage: Any, errors: tuple[float, ...] = ()) -> None:
        super().__init__(Derivation[Any, Any](None, [], []), True, storage, None)
        self.errors = errors

    def check(self) -> None: ...

    def mean_errors(self, positions: int) -> Iterator[float]:
        return (positions * error for error in self.errors)


def test_means_must_keep_their_share() -> None:
    bounds = Given(FLOAT32, (1e-3, 2e-3))
    bounds.check_length(449)
    assert bounds.bounds["mean of a count, of the least"] == pytest.approx(0.9)
    with pytest.raises(VoidError, match="reach its size"):
        bounds.check_length(450)


def test_a_mean_is_measured_by_the_least_one() -> None:
    count = MeanCount(size=1.0, bos=0.5, unit=1.0, grid=0.5, least=0.5)
    assert Given(FLOAT32).in_least_means(count, 10, 2.0**-8) == 10 * 2.0**-8 / 0.5
    with pytest.raises(VoidError, match="too much of its size"):
        Given(FLOAT32).in_least_means(count, 10, 2.0**-6)


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
