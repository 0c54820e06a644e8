"""What rows read of a residual stream stays within what is said of it."""

from __future__ import annotations

import numpy as np

from softhat.proof.dense.matrices import widened
from softhat.proof.dense.rows import HeldValues, NormedStream, NormError, RowGroups, lengths, read
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
    rows = rng.standard_normal((20, 2, len(CELLS) + 1))
    largest, scaled = held.largest(rows), held.scaled(rows)
    ends = held.at_ends(rows[:, 0])
    for ordinary in (True, False):
        for bits in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            state = [
                (cell.ordinary if ordinary else cell.bos) if isinstance(cell, ConstantCell) else bit
                for cell, bit in zip(CELLS, (0, 0, 0, 0, *bits), strict=True)
            ]
            weighed = rows[..., :-1] @ np.array(state)
            read = np.sqrt(((weighed + rows[..., -1]) ** 2).sum(axis=1))
            assert (read <= largest + 1e-12).all()
            assert (np.sqrt((weighed**2).sum(axis=1)) <= scaled + 1e-12).all()
            one = np.abs(weighed + rows[..., -1])[:, 0]
            assert (one <= ends[:, 0 if ordinary else 1] + 1e-12).all()


def test_forms_of_constants_that_cancel_read_nothing() -> None:
    held = HeldValues.of(CELLS, np.ones(len(CELLS)))
    rows = [[1, -1, -1, 0, 0, 0, 0], [2, 0, 0, -1, 0, 0, 0], [2, 0, 0, 0, 0, 0, -2]]
    null = np.array(rows, float)[:, None]
    assert np.array_equal(held.largest(null), np.zeros(3))
    assert (lengths(null).sum(axis=1) > 0).all()


def test_a_rotation_within_a_pair_changes_no_norm() -> None:
    rng = np.random.default_rng(6)
    u = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    wide, actual, form = widened(u), rng.standard_normal((4, 2, 7)), np.zeros((4, 2, 7))
    cos, sin = np.cos(0.7), np.sin(0.7)
    turned = np.array([[cos, -sin], [sin, cos]]) @ actual
    one, other = RowGroups.of(actual, form, wide), RowGroups.of(turned, form, wide)
    held = HeldValues.of(CELLS, np.ones(6))
    for a, b in ((one.whole, other.whole), (one.offset, other.offset), (one.ones, other.ones)):
        assert np.allclose(a, b)
    assert np.allclose(held.largest(one.apart), held.largest(other.apart))


def test_what_is_read_stays_within_what_is_said() -> None:
    """Rows of float32 numbers with constants, on streams as a norm may leave them."""
    rng = np.random.default_rng(7)
    d, count = 12, len(CELLS)
    u = np.linalg.qr(rng.standard_normal((d, count)))[0]
    form = np.round(rng.standard_normal((5, 1, count + 1)) * 4) / 4
    actual = np.concatenate([form[..., :-1] @ u.T, form[..., -1:]], axis=-1)
    actual = (actual + rng.standard_normal(actual.shape) * 1e-4).astype(np.float32)
    rows = RowGroups.of(actual.astype(np.float64), form, widened(u))
    held = HeldValues.of(CELLS, np.array([1.0, 1.0, 1.0, 2.0, 1.0, 1.0]))
    off, norm = rng.uniform(0, 1e-3, count), NormError(1e-3, 1e-3, 1e-3, 1e-3)
    largest, error = read(rows, NormedStream(d, 6.0, held, off, norm))
    error = error + norm.scale * held.scaled(form)
    for _ in range(300):
        bits = rng.choice([-1.0, 1.0], 2)
        v = np.array([1.0, 0.0, 1.0, 2.0, *bits])
        noise = rng.standard_normal(d)
        noise *= norm.noise / np.linalg.norm(noise)
        factor = 1 + norm.scale * rng.choice([-1, 1])
        x = factor * (u @ (v + off * rng.choice([-1, 1], count))) + noise
        x = (x + rng.choice([-1, 1]) * norm.shift / d**0.5).astype(np.float32)
        exact = form[:, 0, :-1] @ v + form[:, 0, -1]
        got = actual[:, 0, :-1] @ x + actual[:, 0, -1]
        assert (np.abs(exact) <= largest + 1e-12).all()
        assert (np.abs(got - exact) <= error).all()
