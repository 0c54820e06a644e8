"""Laws by cases and logarithms: against arithmetic done here."""

from __future__ import annotations

import math
from fractions import Fraction

from softhat.numbers.laws import (
    Lcm,
    N,
    Tabled,
    as_law,
    from_json,
    log,
    maximum,
    minimum,
    rounded_up,
)


def test_logarithms_and_rounding() -> None:
    law = rounded_up(N**2 * log(1000 * N))
    assert law.text == "n²·ln(1000·n)"
    assert from_json(law.to_json()) == law
    for n in (1, 2, 9, 1000, 10**6):
        exact = n * n * math.log(1000 * n)
        value = law.at(n)
        assert exact <= value <= exact * (1 + 1 / 32)
        top = Fraction(value).numerator
        assert (top // (top & -top)).bit_length() <= 6


def test_a_law_too_large_for_a_float_is_rounded_in_logarithms() -> None:
    law = rounded_up(N * Lcm() * log(1000 * N))
    assert law.at(10**6) == math.inf
    assert 0.9e6 < law.log_at(10**6) < 1.1e6  # Chebyshev: lcm(1..n) is about e^n


def test_the_greatest_and_the_least() -> None:
    for n in range(1, 12):
        assert maximum(N, as_law(3), as_law(5)).at(n) == max(n, 5)
        assert minimum(N, as_law(3), as_law(5)).at(n) == min(n, 3)
        assert minimum(N**2, 7 * N).log_at(n) == min((N**2).log_at(n), (7 * N).log_at(n))


def test_tables_then_a_law() -> None:
    law = Tabled((Fraction(1), Fraction(3, 2)), N**2)
    assert [law.at(n) for n in (1, 2, 3)] == [1, Fraction(3, 2), 9]
    assert from_json(law.to_json()) == law
