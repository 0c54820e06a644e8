"""Bounds as single monomials: a coefficient times powers of bases that are at least 1 at every n.

x + y ≤ (a + b)·(the greater power of each base), since every base is at least 1; so a sum is
bounded by one monomial, and one monomial covers another if no part of it is smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

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
    """coefficient · Π base^degree, degrees not negative."""

    coefficient: Fraction = Fraction(0)
    degrees: Mapping[Law, int] = field(default_factory=dict)

    def __add__(self, other: SizeLaw) -> SizeLaw:
        if not self.coefficient or not other.coefficient:
            return self if self.coefficient else other
        bases = self.degrees.keys() | other.degrees.keys()
        degrees = {b: max(self.degrees.get(b, 0), other.degrees.get(b, 0)) for b in bases}
        return SizeLaw(self.coefficient + other.coefficient, degrees)

    def __mul__(self, other: SizeLaw) -> SizeLaw:
        bases = self.degrees.keys() | other.degrees.keys()
        degrees = {b: self.degrees.get(b, 0) + other.degrees.get(b, 0) for b in bases}
        return SizeLaw(self.coefficient * other.coefficient, degrees)

    def times(self, factor: Fraction | int) -> SizeLaw:
        return SizeLaw(self.coefficient * factor, self.degrees)

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


def number(x: Fraction | int) -> SizeLaw:
    """A number that is not negative."""
    return SizeLaw(Fraction(x))


def of_polynomial(p: Polynomial) -> SizeLaw:
    """A bound on a polynomial, at every n ≥ 1: n^k is at most 1 for k ≤ 0."""
    total = SizeLaw()
    for k, c in p.terms:
        if c > 0:
            total = total + SizeLaw(c, {N: k} if k > 0 else {})
    return total


def of_law(law: Law) -> SizeLaw:
    """A bound on a law of constants, n, lcm and logarithms of at least 1, their products, powers,
    sums and maxima. Raises SofthatError for another."""
    match law:
        case Constant(x):
            return number(x)
        case Length() | Lcm():
            return SizeLaw(Fraction(1), {law: 1})
        case Log(inside) if at_least_three(inside):
            return SizeLaw(Fraction(1), {law: 1})
        case Power(base, k) if k > 0:
            total = number(1)
            for _ in range(min(k, 64)):
                total = total * of_law(base)
            if k <= 64:
                return total
        case Power(base, _):
            of_law(base)  # at least 1, so that its inverse is at most 1
            if _is_base(base):
                return number(1)
        case Product(factors):
            total = number(1)
            for factor in factors:
                total = total * of_law(factor)
            return total
        case Maximum(parts) | Sum(parts):
            total = SizeLaw()
            for part in parts:
                total = total + of_law(part)
            return total
    raise SofthatError(f"the evidence has a law that cannot be followed: {law.text[:60]}")


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
