"""Intervals hold what is computed in the reals, by Fractions and sixty digits."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.numerics.exact import Scaled
from softhat.numerics.intervals import Interval, Intervals, around, around_all, down, softmax, up

getcontext().prec = 60
rationals = st.fractions(-1000, 1000, max_denominator=997)


def holds(x: Interval, wanted: Fraction) -> bool:
    return Fraction(float(x.low)) <= wanted <= Fraction(float(x.high))


@given(rationals, rationals, rationals)
def test_sums_and_products(a: Fraction, b: Fraction, c: Fraction) -> None:
    x, y, z = map(around, (a, b, c))
    for made, wanted in ((x + y, a + b), (x * y, a * b), (x * y + z, a * b + c)):
        assert holds(made, wanted)
        assert float(made.high - made.low) <= 1e-12 * (1 + abs(float(wanted)) + abs(float(c)))


@given(st.lists(rationals, min_size=2, max_size=2), st.lists(rationals, min_size=3, max_size=3))
def test_a_row_of_a_layer(x: list[Fraction], w: list[Fraction]) -> None:
    domain = Intervals()
    lows, highs = zip(*((e.low, e.high) for e in map(around, x)), strict=True)
    row = Interval(np.array(lows)[None, None], np.array(highs)[None, None])
    made = domain.shift(domain.linear(row, ((w[0], w[1]),)), (w[2],))
    assert holds(made[0, 0, 0], w[0] * x[0] + w[1] * x[1] + w[2])
    assert holds(domain.relu(made)[0, 0, 0], max(Fraction(0), w[0] * x[0] + w[1] * x[1] + w[2]))


@given(st.lists(st.fractions(-50, 50, max_denominator=64), min_size=1, max_size=6))
def test_weights_of_softmax(scores: list[Fraction]) -> None:
    row = np.array([[float(s) for s in scores]])  # multiples of 1/64 at most are floats, or near
    made = softmax(Interval(down(row), up(row)), np.ones(row.shape, np.bool_))
    powers = [(Decimal(s.numerator) / Decimal(s.denominator)).exp() for s in scores]
    for j, power in enumerate(powers):
        share = power / sum(powers)
        assert Decimal(float(made.low[0, j])) <= share <= Decimal(float(made.high[0, j]))
        assert made.high[0, j] - made.low[0, j] < 1e-9


def test_a_key_that_is_not_seen_weighs_nothing() -> None:
    scores = np.zeros((1, 2))
    made = softmax(Interval(scores, scores), np.array([[True, False]]))
    assert made.low[0, 1] == made.high[0, 1] == 0 and made.low[0, 0] > 1 - 1e-12


def test_rationals_beyond_floats() -> None:
    made = around_all(Scaled(np.array([1, 2**80 + 1], object), 3))
    for at, wanted in enumerate((Fraction(1, 3), Fraction(2**80 + 1, 3))):
        assert holds(made[at], wanted)
