"""Directions of a disguised model as tensors, and back."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.io.errors import SofthatError
from softhat.transformer.directions import Directions, DisguisedUnits, HeadBasis, directions_from

HEADS, SIZE = 2, 3


def made() -> Directions:
    """Two blocks of two heads, of which one is idle."""
    rng = np.random.default_rng(2)
    idle = HeadBasis(np.zeros((0, SIZE), np.float32), np.zeros((0, SIZE), np.float32))
    busy = HeadBasis(rng.normal(size=(2, SIZE)), rng.normal(size=(1, SIZE)))
    units = DisguisedUnits(np.array([0, 1, -1]), np.ones(3), np.array([1.0, 1.0, 0.0]))
    residual = rng.normal(size=(4, HEADS * SIZE))
    return Directions(residual, ((busy, idle), (idle, busy)), (units,) * 2)


def test_there_and_back() -> None:
    there = made()
    tensors = there.tensors()
    assert "blocks.0.heads.0.value" in tensors and "blocks.0.heads.1.value" not in tensors
    back = directions_from(tensors, HEADS * SIZE, HEADS, SIZE)
    assert np.array_equal(back.residual, there.residual)
    for one, other in zip(there.heads, back.heads, strict=True):
        for left, right in zip(one, other, strict=True):
            assert np.array_equal(left.query_key, right.query_key)
            assert np.array_equal(left.value, right.value)
    for ours, theirs in zip(there.units, back.units, strict=True):
        assert all(
            np.array_equal(getattr(ours, name), getattr(theirs, name))
            for name in ("part", "factor", "share")
        )


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("residual", None, "has no tensor 'residual'"),
        ("blocks.1.units.share", None, "has no tensor 'blocks.1.units.share'"),
        ("residual", np.zeros((4, 5)), "not 6 numbers a row"),
        ("blocks.0.heads.0.value", np.full((1, SIZE), np.nan), "not 3 numbers a row"),
        ("blocks.0.units.factor", np.ones(2), "different shapes"),
    ],
)
def test_damage_is_named(name: str, value: np.ndarray | None, reason: str) -> None:
    tensors = made().tensors()
    del tensors[name]
    if value is not None:
        tensors[name] = value
    with pytest.raises(SofthatError, match=reason):
        directions_from(tensors, HEADS * SIZE, HEADS, SIZE)
