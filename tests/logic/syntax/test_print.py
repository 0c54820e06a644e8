"""Printing: parses back to an equal formula, with no parenthesis that could go."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat import FormulaError, SofthatError, parse
from softhat.logic.random import random_formula
from softhat.logic.syntax.decimals import to_digits, to_integer
from softhat.logic.syntax.nodes import And, Count, Formula, Not, Sum, Symbol, Term
from softhat.logic.syntax.parse import read
from softhat.logic.syntax.print import to_short, to_text, to_unicode
from tests.logic.strategies import formulas, terms
from tests.slices import examples

NAMES = ["a", "b", "open", "S", "i", "true", "(", "'", '"', "\\", "tok en", "\n", "é", "\0", "1"]


def test_round_trip_of_ten_thousand_formulas() -> None:
    rng = np.random.default_rng(7)
    for _ in range(10_000):
        formula = random_formula(rng, int(rng.integers(1, 16)), NAMES)
        assert parse(to_text(formula)) == formula


@examples(300)
@given(formulas(NAMES, 15))
def test_round_trip(formula: Formula) -> None:
    assert parse(str(formula)) == formula
    assert parse(to_unicode(formula)) == formula


@examples(200)
@given(terms())
def test_round_trip_of_terms(term: Term) -> None:
    assert read(Term, str(term)) == term
    assert read(Term, to_unicode(term)) == term


@examples(200)
@given(st.text(min_size=1))
def test_every_name_can_be_written(name: str) -> None:
    assert parse(str(Symbol(name))) == Symbol(name)


@examples(200)
@given(formulas("ab", 12))
def test_every_parenthesis_is_needed(formula: Formula) -> None:
    text = str(formula)
    stack = []
    for k, char in enumerate(text):
        if char == "(":
            stack.append(k)
        elif char == ")":
            begin = stack.pop()
            if text[:begin].rstrip().endswith(("#", "#>", "#*", "mod")):
                continue
            without = text[:begin] + " " + text[begin + 1 : k] + " " + text[k + 1 :]
            with contextlib.suppress(FormulaError):
                assert parse(without) != formula


@pytest.mark.parametrize(
    ("text", "printed", "pretty"),
    [
        ("((a)&(b))&(c)", "a & b & c", "a ∧ b ∧ c"),
        ("a&(b&c)", "a & (b & c)", "a ∧ (b ∧ c)"),
        ("!(!(a))", "!!a", "¬¬a"),
        ("Y(a&b)", "Y (a & b)", "⊖(a ∧ b)"),
        ("(Y a) S (O b)", "Y a S O b", "⊖a S ⟐b"),
        ("2*(#(a)) >= ((-3))", "2*#(a) >= -3", "2·#(a) ≥ −3"),
        ("!(#(a) > 1)", "!#(a) > 1", "¬#(a) > 1"),
        ("#(a) - (1 - i) = 2*(n + 1)", "#(a) - (1 - i) = 2*(n + 1)", "#(a) − (1 − i) = 2·(n + 1)"),
    ],
)
def test_examples(text: str, printed: str, pretty: str) -> None:
    assert str(parse(text)) == printed
    assert parse(text).pretty() == pretty


@examples(60)
@given(formulas("ab", 40), st.integers(1, 80))
def test_short_forms(formula: Formula, limit: int) -> None:
    short = to_short(formula, limit)
    assert len(short) <= limit
    text = to_text(formula)
    assert short == text if len(text) <= limit else "…" in short


def test_short_forms_of_giants_are_cheap() -> None:
    chain: Formula = Symbol("a")
    for _ in range(5_000):
        chain = And(chain, Not(chain))  # printed in full it would have 2^5000 operators
    assert len(to_short(chain, 60)) <= 60
    assert "…" in repr(chain)
    assert parse(str(chain)) == chain  # with definitions
    total: Term = Count(chain)
    for _ in range(40):
        total = Sum(total, total)
    with pytest.raises(SofthatError, match="shares subformulas"):
        str(total)


@examples(100)
@given(st.integers(0, 6_000), st.integers(0, 2**64))
def test_decimals(digits: int, seed: int) -> None:
    value = 10**digits + seed
    for number in (value, -value):
        assert to_digits(number).lstrip("-") == to_digits(value)
        assert to_integer(to_digits(value)) == value
    if digits < 4000:
        assert to_digits(value) == str(value)
