"""Exact numbers, by their definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.numbers.rationals import (
    common_divisor,
    grid_of,
    grids_of,
    odd_part,
    power_in,
    power_of_two,
)

fractions = st.fractions(-50, 50, max_denominator=60)


@given(st.lists(fractions, max_size=5))
def test_the_greatest_common_divisor(values: list[Fraction]) -> None:
    found = common_divisor(values)
    if not any(values):
        assert found == 0
        return
    assert found > 0
    parts = [value / found for value in values]
    assert all(part.denominator == 1 for part in parts)
    for k in range(2, 60):  # k times as much divides them all only if k divides every part
        assert not all(int(part) % k == 0 for part in parts)


@given(fractions)
def test_the_power_of_two_in_a_number(x: Fraction) -> None:
    step = power_in(x)
    if not x:
        assert step == odd_part(x) == 0 and grid_of(x) == float("inf")
        return
    multiple = x / step
    assert multiple.denominator == 1 and multiple.numerator % 2
    assert abs(odd_part(x)) == abs(multiple)
    assert grid_of(float(x)) == float(power_in(Fraction(float(x))))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_many_floats_at_once(numbers: list[float]) -> None:
    assert grids_of(np.array(numbers)).tolist() == [grid_of(x) for x in numbers]
    assert [power_of_two(x) for x in numbers] == [x > 0 and grid_of(x) == x for x in numbers]
    small = np.array(numbers).clip(-1e30, 1e30).astype(np.float32)
    assert grids_of(small).tolist() == [grid_of(float(x)) for x in small]
