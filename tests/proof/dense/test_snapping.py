"""Short binary fractions: found again where rounding is small, and never far from what was read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.proof.dense.snapping import read_logits, read_rows, snapped


def test_short_fractions_are_found_again() -> None:
    values = np.array([0.5, -640.0, 0.515625, 3.0, 0.0])
    near = 1e-6 * np.abs(values).max()
    noisy = values + near * np.array([0.9, -0.9, 0.5, -0.5, 0.9])
    assert np.array_equal(snapped(noisy, near), values)


@given(
    values=st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6),
    near=st.floats(1e-3, 1.0),
)
def test_nothing_moves_further_than_near(values: list[float], near: float) -> None:
    given = np.array(values)
    found = snapped(given, near)
    # A float32 is within 2^-24 of it, relative, of what float64 had.
    assert (np.abs(found - given) <= near + np.abs(given) * 2.0**-23).all()
    assert (found[np.abs(given) <= near] == 0).all()


def test_rows_are_read_along_directions() -> None:
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    plain = rng.choice([-1.0, -0.5, 0.0, 0.25, 2.0], (5, 12))
    rows = (plain @ basis.T).astype(np.float32)
    assert np.array_equal(read_rows(rows, basis), plain)
    found, scale = read_logits(rows, basis, in_units=True)
    assert np.allclose(found * scale, plain, atol=1e-5) and np.abs(found).max() == 1
    found, scale = read_logits(rows, basis, in_units=False)
    assert scale == 1 and np.array_equal(found, plain)


def test_a_read_out_of_another_shape_is_refused() -> None:
    basis = np.eye(4)
    with pytest.raises(VoidError, match="does not read"):
        read_logits(np.ones((2, 3), np.float32), basis, in_units=True)
    with pytest.raises(VoidError, match="reads nothing"):
        read_logits(np.zeros((2, 4), np.float32), basis, in_units=True)
