"""The walk through the layers accepts true claims of gaps, and refuses what says more."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.evidence import evidence_to_length
from softhat.io.errors import VoidError
from softhat.numbers.laws import Constant
from softhat.proof.simulations.evidence import read_lengths
from softhat.proof.simulations.walk import check_margin, walked
from softhat.proof.simulations.words import all_words, gap_of, run
from tests.proof.simulations.claims import source_of


@pytest.mark.parametrize("name", ["sort", "dyck-argmin", "histogram", "induction-latest"])
def test_gaps_are_those_of_short_words(name: str) -> None:
    model = softhat.simulate(GALLERY[name](), max_length=3).source
    source, claims = source_of(model), read_lengths(evidence_to_length(model))
    stages, _ = walked(source, claims.streams, claims.heads, 3)
    for n in (2, 3):
        for word in all_words(source, n):
            for (l, h), (rows, den) in run(source, word).scores.items():
                fact = stages[l].facts[h]
                for gap in filter(None, map(gap_of, rows)):
                    assert fact is not None and Fraction(gap, den) >= Fraction(fact.gap.at(n))


@pytest.mark.parametrize("name", ["sort", "dyck-argmin", "histogram", "leftmost-b"])
def test_a_larger_gap_is_refused(name: str) -> None:
    model = softhat.simulate(GALLERY[name](), max_length=3).source
    source, claims = source_of(model), read_lengths(evidence_to_length(model))
    for l, layer in enumerate(claims.heads):
        for h, claim in enumerate(layer):
            if claim is None:
                continue
            more = [list(heads) for heads in claims.heads]
            more[l][h] = replace(claim, gap=claim.gap * 1000)
            with pytest.raises(VoidError, match="its gap"):
                walked(source, claims.streams, more, 3)
            more[l][h] = None
            with pytest.raises(VoidError, match="uniform"):
                walked(source, claims.streams, more, 3)


def test_a_margin_that_is_not_there() -> None:
    model = GALLERY["last-token"]()
    source, claims = source_of(model), read_lengths(evidence_to_length(model))
    _, end = walked(source, claims.streams, claims.heads)
    assert claims.margin is not None
    check_margin(source, end, claims.margin)
    with pytest.raises(VoidError, match="margin"):
        check_margin(source, end, Constant(Fraction(10**6)))
