"""Simpler terms and comparisons: the same values, never more nodes, and what is decided is so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat import parse
from softhat.logic.linear import size_of_terms
from softhat.logic.optimise.simplify_counts import simplify_comparison, simplify_term
from softhat.logic.syntax.nodes import Comparison, Constant, Integer, Term
from softhat.logic.syntax.walk import distinct
from tests.logic import oracle
from tests.logic.strategies import RELATIONS, terms

WORDS = ["a", "b", "ab", "cba", "abcab"]
comparisons = st.builds(Comparison, terms(), st.sampled_from(RELATIONS), terms())


@given(comparisons)
def test_a_comparison_keeps_its_truth(comparison: Comparison) -> None:
    simple = simplify_comparison(comparison)
    for word in WORDS:
        assert oracle.truth(simple, word) == oracle.truth(comparison, word)
    if isinstance(simple, Comparison):
        assert size_of_terms(simple) <= size_of_terms(comparison)
    else:
        assert isinstance(simple, Constant)


@given(terms())
def test_a_term_keeps_its_value(term: Term) -> None:
    simple = simplify_term(term)
    for word in WORDS:
        meaning = oracle.Meaning(word)
        for i in range(1, len(word) + 1):
            assert meaning.value(simple, i) == meaning.value(term, i)
    assert len(distinct(simple)[0]) <= len(distinct(term)[0])


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("#(a) >= 0", "true"), ("#(a) < 0", "false"), ("i > 0", "true"), ("n >= 1", "true"),
        ("2*#(a) = 3", "false"), ("2*#(a) != 3", "true"), ("0 - #(a) > 0", "false"),
        ("3 < 4", "true"), ("3 = 4", "false"), ("#(a) - #(a) = 0", "true"),
        ("2*#(a) >= 2*#(b)", "#(a) >= #(b)"), ("#(a) > #(b)", "#(a) > #(b)"),
    ],
)  # fmt: skip
def test_examples(text: str, simple: str) -> None:
    made = parse(text)
    assert isinstance(made, Comparison)
    found = simplify_comparison(made)
    assert str(found) == simple


def test_terms_of_constants_are_integers() -> None:
    for text, value in (("#(false)", 0), ("2*3", 6), ("3 + 4", 7), ("3 - 5", -2), ("0*#(a)", 0)):
        comparison = parse(f"{text} = n")
        assert isinstance(comparison, Comparison)
        assert simplify_term(comparison.left) == Integer(value)
