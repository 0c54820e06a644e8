"""Comparisons as linear forms, and back: the same truth on every word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from softhat import parse
from softhat.logic.linear import (
    LinearForm,
    difference,
    linear,
    size_of_terms,
    to_balanced,
    to_comparison,
)
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Comparison, Symbol
from tests.logic import oracle
from tests.logic.strategies import RELATIONS, terms

WORDS = ["a", "b", "ab", "cba", "abcab", "aabbc"]
comparisons = st.builds(Comparison, terms(), st.sampled_from(RELATIONS), terms())


def value(form: LinearForm, word: str, i: int) -> int:
    """By counting, with the oracle for what is counted."""
    total = form.constant
    for part, seen in (
        (form.past, range(1, i + 1)),
        (form.future, range(i, len(word) + 1)),
        (form.total, range(1, len(word) + 1)),
    ):
        for a, formula in part:
            truth = oracle.truth(formula, word)
            total += a * sum(truth[j - 1] for j in seen)
    return total


@given(comparisons)
def test_the_difference_is_left_minus_right(comparison: Comparison) -> None:
    form = difference(comparison)
    decide = oracle.RELATIONS[comparison.relation]
    for word in WORDS:
        truth = oracle.truth(comparison, word)
        for i in range(1, len(word) + 1):
            assert decide(value(form, word, i), 0) == truth[i - 1]
    for part in (form.past, form.future, form.total):
        assert all(a for a, _ in part) and len({f for _, f in part}) == len(part)


@given(comparisons)
def test_other_ways_to_write_it_mean_the_same(comparison: Comparison) -> None:
    form = difference(comparison)
    made = [to_comparison(form, comparison.relation)]
    if form.terms:
        made.append(to_balanced(form, comparison.relation))
    if comparison.relation not in ("=", "!="):
        inequality = linear(comparison)
        made.append(to_comparison(inequality))
        if form.terms:
            made.append(to_balanced(inequality, ">="))
    for word in WORDS:
        truth = oracle.truth(comparison, word)
        assert all(oracle.truth(other, word) == truth for other in made)


def test_a_balanced_comparison_has_no_negative_numbers() -> None:
    form = difference(_comparison("2*#(a) - 3*#(b) - 4 >= #>(a)"))
    assert str(to_balanced(form, ">=")) == "2*#(a) >= 3*#(b) + #>(a) + 4"
    turned = difference(_comparison("0 - #(a) < 3"))
    assert str(to_balanced(turned, "<")) == "#(a) > -3"


def test_common_factors_are_divided() -> None:
    assert linear(_comparison("4*#(a) >= 6*#(b) + 7")) == LinearForm(
        ((2, Symbol("a")), (-3, Symbol("b"))), (), (), -4
    )
    assert linear(_comparison("3*#(a) > 5")).constant == -2  # #(a) >= 2
    assert size_of_terms(_comparison("#(a) >= 1")) == 2


def _comparison(text: str) -> Comparison:
    made = parse(text)
    assert isinstance(made, Comparison) and isinstance(made, nodes.Formula)
    return made
