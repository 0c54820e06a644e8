"""Counts: the least distance from 0, against brute force."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from softhat.proof.stock.counts import nearest

fractions = st.builds(Fraction, st.integers(-40, 40), st.sampled_from([1, 2, 3, 8, 12]))


@given(constant=fractions, unit=fractions.map(abs))
def test_the_least_distance(constant: Fraction, unit: Fraction) -> None:
    least, threshold = nearest(constant, unit)
    if not unit:
        assert least == abs(constant)
        assert (threshold <= 0) == (constant > 0)
        return
    sums = {m: unit * m + constant for m in range(-600, 601)}
    assert least == min(map(abs, sums.values()))
    # The least m whose sum is not negative: where no sum is 0, the least that is positive.
    assert threshold == min(m for m, x in sums.items() if x >= 0)
