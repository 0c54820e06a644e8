"""Counts: the least distance from 0, and common divisors, against brute force."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from softhat.proof.stock.counts import common, nearest, power_in

fractions = st.builds(Fraction, st.integers(-40, 40), st.sampled_from([1, 2, 3, 8, 12]))


@given(constant=fractions, unit=fractions.map(abs))
def test_the_least_distance(constant: Fraction, unit: Fraction) -> None:
    least, threshold = nearest(constant, unit)
    if not unit:
        assert least == abs(constant)
        return
    sums = {m: unit * m + constant for m in range(-600, 601)}
    assert least == min(map(abs, sums.values()))
    # The least m whose sum is not negative: where no sum is 0, the least that is positive.
    assert threshold == min(m for m, x in sums.items() if x >= 0)


@given(values=st.lists(fractions, min_size=1, max_size=4))
def test_common_divisors(values: list[Fraction]) -> None:
    unit = common(values)
    if not any(values):
        assert unit == 0
        return
    whole = [value / unit for value in values]
    assert unit > 0 and all(x.denominator == 1 for x in whole)
    assert all(any(x % p for x in whole) for p in range(2, 50))


def test_powers_of_two() -> None:
    assert power_in(Fraction(12)) == 4 and power_in(Fraction(3, 8)) == 1 / 8
    assert power_in(Fraction(0)) == float("inf")
