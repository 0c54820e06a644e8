"""Numbers too large for floats: logarithms and sums of them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from softhat.numbers.laws.values import exponential, fold, log_of, nearest_float


def test_logarithms_of_numbers_of_any_size() -> None:
    assert log_of(Fraction(7, 3)) == pytest.approx(math.log(7 / 3), rel=1e-15)
    assert log_of(Fraction(10**5000, 3)) == pytest.approx(5000 * math.log(10) - math.log(3))
    assert log_of(Fraction(3, 10**5000)) == -log_of(Fraction(10**5000, 3))


def test_what_is_too_large_is_infinite() -> None:
    assert nearest_float(Fraction(10**400)) == exponential(1000.0) == math.inf
    assert fold([Fraction(10**400), 2.0], adding=True) == math.inf
    assert fold([Fraction(10**400), 2.0], adding=False) == math.inf


def test_exact_as_long_as_every_part_is() -> None:
    parts: list[Fraction | float] = [Fraction(1, 3), Fraction(1, 6)]
    assert fold(parts, adding=True) == Fraction(1, 2)
    assert fold(parts, adding=False) == Fraction(1, 18)
    assert fold([Fraction(10**400), Fraction(1, 10**400), 2.0], adding=False) == pytest.approx(2)
