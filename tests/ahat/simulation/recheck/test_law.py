"""Laws read a second time: by code of its own, and against arithmetic done here."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

import softhat
from softhat.ahat.simulation.recheck.law import value_of
from softhat.numbers.laws import (
    Law,
    Lcm,
    Length,
    N,
    Tabled,
    as_law,
    log,
    maximum,
    minimum,
    rounded_up,
)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (as_law(Fraction(3, 2)), lambda n: Fraction(3, 2)),
        (N**2 * 3 + Length(-1), lambda n: 3 * n * n + max(1, n - 1)),
        (1 / (N * Lcm(1)), lambda n: Fraction(1, n * math.lcm(*range(1, n + 2)))),
        (maximum(N, as_law(5)), lambda n: max(n, 5)),
        (minimum(N, as_law(5)), lambda n: min(n, 5)),
        (Tabled((Fraction(9), Fraction(8)), N), lambda n: {1: 9, 2: 8}.get(n, n)),
    ],
    ids=lambda value: None if callable(value) else str(value),
)
def test_values(law: Law, expected: Callable[[int], Fraction]) -> None:
    for n in (1, 2, 3, 10, 40):
        assert value_of(law.to_json(), n) == expected(n)


def test_rounding_up_keeps_six_bits() -> None:
    law = rounded_up(N * log(1000 * N))
    for n in (1, 2, 17, 1000):
        value = value_of(law.to_json(), n)
        exact = n * math.log(1000 * n)
        assert exact * (1 - 1e-12) <= value <= exact * (1 + 1 / 32)
        assert value == law.at(n)


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(softhat.SofthatError, match="kind 'eval'"):
        value_of({"eval": "1"}, 3)
