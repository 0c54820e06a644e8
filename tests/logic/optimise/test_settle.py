"""What is settled keeps its truth value, and is settled."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from softhat.logic.optimise.settle import settled
from softhat.logic.optimise.simplify import simplify
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from tests.logic import oracle
from tests.logic.strategies import formulas, set_words, words
from tests.slices import examples


@pytest.mark.parametrize(
    ("formula", "plain"),
    [
        ("O (a & Y b) & H !b", "false"),
        ("H a -> !(b S !a) | b", "true"),  # over ab a position before which all is a
        ("F N a", "true"),
        ("Y last", "false"),
        ("H #(b) = 2*#(a)", "false"),  # not at the first position
        ("O (#(a) + #(b) <= 1)", "true"),
        ("#(a) > i", "false"),
        ("#(a) + #(b) = i", "true"),
        ("G F (a & last) -> F (a & N a)", "true"),
        ("(a S b) & H (a & !b)", "false"),
        ("a S b", "a S b"),
        ("X (b & Y (!((first & a) M a) U (Z (b W a) & G first)))", "false"),
    ],
)
def test_examples(formula: str, plain: str) -> None:
    found = settled(simplify(parse(formula)), "ab", False)
    assert str(found) == plain


@examples(80, suppress_health_check=list(HealthCheck), deadline=None)
@given(formulas("ab", 12), words("ab", 7))
def test_truth_is_kept(formula: Formula, word: str) -> None:
    assert oracle.truth(settled(formula, "ab", False), word) == oracle.truth(formula, word)


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(formulas("ab", 10), set_words("ab", 6))
def test_truth_is_kept_of_sets(formula: Formula, word: list[frozenset[str]]) -> None:
    assert oracle.truth(settled(formula, "ab", True), word) == oracle.truth(formula, word)
