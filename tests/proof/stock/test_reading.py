"""Sums over variables as floats take them, against their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from softhat.proof.stock.norms import NormFactor
from softhat.proof.stock.reading import StockReading
from softhat.proof.stock.storage import STORAGES
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, MeanCell, RawCell, Rows

FLOAT32, BFLOAT16 = STORAGES[0], STORAGES[1]
CELLS: list[Cell] = [
    ConstantCell(1.0, 1.0), BitCell(3), BitCell(5), RawCell(7, 0.0625, 0), ConstantCell(0.75, 0.75),
]  # fmt: skip


def reading(storage: Any, coordinates: int, scale: float, mean: float, exact: bool) -> StockReading:
    off = np.array([0.0, 1e-6, 0.0, 1e-7, 0.0]) * (not exact)
    return StockReading(CELLS, off, NormFactor(scale, mean, exact), storage, coordinates)


@pytest.mark.parametrize("coordinates", [1, 2])
def test_sums_in_any_order_stay_within(coordinates: int) -> None:
    """Of a variable's one coordinate, or of its two of opposite sign; a mean is added to both."""
    rng = np.random.default_rng(coordinates)
    scale, mean = 2.0**-18, 2.0**-12 if coordinates == 2 else 0.0
    read = reading(FLOAT32, coordinates, scale, mean, exact=False)
    rows = Rows(rng.standard_normal((6, 5)).astype(np.float32), np.full(6, 0.3, np.float32))
    errors, reach = read.errors(rows), read.reach(rows)
    values = np.array([1.0, 1.0, -1.0, 0.0625, 0.75])
    exact = rows.weights.astype(np.float64) @ values + rows.constants
    signs = np.array([1.0, -1.0])[:coordinates]
    for _ in range(200):
        held = np.float32(values + read.off * rng.uniform(-1, 1, 5))
        factor = 1 + scale * rng.choice([-1, 1])
        x = np.float32((np.outer(held, signs) + mean * rng.choice([-1, 1])) * factor)
        weights = np.float32(rows.weights[:, :, None] * (signs / coordinates).astype(np.float32))
        terms = (weights * x).reshape(6, -1)
        terms = np.concatenate([terms, rows.constants[:, None]], axis=1)
        total = np.zeros(6, np.float32)
        for at in rng.permutation(terms.shape[1]):
            total = total + terms[:, at]
            assert (np.abs(total) <= reach * 1.000001).all()
        assert (np.abs(total - exact) <= errors).all()


def test_what_is_read_exactly_adds_up_exactly() -> None:
    """Up to 2^24 of the finest step: of a constant that is no integer too."""
    read = reading(BFLOAT16, 1, 0.0, 0.0, exact=True)
    rows = Rows.of(np.array([[2.0**22, 1, 0, 0, 0], [2.0**22, 0, 0, 0, 1]], np.float32))
    assert read.grids(rows).tolist() == [1.0, 0.25]
    errors = read.errors(rows)
    assert errors[0] == 0.0 < errors[1]
    assert float(np.float32(2.0**24 + 0.75)) != 2.0**24 + 0.75
    assert not read.holds(rows).any()
    assert read.holds(Rows.of(np.array([[4, 1, 1, 0, 0]], np.float32))).all()


def test_a_mean_is_no_multiple_of_anything() -> None:
    cells: list[Cell] = [MeanCell((), np.array(0), np.array(1), 1.0, 0.5, 0)]
    read = StockReading(cells, np.zeros(1), NormFactor(0.0, 0.0, True), BFLOAT16, 1)
    assert read.errors(Rows.of(np.ones((1, 1), np.float32)))[0] > 0
