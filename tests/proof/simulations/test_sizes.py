"""Monomials bound what they are said to bound."""

from __future__ import annotations

from fractions import Fraction

import pytest

from softhat.io.errors import SofthatError
from softhat.numbers.growth import Polynomial
from softhat.numbers.laws import Constant, Law, Lcm, Length, N, log, maximum, product
from softhat.proof.simulations.sizes import (
    at_least_three,
    exactly,
    from_document,
    number,
    of_law,
    of_polynomial,
)

LOG = log(product(Constant(Fraction(3)), N))
LAWS: list[Law] = [
    Constant(Fraction(2, 7)),
    product(Constant(Fraction(2)), N**2, Lcm(1)),
    maximum(Constant(Fraction(5)), product(N, LOG)),
    N + 3,
    Length(2) ** -1,
    LOG,
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_size_is_no_less_than_its_law(law: Law) -> None:
    bound = of_law(law).law
    assert all(float(law.at(n)) <= float(bound.at(n)) * (1 + 1e-12) for n in range(1, 60))


def test_sums_products_and_covers() -> None:
    x, y = of_law(LAWS[1]), of_law(LAWS[2])
    for n in range(1, 30):
        a, b = float(x.law.at(n)), float(y.law.at(n))
        assert float((x + y).law.at(n)) >= (a + b) * (1 - 1e-12)
        assert float((x * y).law.at(n)) >= a * b * (1 - 1e-12)
    assert (x + y).covers(x) and (x + y).covers(y)
    assert not x.covers(y) and not number(2).covers(number(3))
    assert number(0).covers(number(0)) and x.covers(number(0))


def test_polynomials() -> None:
    p = Polynomial(((-1, Fraction(4)), (0, Fraction(-2)), (2, Fraction(1, 3))))
    bound = of_polynomial(p).law
    assert all(p.at(n) <= bound.at(n) for n in range(1, 50))


def test_a_logarithm_must_be_at_least_1() -> None:
    assert at_least_three(product(Constant(Fraction(3)), N))
    assert not at_least_three(product(Constant(Fraction(2)), N))
    assert not at_least_three(product(Constant(Fraction(9)), N**-1))
    with pytest.raises(SofthatError):
        of_law(log(product(Constant(Fraction(9)), N**-1)))


def test_weights_are_one_monomial() -> None:
    assert from_document(None) == number(0)
    assert exactly(product(Constant(Fraction(2)), N**2)).covers(of_law(N**2))
    for law in (N + 1, N**-1, maximum(N, LOG)):
        with pytest.raises(SofthatError):
            exactly(law)
