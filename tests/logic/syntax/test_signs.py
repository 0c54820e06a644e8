"""Every operator has one sign, and it is read and written by it."""

from __future__ import annotations

import pytest

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Binary, Unary
from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.signs import (
    CONNECTIVES,
    CONSTANTS,
    COUNTS,
    PREFIX,
    SIGNS,
    TEMPORAL,
    TEMPORAL_WINDOWS,
    VARIABLES,
    WINDOWS,
)


def test_no_operator_is_forgotten() -> None:
    assert set(PREFIX.values()) == set(Unary.__subclasses__())
    assert {*TEMPORAL.values(), *CONNECTIVES.values()} == set(Binary.__subclasses__())
    assert set(WINDOWS.values()) == set(nodes.UnaryWindow.__subclasses__())
    assert set(TEMPORAL_WINDOWS.values()) == set(nodes.BinaryWindow.__subclasses__())
    assert set(COUNTS.values()) == set(nodes.Counting.__subclasses__())


def test_signs_are_different() -> None:
    tables = (PREFIX, TEMPORAL, CONNECTIVES, COUNTS, CONSTANTS, VARIABLES)
    assert len({sign for table in tables for sign in table}) == sum(map(len, tables))
    bounded = [*WINDOWS.values(), *TEMPORAL_WINDOWS.values()]  # these have the unbounded one's sign
    assert len(set(SIGNS.values())) == len(SIGNS) - len(bounded)


@pytest.mark.parametrize("sign", [*WINDOWS, *TEMPORAL_WINDOWS])
def test_operators_with_bounds(sign: str) -> None:
    a, b = nodes.Symbol("a"), nodes.Symbol("b")
    if sign in WINDOWS:
        formula: nodes.Formula = WINDOWS[sign](1, 4, a)
        text = f"{sign}[1,4] a"
    else:
        formula = TEMPORAL_WINDOWS[sign](1, 4, a, b)
        text = f"a {sign}[1,4] b"
    assert parse(text) == formula and str(formula) == text


@pytest.mark.parametrize("sign", PREFIX)
def test_unary_operators(sign: str) -> None:
    formula = PREFIX[sign](nodes.Symbol("a"))
    assert parse(f"{sign} a") == formula
    assert parse(str(formula)) == formula and str(formula).startswith(sign)


@pytest.mark.parametrize("sign", TEMPORAL | CONNECTIVES)
def test_binary_operators(sign: str) -> None:
    kind = (TEMPORAL | CONNECTIVES)[sign]
    formula = kind(nodes.Symbol("a"), nodes.Symbol("b"))
    assert parse(f"a {sign} b") == formula
    assert str(formula) == f"a {sign} b"


@pytest.mark.parametrize("sign", COUNTS)
def test_counts(sign: str) -> None:
    formula = COUNTS[sign](nodes.Symbol("a")) >= 2
    assert parse(f"{sign}(a) >= 2") == formula
    assert str(formula) == f"{sign}(a) >= 2"


@pytest.mark.parametrize("word", CONSTANTS)
def test_constants(word: str) -> None:
    assert parse(word) == CONSTANTS[word] and str(CONSTANTS[word]) == word


@pytest.mark.parametrize("word", VARIABLES)
def test_variables(word: str) -> None:
    assert parse(f"{word} > 1") == (VARIABLES[word] > 1)
