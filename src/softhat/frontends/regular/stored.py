"""The minimal automaton of a language as plain data, in a model's folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softhat.frontends.regular.dfa import DFA, minimal
from softhat.io.errors import SofthatError


def automaton_to_json(dfa: DFA, symbols: Sequence[str]) -> dict[str, Any]:
    """Its steps by the symbols in this order, and its accepting states."""
    places = [dfa.alphabet.index(symbol) for symbol in symbols]
    return {
        "step": [[row[k] for k in places] for row in dfa.step],
        "accepting": sorted(dfa.accepting),
    }


def automaton_from_json(symbols: Sequence[str], step: Any, accepting: Any) -> DFA:
    """The automaton, whose first state is 0; a `SofthatError` if it is none, or not minimal."""
    try:
        rows = tuple(tuple(whole(to) for to in row) for row in step)
        ends = frozenset(whole(at) for at in accepting)
    except TypeError as error:
        raise SofthatError(f"the automaton is damaged: {error}") from None
    inside = range(len(rows))
    if not rows or any(to not in inside for row in (*rows, ends) for to in row):
        raise SofthatError("an automaton steps to its own states only")
    if any(len(row) != len(symbols) for row in rows):
        raise SofthatError("a state has one step for each symbol")
    dfa = DFA(tuple(symbols), 0, ends, rows)
    if len(minimal(dfa).step) != len(rows):
        raise SofthatError("the automaton is not minimal")
    return dfa


def whole(number: Any) -> int:
    """A whole number, and no kind of it (True is an int)."""
    if type(number) is not int:
        raise TypeError(f"{str(number)[:40]!r} is no whole number")
    return number
