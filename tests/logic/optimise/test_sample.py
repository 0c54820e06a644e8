"""Sample words show both values of what has two, and none of what has one."""

from __future__ import annotations

import pytest

import softhat
from softhat.logic.optimise.sample import Seen, candidates
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.walk import distinct


def seen_of(formula: Formula, symbols: str = "ab", propositional: bool = False) -> Seen:
    rows, (root,) = distinct(formula)
    both_values = Seen(some=True, every=False, beside=True)
    return candidates(rows, [root], symbols, propositional).get(root, both_values)


@pytest.mark.parametrize(
    ("formula", "some", "every"),
    [
        ("a S b", True, False),
        ("a | b", True, True),
        ("a & b", False, False),
        ("F N a", True, True),
        ("Y last", False, False),
        ("first", True, False),
        ("Y " * 40 + "a", True, False),
        ("H a & n > 7", True, False),  # dense words
        ("H (Y true -> !a) & a & n > 7", True, False),  # sparse ones
        ("#(a) + #(b) = i", True, True),
        ("#(a) > i", False, False),
        ("n = 1 | n = 2 | n = 3 | n = 4", True, False),
    ],
)
def test_words(formula: str, some: bool, every: bool) -> None:
    assert seen_of(parse(formula))[:2] == (some, every)


def test_sets() -> None:
    for formula in ("p & q & Y (!p & !q)", "p | q"):
        assert seen_of(parse(formula), "pq", True)[:2] == (True, False)


def test_words_end_with_a_table() -> None:
    formula = softhat.parse("at(p) | n > 2").bind({"p": [True, True]})
    assert seen_of(formula)[:2] == (True, True)


@pytest.mark.parametrize(
    ("formula", "beside"),
    [
        ("a S b", True),
        ("a U b", True),
        ("(a | b) S (a | b)", False),
        ("(first | a) S (a | first)", False),
        ("Y !(a & b)", False),
        ("Y !a", True),
        ("X !last", True),
        ("X !first", False),
    ],
)
def test_what_a_head_needs_beside(formula: str, beside: bool) -> None:
    assert seen_of(parse(formula)).beside == beside
