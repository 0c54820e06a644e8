"""Rational weights as floats, each with the grid it lies on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.numerics.entries import ANY, dyadic, entries
from softhat.numerics.formats import FORMATS

fractions = st.fractions(-100, 100, max_denominator=64)


@given(fractions)
def test_the_greatest_power_of_two_that_divides(x: Fraction) -> None:
    step, digits = dyadic(x)
    if x == 0:
        assert (step, digits) == (ANY, 0)
    elif x.denominator & (x.denominator - 1):
        assert (step, digits) == (0.0, 0)
    else:
        quotient = x / Fraction(step)
        assert quotient.denominator == 1 and quotient.numerator % 2
        assert digits == abs(quotient.numerator).bit_length()


def test_far_out_of_range_there_is_no_grid() -> None:
    assert dyadic(Fraction(2) ** 400) == dyadic(Fraction(1, 2**400)) == (0.0, 0)


@given(
    st.lists(fractions, min_size=3, max_size=3),
    st.lists(st.integers(-40, 40), min_size=3, max_size=3),
)
def test_products_lie_on_the_product_s_grid(row: list[Fraction], ks: list[int]) -> None:
    """Times numbers that are multiples of 1/8, where all weights are numbers of the format."""
    made = entries((tuple(row),), 3)
    assert made.values.tolist() == [[float(x) for x in row]]
    form = FORMATS["float16"]
    grid = made.product_grid(np.full((1, 3), 1 / 8), form)[0, 0]
    total = sum((x * Fraction(k, 8) for x, k in zip(row, ks, strict=True)), Fraction(0))
    if 0 < grid < ANY:
        assert (total / Fraction(float(grid))).denominator == 1
    elif grid == ANY:
        assert total == 0
    else:
        with np.errstate(under="ignore"):
            stored = [Fraction(float(form.load(np.array([float(x)]))[0])) for x in row]
        assert stored != row


@pytest.mark.parametrize(("number", "held"), [(Fraction(255, 4), True), (Fraction(257, 4), False)])
def test_numbers_of_more_digits_have_no_grid_in_a_format(number: Fraction, held: bool) -> None:
    """bfloat16 has eight digits."""
    made = entries(((number,),), 1)
    assert bool(made.grid(FORMATS["bfloat16"])[0, 0]) == held
