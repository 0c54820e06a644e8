"""Automata as plain data: what is written is read again, and nothing else."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from softhat.frontends.regular.dfa import DFA
from softhat.frontends.regular.stored import automaton_from_json, automaton_to_json
from softhat.io.errors import SofthatError

CYCLE = DFA(("a", "b"), 0, frozenset({1}), ((1, 2), (2, 0), (0, 0)))


@pytest.mark.parametrize("symbols", ["ab", "ba"])
def test_the_language_is_the_same_whatever_the_order_of_symbols(symbols: str) -> None:
    data = automaton_to_json(CYCLE, symbols)
    again = automaton_from_json(symbols, data["step"], data["accepting"])
    assert again.alphabet == tuple(symbols)
    for n in range(6):
        for word in product("ab", repeat=n):
            assert again.accepts(word) == CYCLE.accepts(word)


@pytest.mark.parametrize(
    ("step", "accepting", "message"),
    [
        ([[0, 1], [1, 0]], [2], "its own states"),
        ([[0, -1], [1, 0]], [1], "its own states"),
        ([], [], "its own states"),
        ([[0], [1]], [1], "one step for each symbol"),
        ([[1, 1], [0, 0]], [], "not minimal"),
        ([[0, True], [1, 0]], [1], "no whole number"),
        ([[0, "1"], [1, 0]], [1], "no whole number"),
        (3, [1], "damaged"),
        ([[0, 1], [1, 0]], None, "damaged"),
    ],
)
def test_what_is_no_automaton(step: Any, accepting: Any, message: str) -> None:
    with pytest.raises(SofthatError, match=message):
        automaton_from_json("ab", step, accepting)
