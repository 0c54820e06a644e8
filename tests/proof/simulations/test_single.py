"""Rows with one maximum have one, on every word; terms that break ties do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from softhat.ahat import Builder
from softhat.ahat.simulation.unique import tie_broken
from softhat.numbers.laws import Constant, N
from softhat.proof.simulations.scores import pairs
from softhat.proof.simulations.single import crowded, decided, one_maximum
from softhat.proof.simulations.source import SourceModel
from softhat.proof.simulations.words import all_words, run, winners
from tests.proof.simulations.claims import random_source, source_of, streams_of


def check_single(seed: int) -> int:
    source = source_of(random_source(seed))
    _, sights = streams_of(source)
    proved = {name for name, seen in sights.items() if one_maximum(seen, list(pairs(seen)))}
    for n in (1, 2, 3, 4, 5):
        for word in list(all_words(source, n))[:20]:
            scores = run(source, word).scores
            for name in proved:
                assert all(len(winners(row)) <= 1 for row in scores[name][0]), (seed, name, word)
    return len(proved)


def test_rows_with_one_maximum() -> None:
    assert sum(check_single(seed) for seed in range(12)) > 3


@pytest.mark.full
def test_rows_with_one_maximum_at_full_size() -> None:
    assert sum(check_single(seed) for seed in range(12, 400)) > 100


def leftmost() -> SourceModel:
    b = Builder("ab")
    seen = b.head("<=", value={"s": b.token("a")}, score=[(1, b.token("a"))], ties="leftmost")
    b.output(seen["s"] - Fraction(1, 3))
    return source_of(tie_broken(b.build(), every=True))


def test_terms_that_break_ties() -> None:
    source = leftmost()
    head = source.head((0, 0))
    assert decided(source, head, Constant(Fraction(1)), None)
    assert not decided(source, head, Constant(Fraction(1, 1000)), None)
    assert not decided(source, head, N**-1, None)
    assert not decided(source, replace(head, ties="rightmost"), Constant(Fraction(1)), None)
    larger = replace(head, query=(*head.query[:-1], tuple(9 * w for w in head.query[-1])))
    assert not decided(source, larger, Constant(Fraction(1)), None)
    assert not decided(source, replace(head, query=(), key=()), None, None)


def test_crowds() -> None:
    b = Builder("ab")
    last = b.head("<=", value={"last": b.token("a")}, score=[(1, b.position("i"))])["last"]
    b.output(last)
    _, sights = streams_of(source_of(b.build()))
    found = list(pairs(sights[0, 0]))
    assert crowded(sights[0, 0], found, Constant(Fraction(1))) == 1
    assert crowded(sights[0, 0], found, Constant(Fraction(2))) is None  # the step is 1
