"""Intervals of polynomials in n hold at every n, by trying many."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.numbers.growth import GrowingInterval, Polynomial, constant, hull, point, symmetric

NOTHING = Fraction(0)
LENGTHS = (1, 2, 3, 7, 100, 10**6)
coefficients = st.integers(-6, 6).map(lambda k: Fraction(k, 2))
polynomials = st.dictionaries(st.integers(-2, 3), coefficients, max_size=4).map(
    lambda terms: Polynomial(tuple(sorted((k, c) for k, c in terms.items() if c)))
)


@st.composite
def intervals(draw: st.DrawFn) -> GrowingInterval:
    """low + something that is never negative."""
    low, more = draw(polynomials), draw(polynomials).positive
    return GrowingInterval(low, low + more)


def values(interval: GrowingInterval, n: int) -> list[Fraction]:
    low, high = interval.low.at(n), interval.high.at(n)
    return [low, (low + high) / 2, high]


@given(polynomials, polynomials, coefficients)
def test_arithmetic(p: Polynomial, q: Polynomial, factor: Fraction) -> None:
    for n in LENGTHS:
        assert (p + q).at(n) == p.at(n) + q.at(n)
        assert (p * factor).at(n) == p.at(n) * factor
        assert p.times(q).at(n) == p.at(n) * q.at(n)


@given(polynomials)
def test_bounds_of_one(p: Polynomial) -> None:
    for n in LENGTHS:
        assert p.least <= p.at(n) <= p.positive.at(n) and p.positive.at(n) >= 0
        assert p.at(n) > 0 or not p.above_zero
        if p.law is None:
            assert p.positive.at(n) == 0
        else:
            assert p.law.at(n) == pytest.approx(float(p.positive.at(n)))


@given(intervals(), intervals(), coefficients)
def test_intervals_hold_what_they_are_of(
    one: GrowingInterval, two: GrowingInterval, factor: Fraction
) -> None:
    for n in LENGTHS:
        for x in values(one, n):
            for y in values(two, n):
                both = one + two
                assert both.low.at(n) <= x + y <= both.high.at(n)
            times = one * factor
            assert times.low.at(n) <= x * factor <= times.high.at(n)
            assert abs(x) <= one.size.at(n)
            zero = one.with_zero
            assert zero.low.at(n) <= min(x, NOTHING) <= max(x, NOTHING) <= zero.high.at(n)
            relu = one.rectified
            assert relu.low.at(n) <= max(x, NOTHING) <= relu.high.at(n)
            for other in values(one, n):
                assert abs(x - other) <= one.width.at(n)
                assert one.difference.low.at(n) <= x - other <= one.difference.high.at(n)


def test_simple_ones() -> None:
    assert point(Fraction(3)) == GrowingInterval(constant(3), constant(3))
    assert hull([Fraction(2), Fraction(-1)]) == GrowingInterval(constant(-1), constant(2))
    n = Polynomial(((1, Fraction(1)),))
    assert symmetric(n).low.at(5) == -5 and constant(0) == Polynomial()
    assert (n * Fraction(-1)).least == float("-inf") and n.least == 1
    share = Polynomial(((-1, Fraction(1)),))
    assert share.above_zero and share.least == 0 and not constant(0).above_zero
    assert not (constant(1) + share * Fraction(-1)).above_zero  # 0 at n = 1
    assert (constant(2) + n * Fraction(-1) + n.times(n)).above_zero
