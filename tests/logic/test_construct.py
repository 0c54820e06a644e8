"""Words made for a formula: right by the definition, and found where random words show nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softhat.logic.construct import WordWithTruth, parts, words_for
from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import Comparison, Formula
from softhat.logic.syntax.parse import parse
from tests.logic.oracle import truth as truth_by_definition

LONG = [
    ("Y Y Y Y Y Y Y Y Y Y a", "ab"),
    ("#(a) >= 30", "ab"),
    ("#(a) = 20", "ab"),
    ("#*(a S b) = 12 & last", "abc"),
    ("H (#(a) < 15)", "ab"),
    ("#(a) >= 150", "abcd"),
    ("mod(40, 37) & a", "ab"),
    ("at(prime) & #(a) >= 11", "ab"),
    ("O (a & Y (b & Y (c & Y (d & Y (e & Y (a & Y (c & Y e)))))))", "abcde"),
    ("Y O (a & O (b & O (a & O (b & O (a & O (b & O (a & O (b & O a)))))))) & X X a", "ab"),
    ("F (a & X (b & X (a & X (c & X (d & X (a & X b)))))) xor #>(c) > 12", "abcd"),
]


def _spelt(made: WordWithTruth, symbols: str) -> str:
    return "".join(symbols[code] for code in made.word.tolist())


def _all_true(made: list[WordWithTruth], formula: Formula, symbols: str) -> set[bool]:
    for one in made:
        truth = truth_by_definition(formula, _spelt(one, symbols))
        assert truth[one.at] == one.value
        assert len(one.asked) == len(one.word)
    return {one.value for one in made}


@pytest.mark.parametrize(("text", "symbols"), LONG)
def test_long_words_are_found(text: str, symbols: str) -> None:
    formula = parse(text)
    made = words_for(formula, symbols, False, np.random.default_rng(0), 200)
    assert _all_true(made, formula, symbols) == {False, True}
    assert len({len(one.word) for one in made}) == 1


@pytest.mark.parametrize("seed", range(4))
def test_what_short_words_show_is_found(seed: int) -> None:
    """Where all words to length 4 show both values, so do the words that are made."""
    rng = np.random.default_rng(seed)
    words = ["".join(w) for n in range(1, 5) for w in product("ab", repeat=n)]
    both = found = 0
    for _ in range(25):
        formula = random_formula(rng, int(rng.integers(2, 14)), ("a", "b"))
        seen = {value for w in words for value in truth_by_definition(formula, w)}
        made = words_for(formula, "ab", False, rng, 100)
        values = _all_true(made, formula, "ab")
        if len(seen) == 2:
            both += 1
            found += len(values) == 2
    assert both >= 10
    assert found >= 0.8 * both  # it is a heuristic


def test_recalls() -> None:
    formula = parse("last[a | b = Y c]")
    made = words_for(formula, "abc", False, np.random.default_rng(0), 100)
    assert _all_true(made, formula, "abc") == {False, True}
    codes = ", ".join(f"{'Y ' * k}a = {'Y ' * k}b" for k in range(12))
    assert words_for(parse(f"last[a | {codes}]"), "ab", False, np.random.default_rng(0), 10) == []


def test_sets_of_propositions() -> None:
    formula = parse("#(p & !q) >= 13 & Y Y (q S p)", propositions="pqr")
    made = words_for(formula, "pqr", True, np.random.default_rng(0), 100)
    assert {one.value for one in made} == {False, True}
    for one in made:
        word = [{s for s, on in zip("pqr", row, strict=True) if on} for row in one.word.tolist()]
        assert truth_by_definition(formula, word)[one.at] == one.value


def test_no_word_is_longer_than_the_model_takes() -> None:
    made = words_for(parse("#(a) >= 30"), "ab", False, np.random.default_rng(0), 100, 12)
    assert {len(one.word) for one in made} <= set(range(1, 13))
    assert {one.value for one in made} == {False}


def test_constant_formulas_have_one_value() -> None:
    made = words_for(parse("a & !a"), "ab", False, np.random.default_rng(0), 50)
    assert {one.value for one in made} == {False}


def test_a_part_in_focus_decides() -> None:
    """`c b c` makes the formula true where it ends; with the count in focus, it is needed."""
    formula = parse("(#(a) >= 14) S (c & Y (b & Y c))")
    (count,) = [part for part in parts(formula) if isinstance(part, Comparison)]
    made = words_for(formula, "abcd", False, np.random.default_rng(0), 0, focus=count)
    assert _all_true(made, formula, "abcd") == {False, True}
    assert any(
        one.value and truth_by_definition(count, _spelt(one, "abcd"))[one.at] for one in made
    )
