"""Deterministic automata: the value every regular language passes through."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from softhat.io.errors import SofthatError

MOST_STATES = 5_000
"""Larger automata are refused: no formula of theirs could be written."""


@dataclass(frozen=True, slots=True)
class DFA:
    """A complete automaton: `step[state][k]` is where the k-th symbol leads."""

    alphabet: tuple[str, ...]
    start: int
    accepting: frozenset[int]
    step: tuple[tuple[int, ...], ...]

    def accepts(self, word: Iterable[str]) -> bool:
        """Is the word in the language? The empty word is one too."""
        return [self.start in self.accepting, *self.truth(word)][-1]

    def truth(self, word: Iterable[str]) -> list[bool]:
        """At each position: does the prefix up to it belong to the language?"""
        place = {symbol: k for k, symbol in enumerate(self.alphabet)}
        state, answers = self.start, []
        for symbol in word:
            if symbol not in place:
                raise SofthatError(f"the symbol {symbol!r} is not in the automaton's alphabet")
            state = self.step[state][place[symbol]]
            answers.append(state in self.accepting)
        return answers


@dataclass(frozen=True, slots=True)
class OfAutomaton:
    """A regular language, known by its minimal automaton, whose first state is 0."""

    dfa: DFA

    @property
    def alphabet(self) -> tuple[str, ...]:
        return self.dfa.alphabet

    @property
    def has_empty_word(self) -> bool:
        return self.dfa.start in self.dfa.accepting


def minimal(dfa: DFA) -> DFA:
    """The least automaton of the same language, its states numbered as a search meets them.

    Moore's refinement: states stay together while they agree on acceptance and on the classes
    that every symbol leads to.
    """
    order = reached(dfa.start, dfa.step.__getitem__)
    place = {state: k for k, state in enumerate(order)}
    step = np.array([[place[to] for to in dfa.step[state]] for state in order], dtype=np.int64)
    classes = np.array([state in dfa.accepting for state in order], dtype=np.int64)
    known = 0
    while (count := int(classes.max()) + 1) != known:
        known = count
        for column in step.T:  # pairs of classes as numbers: sorting rows would be slow
            pairs = classes * (int(classes.max()) + 1) + classes[column]
            classes = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    leader = [int(np.flatnonzero(classes == c)[0]) for c in range(known)]
    merged = [tuple(int(classes[to]) for to in step[at]) for at in leader]
    return renumbered(
        DFA(
            dfa.alphabet,
            int(classes[0]),
            frozenset(c for c in range(known) if order[leader[c]] in dfa.accepting),
            tuple(merged),
        )
    )


def renumbered(dfa: DFA) -> DFA:
    """The reachable part, states in the order of a breadth-first search."""
    order = reached(dfa.start, dfa.step.__getitem__)
    place = {state: k for k, state in enumerate(order)}
    return DFA(
        dfa.alphabet,
        0,
        frozenset(place[state] for state in order if state in dfa.accepting),
        tuple(tuple(place[to] for to in dfa.step[state]) for state in order),
    )


def live_states(step: Sequence[Sequence[int]], accepting: Iterable[int]) -> list[int]:
    """The states from which some word is accepted, in order; a step to -1 leads nowhere."""
    before: list[list[int]] = [[] for _ in step]
    for state, row in enumerate(step):
        for to in row:
            if to >= 0:
                before[to].append(state)
    live = set(accepting)
    todo = list(live)
    while todo:
        fresh = set(before[todo.pop()]) - live
        live |= fresh
        todo += fresh
    return sorted(live)


def complement(dfa: DFA) -> DFA:
    rest = frozenset(range(len(dfa.step))) - dfa.accepting
    return DFA(dfa.alphabet, dfa.start, rest, dfa.step)


def intersection(left: DFA, right: DFA) -> DFA:
    """The product automaton, minimal."""

    def follow(pair: tuple[int, int]) -> Iterable[tuple[int, int]]:
        return zip(left.step[pair[0]], right.step[pair[1]], strict=True)

    pairs, step = explored((left.start, right.start), follow)
    accepting = frozenset(
        k for (p, q), k in pairs.items() if p in left.accepting and q in right.accepting
    )
    return minimal(DFA(left.alphabet, 0, accepting, step))


State = TypeVar("State", bound=Hashable)


def reached(start: State, follow: Callable[[State], Iterable[State]]) -> list[State]:
    """All states that can be reached, in the order of a breadth-first search."""
    known, queue = {start}, [start]
    for state in queue:
        for to in follow(state):
            if to not in known:
                known.add(to)
                queue.append(to)
    return queue


def explored(
    start: State, follow: Callable[[State], Iterable[State]]
) -> tuple[dict[State, int], tuple[tuple[int, ...], ...]]:
    """All states that can be reached, numbered as they are found, and for each the numbers of those
    that follow it, symbol by symbol."""
    numbers = {start: 0}
    queue = [start]
    step = []
    for state in queue:
        row = []
        for to in follow(state):
            if to not in numbers:
                check_states(len(numbers) + 1)
                numbers[to] = len(numbers)
                queue.append(to)
            row.append(numbers[to])
        step.append(tuple(row))
    return numbers, tuple(step)


def check_states(count: int) -> None:
    if count > MOST_STATES:
        raise SofthatError(
            f"the automaton has more than {MOST_STATES:,} states: use a smaller language"
        )


def read_dfa(description: DFA | Mapping[str, Any]) -> DFA:
    """An automaton as people write it, completed: a missing edge leads to rejection.

    `{"alphabet", "states", "start", "accept", "transitions": {state: {symbol: state}}}`, as in a
    JSON file; `alphabet` and `states` may be left out if the transitions name them all.
    """
    if isinstance(description, DFA):
        return description
    if not isinstance(description, Mapping):
        raise SofthatError(
            "an automaton is a mapping with alphabet, states, start, accept and transitions, "
            f"not {type(description).__name__}"
        )
    if unknown := sorted(map(str, set(description) - _KEYS)):
        raise SofthatError(
            f"an automaton has no entry {unknown[0]!r}: expected {', '.join(sorted(_KEYS))}"
        )
    for key in ("start", "accept", "transitions"):
        if key not in description:
            raise SofthatError(f"the automaton has no {key!r}")
    transitions = description["transitions"]
    if not isinstance(transitions, Mapping) or not all(
        isinstance(edges, Mapping) for edges in transitions.values()
    ):
        raise SofthatError("transitions must be {state: {symbol: state}}")
    edges = {str(state): dict(row) for state, row in transitions.items()}
    alphabet = _alphabet(description.get("alphabet"), edges)
    states = _states(description, edges)
    check_states(len(states))
    place = {state: k for k, state in enumerate(states)}
    hole = len(states)
    step = []
    for state in states:
        row = edges.get(state, {})
        for symbol, to in row.items():
            if symbol not in alphabet:
                raise SofthatError(
                    f"state {state!r} reads {symbol!r}, which is not in the alphabet"
                )
            if str(to) not in place:
                raise SofthatError(f"state {state!r} leads to the unknown state {to!r}")
        step.append(tuple(place[str(row[s])] if s in row else hole for s in alphabet))
    step.append((hole,) * len(alphabet))
    accepting = frozenset(place[str(state)] for state in description["accept"])
    return renumbered(DFA(alphabet, place[str(description["start"])], accepting, tuple(step)))


_KEYS = {"alphabet", "states", "start", "accept", "transitions"}


def _alphabet(symbols: object, edges: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    if symbols is None:
        symbols = sorted({str(symbol) for row in edges.values() for symbol in row})
    if not isinstance(symbols, Iterable):
        raise SofthatError(f"the alphabet must be text or a list of strings, not {symbols!r}")
    return check_alphabet(tuple(symbols))


def check_alphabet(alphabet: Sequence[object]) -> tuple[str, ...]:
    """Distinct non-empty strings, at least one."""
    if not alphabet:
        raise SofthatError("the alphabet is empty: give at least one symbol")
    for symbol in alphabet:
        if not isinstance(symbol, str) or not symbol:
            raise SofthatError(f"the alphabet must be non-empty strings, not {symbol!r}")
        if alphabet.count(symbol) > 1:
            raise SofthatError(f"duplicate in the alphabet: {symbol!r}")
    return tuple(str(symbol) for symbol in alphabet)


def _states(description: Mapping[str, Any], edges: Mapping[str, Mapping[str, Any]]) -> list[str]:
    if not isinstance(description["accept"], Iterable) or isinstance(description["accept"], str):
        raise SofthatError(f"accept must be a list of states, not {description['accept']!r}")
    named = [description["start"], *description["accept"]]
    if description.get("states") is None:
        used = [*edges, *(to for row in edges.values() for to in row.values())]
        return list(dict.fromkeys(str(state) for state in [*named, *used]))
    listed = description["states"]
    if not isinstance(listed, Iterable) or isinstance(listed, str):
        raise SofthatError(f"states must be a list, not {listed!r}")
    states = list(map(str, listed))
    for state in states:
        if states.count(state) > 1:
            raise SofthatError(f"the state {state!r} is listed twice")
    for state in map(str, [*named, *edges]):
        if state not in states:
            raise SofthatError(f"the state {state!r} is not among the states")
    return states
