"""What rows read of a residual stream stays within what is said of it."""

from __future__ import annotations

import numpy as np

from softhat.proof.llama.dense_rows import HeldValues, RowGroups, lengths
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell

CELLS: list[Cell] = [
    ConstantCell(1.0, 1.0),
    ConstantCell(0.0, 1.0),
    ConstantCell(1.0, 0.0),
    ConstantCell(2.0, 2.0),
    BitCell(1),
    BitCell(2),
]


def test_the_largest_reading_is_not_exceeded() -> None:
    rng = np.random.default_rng(5)
    held = HeldValues.of(CELLS, np.array([1.0, 1.0, 1.0, 2.0, 1.0, 1.0]))
    rows = rng.standard_normal((20, 2, len(CELLS)))
    largest = held.largest(rows)
    for ordinary in (True, False):
        for bits in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            state = [
                (cell.ordinary if ordinary else cell.bos) if isinstance(cell, ConstantCell) else bit
                for cell, bit in zip(CELLS, (0, 0, 0, 0, *bits), strict=True)
            ]
            read = np.sqrt(((rows @ np.array(state)) ** 2).sum(axis=1))
            assert (read <= largest + 1e-12).all()


def test_forms_of_constants_that_cancel_read_nothing() -> None:
    held = HeldValues.of(CELLS, np.ones(len(CELLS)))
    null = np.array([[[1.0, -1.0, -1.0, 0.0, 0.0, 0.0]], [[2.0, 0.0, 0.0, -1.0, 0.0, 0.0]]])
    assert np.array_equal(held.largest(null), np.zeros(2))
    assert (lengths(null).sum(axis=1) > 0).all()


def test_a_rotation_within_a_pair_changes_no_norm() -> None:
    rng = np.random.default_rng(6)
    u = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    actual, form = rng.standard_normal((4, 2, 6)), np.zeros((4, 2, 6))
    cos, sin = np.cos(0.7), np.sin(0.7)
    turned = np.array([[cos, -sin], [sin, cos]]) @ actual
    one, other = RowGroups.of(actual, form, u), RowGroups.of(turned, form, u)
    held = HeldValues.of(CELLS, np.ones(6))
    assert np.allclose(one.whole, other.whole)
    assert np.allclose(held.largest(one.apart), held.largest(other.apart))
