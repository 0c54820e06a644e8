"""What follows from the form of formulas does follow, on every short word."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given

from softhat import parse
from softhat.logic.optimise.entail import DUAL, NEGATED, Look, negated, opposite
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Constant, Formula, Not
from tests.logic import oracle
from tests.logic.strategies import formulas
from tests.slices import examples

WORDS = ["".join(word) for n in (1, 2, 3) for word in product("abc", repeat=n)]


def truths(formula: Formula) -> list[bool]:
    return [bit for word in WORDS for bit in oracle.truth(formula, word)]


@given(formulas(size=6), formulas(size=6))
@examples(60)
def test_answers_are_true(f: Formula, g: Formula) -> None:
    look = Look()
    left, right = truths(f), truths(g)
    pairs = list(zip(left, right, strict=True))
    if look.entails(f, g):
        assert all(y or not x for x, y in pairs)
    if look.exclude(f, g):
        assert not any(x and y for x, y in pairs)
    if look.cover(f, g):
        assert all(x or y for x, y in pairs)
    if opposite(f, g):
        assert all(x != y for x, y in pairs)
    assert truths(negated(f)) == [not x for x in left]


@given(formulas(size=7))
@examples(60)
def test_what_holds_at_an_end(formula: Formula) -> None:
    look = Look()
    for edge, at in (("first", 0), ("last", -1)):
        simpler = look.at_edge(formula, edge)
        for word in WORDS:
            assert oracle.truth(simpler, word)[at] == oracle.truth(formula, word)[at]


@pytest.mark.parametrize(
    ("f", "g"),
    [
        ("H a", "a"), ("a", "O a"), ("G a", "F a"), ("a & b", "a"), ("a", "a | b"),
        ("a S b", "O b"), ("a U b", "F b"), ("H (a & b)", "H a"), ("!O a", "!a"),
        ("a T b", "b"), ("b", "a S b"), ("Y a", "Z a"), ("a M b", "b"), ("G a", "a W b"),
    ],
)  # fmt: skip
def test_it_sees_the_laws(f: str, g: str) -> None:
    assert Look().entails(parse(f), parse(g)) and not Look().entails(parse(g), parse(f))


def test_without_steps_only_the_plain_answers_are_left() -> None:
    look = Look(0)
    a, once = parse("a"), parse("O a")
    assert look.spent and not look.entails(a, once) and look.entails(a, a)
    assert look.exclude(a, Not(a)) and look.cover(a, Not(a))
    assert not look.exclude(parse("H a"), Not(a))


def test_duals_and_negated_relations_are_involutions() -> None:
    for kind, dual in DUAL.items():
        assert DUAL[dual] is kind
    for relation, other in NEGATED.items():
        assert NEGATED[other] == relation
    assert negated(Constant(True)) == nodes.FALSE
    assert str(negated(parse("#(a) > 2"))) == "#(a) <= 2"
    assert str(negated(parse("O !a"))) == "H a"


def test_an_operator_without_a_dual_keeps_its_negation() -> None:
    class Elsewhere(nodes.Unary):
        __slots__ = ()

    unknown = Not(Elsewhere(Not(nodes.symbol("a"))))
    assert negated(unknown.operand) == unknown
