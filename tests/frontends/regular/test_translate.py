"""Formulas of regular languages: equal to the automaton on all short words, softmax models too."""

from __future__ import annotations

import random
from typing import Any

import pytest

import softhat
from softhat.frontends.regular.dfa import minimal, read_dfa
from softhat.frontends.regular.regex import read_regex
from softhat.frontends.regular.translate import language_of
from softhat.logic.fragments import describe
from softhat.models.folders import load_compiled
from tests.frontends.regular.languages import (
    bounded_dyck,
    random_automaton,
    random_tree,
    run,
    text_of,
    words,
)
from tests.slices import every

WORDS = words("ab", 10)
FEW = words("ab", 5)
MANY = 320


def check_expression(seed: int, longest: list[str]) -> None:
    """A random star-free expression whose language is not trivial."""
    dice = random.Random(seed)
    while True:
        text = text_of(random_tree(dice, "ab", dice.randrange(2, 14), stars=False))
        if 2 < len(read_regex(text, "ab").step) <= 30:
            break
    dfa = read_regex(text, "ab")
    check(softhat.from_regex(text, "ab"), [dfa.accepts(word) for word in longest], longest)


def check_automaton(seed: int, longest: list[str]) -> None:
    """A random counter-free automaton of three to eight states."""
    dice = random.Random(seed)
    while True:
        given = random_automaton(dice, dice.randrange(3, 9), "ab")
        if len(minimal(read_dfa(given)).step) >= 3:
            break
    check(softhat.from_dfa(given), [run(given, word) for word in longest], longest)


def check(formula: softhat.Formula, expected: list[bool], tried: list[str]) -> None:
    assert [bool(bits[-1]) for bits in formula.truth_many(tried)] == expected
    model = softhat.compile(formula, alphabet="ab")
    soft = [bool(bits[-1]) for bits in model.truth_many(tried, runtime="dense")]
    assert soft == expected
    assert not model.certificate.void


@pytest.mark.parametrize("seed", every(2, range(40)))
def test_expressions(seed: int) -> None:
    check_expression(seed, FEW)


@pytest.mark.parametrize("seed", every(3, range(40)))
def test_automata(seed: int) -> None:
    check_automaton(seed, FEW)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1_000, 1_000 + MANY))
def test_expressions_to_length_ten(seed: int) -> None:
    check_expression(seed, WORDS)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1_000, 1_000 + MANY))
def test_automata_to_length_ten(seed: int) -> None:
    check_automaton(seed, WORDS)


@pytest.mark.parametrize(
    ("text", "alphabet", "formula"),
    [
        ("(a|b|c)*a", "abc", "a"),
        ("a*", "ab", "!O b"),
        ("a*b*", "ab", "!O (Y b & a)"),
        ("~(.*aa.*)", "ab", "!O (Y a & a)"),
        (".*a..", "ab", "Y Y a"),
        ("(ab)*", "ab", "b & !O (!Y a & b | Y a & a)"),
        ("~(())", "ab", "true"),
        ("a&b", "ab", "false"),
    ],
)
def test_small_languages_get_small_formulas(text: str, alphabet: str, formula: str) -> None:
    assert str(softhat.from_regex(text, alphabet)) == formula


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 8])
def test_bounded_dyck(depth: int) -> None:
    """Depth d costs d + 1 layers: `Y(f S g)` is one head."""
    given = bounded_dyck(depth)
    formula = softhat.from_dfa(given)
    deep = ["(" * 8 + ")" * 8, "(" * 9 + ")" * 9]
    brackets = [*words("()", 10 if depth < 8 else 6), *deep]
    expected = [run(given, word) for word in brackets]
    assert [formula.accepts(word) for word in brackets] == expected
    assert describe(formula).temporal_depth <= 2 * depth + 1
    model = softhat.compile(formula, alphabet="()")
    assert model.size.layers <= depth + 1
    assert [bool(b[-1]) for b in model.truth_many(brackets)] == expected


@pytest.mark.parametrize(
    "text", ["(aa)*", "((a|b)(a|b)(a|b))*", "(aa)*b", "((aa)*b)*", "(a.)*", "(a..b)*"]
)
def test_positions_modulo_m(text: str) -> None:
    dfa = read_regex(text, "ab")
    formula = softhat.from_regex(text, "ab", mod=True)
    assert [formula.accepts(word) for word in WORDS] == [dfa.accepts(word) for word in WORDS]
    assert describe(formula).has_mod


def test_mod_is_not_used_where_it_is_not_needed() -> None:
    assert softhat.from_regex("(ab)*", mod=True) == softhat.from_regex("(ab)*")


def test_the_empty_word_is_told_apart() -> None:
    star, plus = language_of(read_regex("(ab)*")), language_of(read_regex("(ab)+"))
    assert star.has_empty_word
    assert not plus.has_empty_word
    assert star.formula == plus.formula


def test_long_symbols() -> None:
    formula = softhat.from_regex("('open' 'close')*")
    assert formula.accepts(["open", "close"])
    assert not formula.accepts(["open"])


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(softhat.SofthatError, match="too large to translate: more than 20,000"):
        softhat.from_dfa(bounded_dyck(15))


def test_the_formula_is_a_dag_that_saves_and_loads(tmp_path: Any) -> None:
    formula = softhat.from_dfa(bounded_dyck(10))
    known = describe(formula)
    assert known.size > 1_000_000
    assert known.distinct_subformulas < 200
    softhat.compile(formula, alphabet="()").save(tmp_path / "model")
    assert load_compiled(tmp_path / "model").formulas["output"] == formula
    assert (tmp_path / "model" / "formula.txt").stat().st_size < 10_000
