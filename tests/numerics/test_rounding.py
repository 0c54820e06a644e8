"""Linear maps in number formats: nothing computed is further off than stated, exact is exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.numerics.boxes import Box
from softhat.numerics.entries import entries
from softhat.numerics.formats import FORMATS, format_of
from softhat.numerics.rounding import Arithmetic, Rounded, gamma

weights = st.fractions(-4, 4, max_denominator=6)
matrices = st.lists(st.lists(weights, min_size=3, max_size=3), min_size=1, max_size=3)


def column(values: list[Fraction], dtype: str) -> tuple[np.ndarray, Rounded]:
    """Numbers as stored, beside what is known of them: one block."""
    form = format_of(dtype)
    near = np.array([[float(x) for x in values]])
    held = form.load(near[0]).astype(np.float64)
    grid = entries((tuple(values),), 3).grid(form)
    error = np.array(
        [[float(abs(Fraction(float(h)) - x)) * 1.001 for h, x in zip(held, values, strict=True)]]
    )
    box = Box(np.nextafter(near, -np.inf), np.nextafter(near, np.inf))
    return held, Rounded(error, box, grid, np.full(3, np.inf))


@pytest.mark.parametrize("dtype", FORMATS)
@given(matrices, st.lists(weights, min_size=3, max_size=3))
def test_a_linear_map(dtype: str, rows: list[list[Fraction]], x: list[Fraction]) -> None:
    form = format_of(dtype)
    held, known = column(x, dtype)
    matrix = entries(tuple(map(tuple, rows)), 3)
    with np.errstate(over="ignore"):  # the grid of 0 is huge
        at = Arithmetic(form)
        found = at.store(at.linear(known, matrix))
    loaded = form.load(matrix.values)
    for r, row in enumerate(rows):
        exact = sum((w * v for w, v in zip(row, x, strict=True)), Fraction(0))
        for order in ((0, 1, 2), (2, 1, 0)):  # sums are taken in any order
            total = form.accumulate(0)
            for c in order:
                total = total + form.accumulate(loaded[r, c]) * form.accumulate(held[c])
            stored = float(form.round(np.asarray([total]))[0])
            off = abs(Fraction(stored) - exact)
            assert off <= Fraction(float(found.error[0, r])) * Fraction(1001, 1000)
            if found.grid[0, r]:
                assert off == 0 and (exact / Fraction(float(found.grid[0, r]))).denominator == 1
        assert found.box.low[0, r] <= float(exact) <= found.box.high[0, r]


@pytest.mark.parametrize("dtype", FORMATS)
@given(st.lists(weights, min_size=3, max_size=3), st.lists(weights, min_size=3, max_size=3))
def test_a_bias(dtype: str, x: list[Fraction], bias: list[Fraction]) -> None:
    form = format_of(dtype)
    held, known = column(x, dtype)
    with np.errstate(over="ignore"):
        at = Arithmetic(form)
        found = at.store(at.shift(known, entries((tuple(bias),), 3)))
    loaded = form.load(np.array([float(b) for b in bias]))
    total = form.round(held.astype(form.accumulate) + loaded)
    for c in range(3):
        off = abs(Fraction(float(total[c])) - x[c] - bias[c])
        assert off <= Fraction(float(found.error[0, c])) * Fraction(1001, 1000)
        if found.grid[0, c]:
            assert off == 0


def test_what_may_leave_the_range_is_void() -> None:
    arithmetic = Arithmetic(format_of("float16"))
    arithmetic.fits(np.array([16_000.0]))
    with pytest.raises(VoidError):
        arithmetic.fits(np.array([17_000.0]))
    arithmetic.fits(np.array([17_000.0]), summed=True)


@given(st.integers(0, 10**6), st.sampled_from([2.0**-11, 2.0**-24, 2.0**-53]))
def test_gamma(k: int, u: float) -> None:
    found = gamma(k, u)
    if np.isfinite(found):
        assert (1 + Fraction(u)) ** min(k, 2000) - 1 <= Fraction(found) * Fraction(1001, 1000)


@pytest.mark.parametrize("dtype", FORMATS)
@given(st.lists(weights, min_size=3, max_size=3), st.lists(weights, min_size=3, max_size=3))
def test_a_sum_of_two(dtype: str, x: list[Fraction], y: list[Fraction]) -> None:
    form = format_of(dtype)
    (left, known), (right, other) = column(x, dtype), column(y, dtype)
    at = Arithmetic(form)
    with np.errstate(over="ignore"):
        found = at.store(at.add(known, other))
    total = form.round(left.astype(form.accumulate) + right.astype(form.accumulate))
    for c in range(3):
        off = abs(Fraction(float(total[c])) - x[c] - y[c])
        assert off <= Fraction(float(found.error[0, c])) * Fraction(1001, 1000)
        if found.grid[0, c]:
            assert off == 0
        assert found.box.low[0, c] <= float(x[c] + y[c]) <= found.box.high[0, c]
