"""Differences of scores: never 0 where that is claimed, on their grids, in their intervals."""

from __future__ import annotations

from fractions import Fraction

import pytest

from softhat.numbers.laws import Constant, Law, Lcm, Length, N, minimum, product
from softhat.proof.simulations.scores import at_most, monomials, pairs
from softhat.proof.simulations.words import all_words, gap_of, run
from tests.proof.simulations.claims import random_source, source_of, streams_of


def check_gaps(seed: int) -> None:
    """The least that any pair can be is at most every gap; heads without ties have none."""
    source = source_of(random_source(seed))
    _, sights = streams_of(source)
    found = {name: list(pairs(seen)) for name, seen in sights.items()}
    for n in (1, 2, 3, 4):
        for word in list(all_words(source, n))[:12]:
            for name, (rows, den) in run(source, word).scores.items():
                least = min(
                    (
                        max(pair.whole.least.at(n), pair.margin)
                        for pair in found[name]
                        if pair.whole.unit
                    ),
                    default=None,
                )
                never = all(pair.never_zero for pair in found[name])
                for row in rows:
                    gap = gap_of(row)
                    assert gap is None or (least is not None and Fraction(gap, den) >= least)
                    seen = [s for s in row if s is not None]
                    assert not never or len(set(seen)) == len(seen)


@pytest.mark.parametrize("seed", range(8))
def test_gaps_of_words(seed: int) -> None:
    check_gaps(seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(8, 300))
def test_gaps_of_words_at_full_size(seed: int) -> None:
    check_gaps(seed)


LAWS: list[Law] = [
    Constant(Fraction(1, 3)),
    Constant(Fraction(2)),
    N,
    N**-1,
    Length(2) ** -2,
    product(Constant(Fraction(1, 4)), Length(1) ** -1, Length(-1) ** -1),
    product(N**-1, Lcm(1) ** -1),
    minimum(Constant(Fraction(1, 2)), N**-2),
    minimum(Length(3) ** -1, product(Constant(Fraction(1, 5)), N**-1)),
]


@pytest.mark.parametrize("one", LAWS, ids=str)
@pytest.mark.parametrize("other", LAWS, ids=str)
def test_laws_that_are_said_to_be_ordered_are(one: Law, other: Law) -> None:
    if at_most(one, other):
        assert all(one.at(n) <= other.at(n) for n in (*range(1, 40), 1000))
    assert at_most(one, one)


def test_what_is_no_monomial_is_not_compared() -> None:
    assert monomials(N + 1) is None
    assert not at_most(N + 1, N + 1)
