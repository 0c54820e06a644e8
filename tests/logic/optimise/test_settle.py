"""What is settled keeps its truth value, and is settled."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from softhat.logic.decide import questions
from softhat.logic.optimise import settle
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


def test_parts_that_stay_are_not_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    find = questions.find_word

    def noted(wanted: Formula, *others: Any) -> Any:
        asked.append(str(wanted))
        return find(wanted, *others)

    def plain(text: str, symbols: str, propositional: bool) -> tuple[str, int]:
        asked.clear()
        return str(settled(simplify(parse(text)), symbols, propositional)), len(asked)

    monkeypatch.setattr(questions, "find_word", noted)
    part = "H d -> !(e S !d) | e"
    settle._never.cache_clear()
    first, some = plain(part, "de", False)
    assert first == "true" and some
    assert plain(f"Y ({part}) & d", "de", False) == ("!first & d", 0)
    with_another, again = plain(part, "def", False)
    assert with_another != "true" or again  # of other words nothing is known
    of_sets, again = plain(part, "de", True)
    assert of_sets != "true" or again
