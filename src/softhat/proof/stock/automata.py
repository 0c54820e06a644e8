"""A regular language as what a stock checkpoint is claimed to compute, in logarithmic depth.

**Theorem 37** for a decoder. Let an automaton have the states 0, …, q - 1, of which 0 is the first,
and let f_0(i) be the function from states to states that its symbol at i is. With
f_(k+1)(i)(p) = f_k(i)(f_k(i - 2^k)(p)), where every state is 0 for what is read before the first
position, f_K(i)(0) is the state after the prefix up to i for every i <= 2^K.

The claim is this recurrence, written down here from the automaton alone: a state is a number in
binary, what is read 2^k before is an atom, and the rest are Boolean functions in canonical form.
The weights must compute the same function. Later rounds stand above earlier ones in the diagrams: a
diagram that asks first which state was reached before never has to remember a function of states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError, VoidError
from softhat.logic.semantics.empty import at_empty_prefixes
from softhat.logic.syntax.nodes import Formula
from softhat.proof.boolean import Space
from softhat.proof.claims import Claims
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.transformer.weights import EOS


@dataclass(frozen=True, slots=True)
class Acceptor:
    """`step[state][k]` is where the k-th symbol of the alphabet leads; the first state is 0."""

    alphabet: tuple[str, ...]
    step: tuple[tuple[int, ...], ...]
    accepting: frozenset[int]

    def __post_init__(self) -> None:
        states = range(len(self.step))
        targets = [to for row in self.step for to in row]
        if not states or any(len(row) != len(self.alphabet) for row in self.step):
            raise SofthatError("an automaton has a state, and a step for each state and symbol")
        if any(to not in states for to in (*targets, *self.accepting)):
            raise SofthatError("an automaton steps to its own states only")

    def truth(self, word: Sequence[str]) -> NDArray[np.bool_]:
        """At each position: is the prefix up to it accepted?"""
        state, answers = 0, []
        place = {symbol: k for k, symbol in enumerate(self.alphabet)}
        for symbol in word:
            state = self.step[state][place[symbol]]
            answers.append(state in self.accepting)
        return np.array(answers, np.bool_)

    def truth_many(self, words: Iterable[Sequence[str]]) -> list[NDArray[np.bool_]]:
        return [self.truth(word) for word in words]


def next_symbols(automaton: Acceptor) -> dict[str, Acceptor]:
    """What a language model of the language may say next: a symbol after which some word of the
    language can still be completed, and `<eos>` where the prefix is such a word, or can never
    become one."""
    alive = set(automaton.accepting)
    states = range(len(automaton.step))
    for _ in states:
        alive |= {q for q in states if alive.intersection(automaton.step[q])}
    ends = automaton.accepting | (frozenset(states) - alive)
    after = {
        symbol: frozenset(q for q in states if automaton.step[q][k] in alive)
        for k, symbol in enumerate(automaton.alphabet)
    }
    return {
        name: replace(automaton, accepting=accepting)
        for name, accepting in {**after, EOS: ends}.items()
    }


Claimed = Formula | Acceptor
"""What an output is claimed to compute."""


def formulas_alone(claimed: Mapping[str, Claimed]) -> dict[str, Formula]:
    """What is claimed, where only formulas will do."""
    formulas = {name: one for name, one in claimed.items() if isinstance(one, Formula)}
    if len(formulas) != len(claimed):
        raise VoidError("log-weights depend on formulas, and here are automata")
    return formulas


def at_start(claimed: Mapping[str, Claimed]) -> dict[str, bool]:
    """Which claims hold before the first symbol."""
    formulas = {name: one for name, one in claimed.items() if isinstance(one, Formula)}
    first = at_empty_prefixes(list(formulas.values())) if formulas else []
    holds = dict(zip(formulas, first, strict=True))
    return {
        name: 0 in one.accepting if isinstance(one, Acceptor) else holds[name]
        for name, one in claimed.items()
    }


class LanguageClaims:
    """Automata in place of formulas: a function is the claimed one, or nothing is proved."""

    def __init__(self, atoms: BoundedAtoms, automata: Mapping[str, Acceptor]) -> None:
        self._members = members(atoms, automata)

    def met(self, output: str, function: int) -> bool:
        """Is this the function of the output's automaton?"""
        return self._members[output] == function


def claims_of(
    space: Space, most: int, claimed: Mapping[str, Claimed], has_recalls: bool
) -> tuple[BoundedAtoms, Claims | LanguageClaims]:
    """The atoms of words of at most so many positions, and what is claimed over them."""
    automata = {name: one for name, one in claimed.items() if isinstance(one, Acceptor)}
    formulas = {name: one for name, one in claimed.items() if isinstance(one, Formula)}
    atoms = BoundedAtoms(space, most, has_recalls, whole_shifts=bool(automata))
    if not automata:
        return atoms, Claims(atoms, formulas)
    if formulas:
        raise SofthatError("a checkpoint computes formulas or automata, not both")
    return atoms, LanguageClaims(atoms, automata)


def members(atoms: BoundedAtoms, automata: Mapping[str, Acceptor]) -> dict[str, int]:
    """Of each automaton the function "the prefix up to here is accepted", for words that the atoms
    allow."""
    functions: dict[str, int] = {}
    for first in automata.values():
        alike = {
            name: one.accepting
            for name, one in automata.items()
            if (one.alphabet, one.step) == (first.alphabet, first.step)
        }
        if functions.keys().isdisjoint(alike):
            functions |= _ending(atoms, first, alike)
    return functions


def _ending(
    atoms: BoundedAtoms, automaton: Acceptor, ends: Mapping[str, frozenset[int]]
) -> dict[str, int]:
    """For each set of states the function "the state after the prefix is one of them"."""
    space = atoms.space
    if space.propositional or set(space.rank) != set(automaton.alphabet):
        raise SofthatError("the automaton's alphabet is not the checkpoint's")
    states = range(len(automaton.step))
    digits = range((len(states) - 1).bit_length())
    rounds = (atoms.most - 1).bit_length()

    def where(state: int, holds: Iterable[int]) -> int:
        """The symbols that lead from a state to one of these."""
        row, among = automaton.step[state], frozenset(holds)
        pairs = zip(automaton.alphabet, row, strict=True)
        return space.symbols(sum(1 << space.rank[symbol] for symbol, to in pairs if to in among))

    image = [[where(p, [r for r in states if r >> b & 1]) for b in digits] for p in states]
    inside = {name: [where(p, chosen) for p in states] for name, chosen in ends.items()}
    for k in range(rounds):
        level = (rounds - k) << 32
        before = [[atoms.earlier(bit, 1 << k, level) for bit in row] for row in image]
        image = [
            [_chosen(space, state, [row[b] for row in image]) for b in digits] for state in before
        ]
        inside = {
            name: [_chosen(space, state, values) for state in before]
            for name, values in inside.items()
        }
    return {name: values[0] for name, values in inside.items()}


def _chosen(space: Space, state: Sequence[int], of: Sequence[int]) -> int:
    """`of[r]`, where r is the state with these binary digits."""
    function = space.false
    for r, value in enumerate(of):
        code = [bit if r >> b & 1 else space.negation(bit) for b, bit in enumerate(state)]
        function = space.either(function, space.both(space.every(code), value))
    return function
