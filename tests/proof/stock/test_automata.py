"""The claim of an automaton: the recurrence of the doubling, against runs of the automaton."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from softhat.io.errors import SofthatError, VoidError
from softhat.logic.syntax.parse import parse
from softhat.proof.boolean import Space
from softhat.proof.stock.automata import (
    Acceptor,
    at_start,
    claims_of,
    formulas_alone,
    members,
    next_symbols,
)
from softhat.proof.stock.bounded import BoundedAtoms


def value(atoms: BoundedAtoms, function: int, word: str, i: int) -> bool:
    """A function at position i of a word, its atoms read by what they say."""
    space = atoms.space
    known: dict[Any, Any] = {}
    for key in space.atoms_in(function):
        if key[0] == "positions":
            held = np.unpackbits(np.frombuffer(key[2], np.uint8))[: key[1]]
            known[key] = np.array([bool(held[i - 1])])
        else:
            _, distance, inner = key
            seen = i > distance and value(atoms, inner, word, i - distance)
            known[key] = np.array([seen])
    code = np.array([space.rank[word[i - 1]]])
    return bool(space.values(function, code, known)[0])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_the_recurrence_is_the_automaton(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    states = int(rng.integers(1, 6))
    step = tuple(tuple(map(int, row)) for row in rng.integers(0, states, (states, 2)))
    accepting = frozenset(map(int, np.flatnonzero(rng.random(states) < 0.5)))
    atoms = BoundedAtoms(Space(("a", "b"), False), most, whole_shifts=True)
    function = members(atoms, {"m": Acceptor(("a", "b"), step, accepting)})["m"]
    for word in map("".join, product("ab", repeat=most)):
        state = 0
        for i, symbol in enumerate(word, start=1):
            state = step[state]["ab".index(symbol)]
            assert value(atoms, function, word, i) == (state in accepting)


def test_what_is_read_through_another_position_is_one_atom() -> None:
    atoms = BoundedAtoms(Space(("a", "b"), False), 20, whole_shifts=True)
    a = atoms.space.symbol("a")
    twice = atoms.earlier(atoms.earlier(a, 2, 1 << 20), 3, 1 << 20)
    assert twice == atoms.earlier(a, 5, 1 << 20)
    assert atoms.earlier(a, 20, 1 << 20) == atoms.space.false


def test_what_may_come_next() -> None:
    """(ab)*: after a only b, and a word ends after b; what is lost can only end."""
    automaton = Acceptor(("a", "b"), ((1, 2), (2, 0), (2, 2)), frozenset({0}))
    after = next_symbols(automaton)
    assert {name: one.accepting for name, one in after.items()} == {
        "a": frozenset({0}),
        "b": frozenset({1}),
        "<eos>": frozenset({0, 2}),
    }
    assert at_start({**after, "f": parse("H a")}) == {"a": 1, "b": 0, "<eos>": 1, "f": 1}
    atoms = BoundedAtoms(Space(("a", "b"), False), 4, whole_shifts=True)
    other = replace(automaton, step=((0, 0), (0, 0), (0, 0)))
    functions = members(atoms, {**after, "other": other})
    assert functions["other"] == atoms.space.true
    for word in map("".join, product("ab", repeat=4)):
        for name, one in after.items():
            truth = [value(atoms, functions[name], word, i) for i in range(1, 5)]
            assert truth == one.truth(word).tolist()


@pytest.mark.parametrize("step", [(), ((0,), (1, 0)), ((0, 2),), ((0, -1),)])
def test_no_automaton(step: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(SofthatError):
        Acceptor(("a", "b"), step, frozenset())


def test_claims_are_formulas_or_automata() -> None:
    one = Acceptor(("a", "b"), ((0, 0),), frozenset({0}))
    space = Space(("a", "b"), False)
    _, claims = claims_of(space, 4, {"m": one}, False)
    assert claims.met("m", space.true) and not claims.met("m", space.false)
    with pytest.raises(SofthatError):
        claims_of(Space(("a", "b"), False), 4, {"m": one, "f": parse("Y a")}, False)
    with pytest.raises(VoidError):
        formulas_alone({"m": one})
    with pytest.raises(SofthatError):
        claims_of(Space(("a", "c"), False), 4, {"m": one}, False)
