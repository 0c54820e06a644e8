"""Bounds as single monomials: a coefficient times powers of bases that are at least 1 at every n.

x + y ≤ (a + b)·(the greater power of each base), since every base is at least 1; so a sum is
bounded by one monomial, and one monomial covers another if no part of it is smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any, Self

from softhat.io.errors import SofthatError
from softhat.numbers.growth import Polynomial
from softhat.numbers.laws import (
    Constant,
    Law,
    Lcm,
    Length,
    Log,
    Maximum,
    N,
    Power,
    Product,
    Sum,
    product,
)
from softhat.numbers.laws.stored import from_json


@dataclass(frozen=True, slots=True)
class SizeLaw:
    """coefficient · Π base^degree, every base ≥ 1, every degree ≥ 0; 0 if the coefficient is."""

    coefficient: Fraction = Fraction(0)
    degrees: Mapping[Law, int] = field(default_factory=dict)

    @classmethod
    def _of(cls, coefficient: Fraction, degrees: Mapping[Law, int]) -> Self:
        return cls(coefficient, degrees)

    def __add__(self, other: Self) -> Self:
        if not self.coefficient or not other.coefficient:
            return self if self.coefficient else other
        degrees = dict(self.degrees)
        for base, k in other.degrees.items():
            degrees[base] = max(degrees.get(base, 0), k)
        return self._of(self.coefficient + other.coefficient, degrees)

    def __mul__(self, other: Self) -> Self:
        degrees = dict(self.degrees)
        for base, k in other.degrees.items():
            degrees[base] = degrees.get(base, 0) + k
        return self._of(self.coefficient * other.coefficient, degrees)

    def times(self, factor: Fraction | int) -> Self:
        """A multiple by a number that is not negative."""
        return self._of(self.coefficient * factor, self.degrees)

    def covers(self, other: SizeLaw) -> bool:
        """Is it at least the other at every n?"""
        if not other.coefficient:
            return True
        return self.coefficient >= other.coefficient and all(
            self.degrees.get(base, 0) >= k for base, k in other.degrees.items()
        )

    @property
    def law(self) -> Law:
        """As a law; the coefficient must not be 0."""
        return product(Constant(self.coefficient), *(base**k for base, k in self.degrees.items()))

    @classmethod
    def number(cls, x: Fraction | int) -> Self:
        """A number that is not negative."""
        return cls._of(Fraction(x), {})

    @classmethod
    def of_polynomial(cls, p: Polynomial) -> Self:
        """A bound on a polynomial, at every n ≥ 1: n^k is at most 1 for k ≤ 0."""
        total = cls()
        for k, c in p.terms:
            if c > 0:
                total = total + cls._of(c, {N: k} if k > 0 else {})
        return total

    @classmethod
    def of_law(cls, law: Law) -> Self:
        """A bound on a law of constants, n, lcm and logarithms of at least 1, their products,
        powers, sums and maxima. Raises SofthatError for another."""
        match law:
            case Constant(x):
                return cls.number(x)
            case _ if _is_base(law):
                return cls._of(Fraction(1), {law: 1})
            case Power(base, k) if 0 < k <= 64:
                return prod([cls.of_law(base)] * k, start=cls.number(1))
            case Power(base, k) if k <= 0 and _is_base(base):
                return cls.number(1)  # its inverse is at most 1
            case Product(factors):
                return prod(map(cls.of_law, factors), start=cls.number(1))
            case Maximum(parts) | Sum(parts):
                return sum(map(cls.of_law, parts), start=cls())
        raise SofthatError(f"the evidence has a law that cannot be followed: {law.text[:60]}")


number, of_polynomial, of_law = SizeLaw.number, SizeLaw.of_polynomial, SizeLaw.of_law


def _is_base(law: Law) -> bool:
    """Is it at least 1 at every n?"""
    return isinstance(law, Length | Lcm) or (isinstance(law, Log) and at_least_three(law.of))


def at_least_three(law: Law) -> bool:
    """Is it at least 3, so that its logarithm is at least 1?"""
    match law:
        case Constant(x):
            return x >= 3
        case Product(factors):
            coefficient = Fraction(1)
            for factor in factors:
                match factor:
                    case Constant(x):
                        coefficient *= x
                    case Power(base, k) if k > 0 and _is_base(base):
                        pass
                    case _ if _is_base(factor):
                        pass
                    case _:
                        return False
            return coefficient >= 3
        case Sum(terms):
            return any(at_least_three(term) for term in terms)
    return False


def exactly(law: Law) -> SizeLaw:
    """A law that is one monomial of bases, not only bounded by it; else SofthatError."""
    coefficient, degrees = Fraction(1), dict[Law, int]()
    for factor in law.factors if isinstance(law, Product) else (law,):
        match factor:
            case Constant(x):
                coefficient *= x
            case Power(base, k) if k > 0 and _is_base(base):
                degrees[base] = degrees.get(base, 0) + k
            case _ if _is_base(factor):
                degrees[factor] = degrees.get(factor, 0) + 1
            case _:
                raise SofthatError(
                    f"the evidence has no monomial where one is due: {law.text[:60]}"
                )
    return SizeLaw(coefficient, degrees)


def from_document(data: Any) -> SizeLaw:
    """A monomial from its law's JSON; null is 0."""
    return SizeLaw() if data is None else exactly(from_json(data))
