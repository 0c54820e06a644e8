"""How large quantities grow with n: intervals whose ends are polynomials in n and 1/n.

They hold at every n ≥ 1. Only what can be read off term by term is decided: n^k is at least 1
and unbounded for k > 0, between 0 and 1 for k < 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from softhat.numbers.laws import Law, N, as_law, total


@dataclass(frozen=True, slots=True)
class Polynomial:
    """Σ coefficient · n^power; powers may be negative."""

    terms: tuple[tuple[int, Fraction], ...] = ()

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for k, c in other.terms:
            terms[k] = terms.get(k, Fraction(0)) + c
        return Polynomial(tuple(sorted((k, c) for k, c in terms.items() if c)))

    def __mul__(self, factor: Fraction) -> Polynomial:
        return Polynomial(tuple((k, c * factor) for k, c in self.terms) if factor else ())

    def times(self, other: Polynomial) -> Polynomial:
        """The product of two polynomials."""
        result = Polynomial()
        for k, c in self.terms:
            result = result + Polynomial(tuple((k + m, c * d) for m, d in other.terms))
        return result

    @property
    def least(self) -> Fraction | float:
        """A number that it never goes below, over all n ≥ 1; -inf if there may be none."""
        result = Fraction(0)
        for k, c in self.terms:
            if k > 0 and c < 0:
                return -math.inf
            result += c if k == 0 or (c > 0) == (k > 0) else Fraction(0)
        return result

    @property
    def above_zero(self) -> bool:
        """Is it positive at every n ≥ 1? True only where its coefficients in n - 1 say so."""
        if not self.terms:
            return False
        lowest = min(k for k, _ in self.terms)
        shifted = [Fraction(0)] * (max(k for k, _ in self.terms) - lowest + 1)
        for k, c in self.terms:
            for m in range(k - lowest + 1):
                shifted[m] += c * math.comb(k - lowest, m)
        return shifted[0] > 0 and min(shifted) >= 0

    @property
    def positive(self) -> Polynomial:
        """The terms that are positive: at least as large everywhere, and never negative."""
        return Polynomial(tuple((k, c) for k, c in self.terms if c > 0))

    @property
    def law(self) -> Law | None:
        """`positive` as a law; None if it is 0."""
        parts = [as_law(c) * N**k for k, c in reversed(self.terms) if c > 0]
        return total(*parts) if parts else None

    def at(self, n: int) -> Fraction:
        """Its value."""
        return sum((c * Fraction(n) ** k for k, c in self.terms), Fraction(0))


def constant(x: Fraction | int) -> Polynomial:
    """The same number at every n."""
    return Polynomial(((0, Fraction(x)),) if x else ())


@dataclass(frozen=True, slots=True)
class GrowingInterval:
    """low(n) ≤ quantity ≤ high(n) at every n."""

    low: Polynomial = Polynomial()
    high: Polynomial = Polynomial()

    def __add__(self, other: GrowingInterval) -> GrowingInterval:
        return GrowingInterval(self.low + other.low, self.high + other.high)

    def __mul__(self, factor: Fraction) -> GrowingInterval:
        ends = (self.low * factor, self.high * factor)
        return GrowingInterval(*ends) if factor >= 0 else GrowingInterval(ends[1], ends[0])

    @property
    def size(self) -> Polynomial:
        """A bound on the absolute value: both ends' positive parts, term by term."""
        terms: dict[int, Fraction] = {}
        for k, c in (*self.high.positive.terms, *(self.low * Fraction(-1)).positive.terms):
            terms[k] = max(terms.get(k, Fraction(0)), c)
        return Polynomial(tuple(sorted(terms.items())))

    @property
    def width(self) -> Polynomial:
        """high - low: how far two values can be apart."""
        return (self.high + self.low * Fraction(-1)).positive

    @property
    def difference(self) -> GrowingInterval:
        """The difference of two values of the interval."""
        apart = self.high + self.low * Fraction(-1)
        return GrowingInterval(apart * Fraction(-1), apart)

    @property
    def with_zero(self) -> GrowingInterval:
        """The hull with 0."""
        negative = (self.low * Fraction(-1)).positive * Fraction(-1)
        return GrowingInterval(negative, self.high.positive)

    @property
    def rectified(self) -> GrowingInterval:
        """The interval after ReLU."""
        return GrowingInterval(
            self.low if self.low.least >= 0 else Polynomial(), self.high.positive
        )


def symmetric(size: Polynomial) -> GrowingInterval:
    """-size ≤ quantity ≤ size."""
    return GrowingInterval(size * Fraction(-1), size)


def point(x: Fraction) -> GrowingInterval:
    """One number."""
    return GrowingInterval(constant(x), constant(x))


def hull(numbers: Iterable[Fraction]) -> GrowingInterval:
    """The interval that holds finitely many numbers."""
    seen = list(numbers)
    return GrowingInterval(constant(min(seen)), constant(max(seen)))
