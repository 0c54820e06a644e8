"""Formulas with definitions: what shares much is written in few lines and read back equal."""

from __future__ import annotations

import pytest

from softhat import FormulaError, parse, symbol
from softhat.logic.syntax.definitions import shared


def test_a_definition_names_a_formula_for_what_follows() -> None:
    assert parse("x := a S b; y := Y x; x & !y") == parse("(a S b) & !Y (a S b)")
    assert parse("x := a;\n// a comment; with a semicolon\nx | ';'") == parse("a | ';'")


def test_what_shares_much_is_written_with_definitions() -> None:
    formula = symbol("a").since(symbol("x2"))
    for _ in range(60):
        formula = (formula & formula.yesterday()).since(~formula)
    text = str(formula)
    assert len(text) < 6_000
    assert "x2 :=" not in text  # a symbol of the formula
    assert parse(text) == formula
    assert parse(formula.pretty()) == formula
    assert len(shared(formula)[0]) >= 60


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("x := a; x := b; x", 8, "x has been defined"),
        ("Y := a; b", 0, "Y is no free name"),
        ("x := a &; x", 8, "expected a formula"),
        ("x := a; x & ", 11, "expected a formula"),
        ("a; x := b; x", 1, "expected a definition"),
        ("x := a;", 7, "formula"),
    ],
)
def test_refusals(text: str, position: int, said: str) -> None:
    with pytest.raises(FormulaError, match=said) as caught:
        parse(text)
    assert caught.value.position == position


def test_names_are_known_to_the_alphabet_check() -> None:
    assert parse("x := a; Y x", alphabet="ab") == parse("Y a")
    with pytest.raises(FormulaError, match="z is not in the alphabet"):
        parse("x := a; Y z", alphabet="ab")
