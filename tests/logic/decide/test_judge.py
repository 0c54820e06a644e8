"""Judgements: words for and against are right, and what is said of all is so of short ones."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given

from softhat import parse
from softhat.logic.decide import judge as module
from softhat.logic.decide.judge import judge
from softhat.logic.syntax.nodes import Formula
from tests.logic import oracle
from tests.logic.strategies import formulas
from tests.slices import examples

WORDS = ["".join(word) for n in (1, 2, 3) for word in product("ab", repeat=n)]


def holds(formula: Formula, word: object, where: str) -> bool:
    truth = oracle.truth(formula, word)
    return {"first": truth[0], "last": truth[-1], "anywhere": any(truth)}[where]


@given(formulas("ab", size=7))
@examples(50)
def test_words_and_verdicts_agree(formula: Formula) -> None:
    found = judge(formula, alphabet="ab")
    opposite = {"first": 0, "last": -1}
    for word, wanted in ((found.model, True), (found.counterexample, False)):
        if word is None:
            continue
        truth = oracle.truth(formula, word)
        if found.where == "anywhere":
            assert wanted in truth
        else:
            assert truth[opposite[found.where]] == wanted
    for word in WORDS:
        truth = oracle.truth(formula, word)
        if found.satisfiable is False:
            assert not holds(formula, word, found.where)
        if found.valid:
            assert all(truth) if found.where == "anywhere" else holds(formula, word, found.where)
    if found.satisfiable is None or found.valid is None:
        assert found.reason


@pytest.mark.parametrize(
    ("text", "satisfiable", "valid"),
    [("a", True, False), ("O a | H !a", True, True), ("a & !a", False, False)],
)
def test_examples(text: str, satisfiable: bool, valid: bool) -> None:
    formula = parse(text)
    found = judge(formula, alphabet="ab")
    assert (found.satisfiable, found.valid) == (satisfiable, valid)


def test_what_is_too_large_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LARGEST", 2)
    formula = parse("a & Y b")
    found = judge(formula, alphabet="ab")
    assert found.satisfiable is None and found.valid is None
    assert found.reason == "the formula is too large"
