"""Magnitudes bound what they are made of, at every n."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.ahat.simulation.magnitudes import Magnitude, neat, number, of_law, of_polynomial
from softhat.numbers.growth import Polynomial
from softhat.numbers.laws import Constant, Law, Lcm, Length, Maximum, N, minimum, product
from softhat.proof.simulations.errors import inverse
from tests.numbers.test_growth import LENGTHS, polynomials

SHORT = (1, 2, 3, 7, 40)
laws = st.recursive(
    st.sampled_from([N, Length(2), Lcm(1), Constant(Fraction(7, 3)), Constant(Fraction(1, 9))]),
    lambda inner: st.one_of(
        st.builds(lambda a, b: product(a, b), inner, inner),
        st.builds(lambda a, k: a**k, inner, st.integers(1, 2)),
        st.builds(lambda a, b: Maximum((a, b)), inner, inner),
    ),
    max_leaves=4,
)


def value(size: Magnitude, n: int) -> Fraction:
    return Fraction(size.law.at(n)) if size.coefficient else Fraction(0)


@given(laws, laws)
def test_they_bound_laws_sums_and_products(one: Law, two: Law) -> None:
    x, y = of_law(one), of_law(two)
    for n in SHORT:
        assert value(x, n) >= one.at(n)
        assert value(x + y, n) >= one.at(n) + two.at(n)
        assert value(x * y, n) >= Fraction(one.at(n)) * Fraction(two.at(n))
        assert value(x.times(Fraction(5, 3)), n) >= Fraction(one.at(n)) * Fraction(5, 3)


@given(polynomials)
def test_they_bound_polynomials(p: Polynomial) -> None:
    for n in LENGTHS:
        assert value(of_polynomial(p), n) >= p.at(n)


@given(st.fractions(0, 10**6, max_denominator=10**6))
def test_neat_rounds_up_a_little(x: Fraction) -> None:
    found = neat(x)
    assert x <= found <= x * Fraction(102, 100)


def test_zero_and_inverses() -> None:
    nothing = Magnitude()
    assert nothing + number(3) == number(3) and nothing * number(3) == nothing
    assert number(2).at_least(Fraction(5)).coefficient == 5
    law = minimum(N, Constant(Fraction(4)))
    for n in SHORT:
        assert float(inverse(law).at(n)) == pytest.approx(1 / min(n, 4))
