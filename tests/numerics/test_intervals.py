"""Intervals hold what is computed in the reals, by Fractions and sixty digits."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.numerics.exact import Scaled
from softhat.numerics.intervals import Interval, Intervals, around, around_all, down, softmax, up
from softhat.numerics.walk import SoftHead

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


def test_scores_that_all_words_share() -> None:
    """Rows are what they are for each word alone, whether or not scores are the same in all."""
    rng = np.random.default_rng(3)
    head = SoftHead(Fraction(3), "<=", None, None, None, None)
    value = Interval(*(rng.normal(size=(5, 4, 2)) for _ in range(2)))
    value = Interval(np.minimum(value.low, value.high), np.maximum(value.low, value.high))
    for words in (1, 5):
        read = [rng.normal(size=(words, 4, 3)).repeat(5 // words, axis=0) for _ in range(2)]
        query, key = (Interval(down(x), up(x)) for x in read)
        together = Intervals().attend(query, key, value, head)
        for w in range(5):
            at = slice(w, w + 1)
            alone = Intervals().attend(query[at], key[at], value[at], head)
            assert (together.low[w] == alone.low[0]).all()
            assert (together.high[w] == alone.high[0]).all()


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1), st.integers(1, 2**53))
def test_quotients_of_integers_that_floats_hold(numbers: list[int], den: int) -> None:
    made = around_all(Scaled(np.array(numbers), den))
    for at, x in enumerate(numbers):
        assert holds(made[at], Fraction(x, den))
        nearest = float(Fraction(x, den))
        assert (made.low[at], made.high[at]) == (down(np.array(nearest)), up(np.array(nearest)))


def test_rationals_beyond_floats() -> None:
    made = around_all(Scaled(np.array([1, 2**80 + 1], object), 3))
    for at, wanted in enumerate((Fraction(1, 3), Fraction(2**80 + 1, 3))):
        assert holds(made[at], wanted)
