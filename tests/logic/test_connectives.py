"""Connectives without constants mean what Python's all, any and not mean, and are small."""

from __future__ import annotations

from itertools import product

import pytest

from softhat.logic.connectives import all_of, any_of, negation
from softhat.logic.syntax.nodes import FALSE, TRUE, Constant, Formula, Not, Symbol
from softhat.logic.syntax.walk import contains

A, B = Symbol("a"), Symbol("b")
LITERALS = (TRUE, FALSE, A, B, Not(A))
WORD = [set(), {"a"}, {"b"}, {"a", "b"}]


def values(formula: Formula) -> list[bool]:
    """By hand, for the literals above."""
    match formula:
        case Constant(value):
            return [value] * len(WORD)
        case Not(operand):
            return [not value for value in values(operand)]
        case Symbol(name):
            return [name in letter for letter in WORD]
    raise AssertionError


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_conjunctions_and_disjunctions(size: int) -> None:
    for parts in product(LITERALS, repeat=size):
        columns = [[values(part)[i] for part in parts] for i in range(len(WORD))]
        for made, meaning in ((all_of(parts), all), (any_of(parts), any)):
            assert made.truth(WORD).tolist() == list(map(meaning, columns))
            assert isinstance(made, Constant) or not contains(made, Constant)


def test_what_is_left_out() -> None:
    assert all_of([A, TRUE, A]) == A
    assert any_of([FALSE, A, A, B]) == A | B
    assert all_of([A, FALSE]) == FALSE
    assert any_of([A, TRUE]) == TRUE


def test_negations() -> None:
    for literal in LITERALS:
        assert negation(literal).truth(WORD).tolist() == [not value for value in values(literal)]
    assert negation(Not(A)) == A
    assert negation(TRUE) == FALSE
