"""Sample words show both values of what has two, and none of what has one."""

from __future__ import annotations

import pytest

import softhat
from softhat.logic.sample import sampled
from softhat.logic.syntax.parse import parse


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
    asked = parse(formula)
    assert sampled([asked], "ab", False) == {asked: (some, every)}


def test_sets() -> None:
    both, one = parse("p & q & Y (!p & !q)"), parse("p | q")
    assert sampled([both, one], "pq", True) == {both: (True, False), one: (True, False)}


def test_words_end_with_a_table() -> None:
    formula = softhat.parse("at(p) | n > 2").bind({"p": [True, True]})
    assert sampled([formula], "ab", False)[formula] == (True, True)
