"""Sizes with neat coefficients: laws of temperature stay one line long.

Inside a logarithm a constant factor costs next to nothing, so every coefficient is rounded up to
three digits, however many layers stand above a head.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Self

from softhat.numbers.laws import Law, Log
from softhat.proof.simulations.sizes import SizeLaw


class Magnitude(SizeLaw):
    """A size law whose coefficient has three significant digits."""

    __slots__ = ()

    @classmethod
    def _of(cls, coefficient: Fraction, degrees: Mapping[Law, int]) -> Self:
        return cls(neat(coefficient), degrees) if coefficient else cls()

    def at_least(self, least: Fraction) -> Magnitude:
        """Raised where it would be less than this."""
        return Magnitude(max(self.coefficient, least), self.degrees)


number, of_polynomial, of_law = Magnitude.number, Magnitude.of_polynomial, Magnitude.of_law


def of_log(law: Log) -> Magnitude:
    """A logarithm that is at least 1 everywhere."""
    return Magnitude(Fraction(1), {law: 1})


def neat(x: Fraction) -> Fraction:
    """x rounded up to three significant digits."""
    if x <= 0:
        return Fraction(0)
    scale = Fraction(10) ** (len(str(x.numerator)) - len(str(x.denominator)) - 3)
    digits = -(-x // scale)
    return digits * scale
