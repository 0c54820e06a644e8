"""Sizes as single monomials: a constant times powers of bases that are at least 1 at every n.

Inside a logarithm a constant factor costs next to nothing, so sums are bounded by one monomial
(x + y ≤ (a + b)·lcm of the two, since every base is at least 1): temperature laws stay one line
long however many layers stand above a head.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softhat.numbers.growth import Polynomial
from softhat.numbers.laws import Constant, Law, Lcm, Length, Log, Maximum, N, Power, Product
from softhat.numbers.laws import product as law_product


@dataclass(frozen=True, slots=True)
class Magnitude:
    """coefficient · Π base^degree, every base ≥ 1 and every degree ≥ 0; 0 if the coefficient is."""

    coefficient: Fraction = Fraction(0)
    degrees: tuple[tuple[Law, int], ...] = ()

    def __add__(self, other: Magnitude) -> Magnitude:
        if not self.coefficient or not other.coefficient:
            return self if self.coefficient else other
        degrees = dict(self.degrees)
        for base, k in other.degrees:
            degrees[base] = max(degrees.get(base, 0), k)
        return Magnitude(neat(self.coefficient + other.coefficient), tuple(degrees.items()))

    def __mul__(self, other: Magnitude) -> Magnitude:
        if not self.coefficient or not other.coefficient:
            return Magnitude()
        degrees = dict(self.degrees)
        for base, k in other.degrees:
            degrees[base] = degrees.get(base, 0) + k
        return Magnitude(neat(self.coefficient * other.coefficient), tuple(degrees.items()))

    def times(self, factor: Fraction) -> Magnitude:
        """A multiple by a number that is not negative."""
        return Magnitude(neat(self.coefficient * factor), self.degrees) if factor else Magnitude()

    def at_least(self, least: Fraction) -> Magnitude:
        """Raised where it would be less than this."""
        return Magnitude(max(self.coefficient, least), self.degrees)

    @property
    def law(self) -> Law:
        """As a law; the coefficient must not be 0."""
        return law_product(Constant(self.coefficient), *(base**k for base, k in self.degrees))


def number(x: Fraction | int) -> Magnitude:
    """A constant."""
    return Magnitude(neat(abs(Fraction(x))))


def of_polynomial(p: Polynomial) -> Magnitude:
    """A bound on a polynomial, at every n ≥ 1."""
    result = Magnitude()
    for k, c in p.terms:
        if c > 0:
            result = result + Magnitude(neat(c), ((N, k),) if k > 0 else ())
    return result


def of_log(law: Log) -> Magnitude:
    """A logarithm that is at least 1 everywhere."""
    return Magnitude(Fraction(1), ((law, 1),))


def of_law(law: Law) -> Magnitude:
    """A bound on a law made of constants, n, lcm, their products, powers and maxima."""
    match law:
        case Constant(x):
            return number(x)
        case Length() | Lcm() | Log():
            return Magnitude(Fraction(1), ((law, 1),))
        case Power(base, k) if k > 0:
            result = number(1)
            for _ in range(k):
                result = result * of_law(base)
            return result
        case Power():
            return number(1)  # 1 / base, and every base is at least 1
        case Product(factors):
            result = number(1)
            for factor in factors:
                result = result * of_law(factor)
            return result
        case Maximum(parts):
            result = Magnitude()
            for part in parts:
                result = result + of_law(part)
            return result
    raise AssertionError(f"not a law that a gap has: {law}")  # gap laws are made of the above


def neat(x: Fraction) -> Fraction:
    """x rounded up to three significant digits."""
    if x <= 0:
        return Fraction(0)
    scale = Fraction(10) ** (len(str(x.numerator)) - len(str(x.denominator)) - 3)
    digits = -(-x // scale)
    return digits * scale
