"""Specifications of languages: from a past formula, a regular expression or an automaton.

A language model should give a positive logit to the symbols with which the word can go on to some
word of the language, and to `<eos>` where it belongs to it. A token classifier should answer at
each position whether the formula holds there (`answers="truth"`).

Formulas that count have infinitely many states. Their machine is explored to `up_to` symbols, twice
that for the question whether a word can be completed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softhat.frontends.regular.dfa import DFA, live_states, read_dfa
from softhat.frontends.regular.regex import read_regex
from softhat.io.argument_types import shown, texts, whole_number
from softhat.io.errors import SofthatError
from softhat.logic.core import to_core
from softhat.logic.decide.paths import without_memory
from softhat.logic.fragments import symbols_of
from softhat.logic.linear import difference
from softhat.logic.semantics.counts import RELATIONS
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import TRUE, Formula
from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.walk import Distinct, distinct
from softhat.trained.specification import (
    MOST_STATES,
    Specification,
    explored,
    ids_by_name,
    read_specification,
)

UP_TO = 160
"""How far formulas that count are explored, unless said otherwise."""


class _Machine(NamedTuple):
    """States by number with their transitions, and where words of the language end."""

    step: list[list[int]]
    """By state and symbol; -1 where nothing was explored any more."""
    accepting: list[bool]


def spec(
    source: Formula | str | Path | Mapping[str, Any] | Specification | None = None,
    *,
    regex: str | None = None,
    dfa: Mapping[str, Any] | DFA | None = None,
    alphabet: str | Iterable[str] | None = None,
    symbols: Mapping[str, int] | None = None,
    bos: int | None = None,
    eos: int | None = None,
    empty: bool = False,
    answers: str = "next",
    up_to: int = UP_TO,
) -> Specification:
    """A specification, from any of the forms in which it can be given.

    `source` is a past formula (text or `Formula`), a specification as a mapping, or the path of
    its JSON file; or give `regex` or `dfa`. `symbols` are the token ids, by default 0, 1, … in the
    order of the alphabet, then `bos` and `eos`. `empty`: does the empty word belong to a formula's
    language? `answers` is "next" (which tokens may follow) or "truth" (does the formula hold here).
    """
    if sum(way is not None for way in (source, regex, dfa)) != 1:
        raise SofthatError("give one of a formula, regex and dfa")
    if isinstance(source, Specification | Path) or (
        isinstance(source, Mapping) and "transitions" not in source
    ):
        return read_specification(source)
    if isinstance(source, Mapping):
        dfa = source
    if answers not in ("next", "truth"):
        raise SofthatError(f"answers is 'next' or 'truth', not {answers!r}")
    if symbols is not None:
        symbols = ids_by_name(symbols, "symbols")
    if not isinstance(empty, bool):
        raise SofthatError(f"empty is True or False, not {shown(empty)}")
    for name, token in (("bos", bos), ("eos", eos)):
        if token is not None:
            whole_number(name, token)
    names = _names(alphabet, symbols)
    if regex is not None or dfa is not None:
        automaton = read_dfa(dfa) if dfa is not None else read_regex(regex or "", names)
        names = _check(names, automaton.alphabet)
        order = [automaton.alphabet.index(name) for name in names]
        step = [[row[k] for k in order] for row in automaton.step]
        ends = [state in automaton.accepting for state in range(len(step))]
        machine, start = _Machine(step, ends), automaton.start
    else:
        if not isinstance(source, Formula | str):
            raise SofthatError(
                f"expected a formula, a specification or the path of one, not {shown(source)}"
            )
        formula = source if isinstance(source, Formula) else parse(source, alphabet=names)
        names = _check(names, symbols_of(formula))
        machine, start = _explored(formula, names, up_to), 0
        machine.accepting[0] = empty
    ids = dict(symbols) if symbols else {name: at for at, name in enumerate(names)}
    free = max(ids.values()) + 1
    bos = free if bos is None else bos
    eos = free + (bos == free) if eos is None else eos
    build = _next if answers == "next" else _truth
    return build(machine, start, names, [ids[name] for name in names], bos, eos)


def _names(
    alphabet: str | Iterable[str] | None, symbols: Mapping[str, int] | None
) -> list[str] | None:
    if alphabet is not None:
        names = texts("alphabet", alphabet)
        if symbols is not None and (missing := [name for name in names if name not in symbols]):
            raise SofthatError(f"the symbol {missing[0]!r} has no token id: add it to symbols")
        return names
    return None if symbols is None else list(symbols)


def _check(names: list[str] | None, used: Sequence[str]) -> list[str]:
    if names is None:
        if not used:
            raise SofthatError("the formula names no symbol: give the alphabet")
        return list(used)
    if unknown := [name for name in used if name not in names]:
        raise SofthatError(f"the symbol {unknown[0]!r} has no token id: add it to symbols")
    return names


def _next(
    machine: _Machine, start: int, names: list[str], ids: list[int], bos: int, eos: int
) -> Specification:
    """Which tokens may follow; words that cannot be completed are outside."""
    alive = live_states(machine.step, np.flatnonzero(machine.accepting).tolist())
    place = {state: at for at, state in enumerate(alive)}
    if start not in place:
        raise SofthatError("the language has no word: there is nothing to prove")
    step = np.array(
        [[place.get(to, -1) for to in machine.step[state]] for state in alive], np.int64
    ).reshape(len(alive), len(names))
    allowed = [
        frozenset(
            [ids[k] for k in range(len(names)) if step[at, k] >= 0]
            + [eos] * machine.accepting[state]
        )
        for at, state in enumerate(alive)
    ]
    return Specification(
        tuple(names), tuple(ids), bos, eos, "sign", tuple(f"q{at}" for at in range(len(alive))),
        place[start], step, tuple(allowed),
    )  # fmt: skip


def _truth(
    machine: _Machine, start: int, names: list[str], ids: list[int], bos: int, _eos: int
) -> Specification:
    """Does the formula hold at each position? Nothing is asked before the first symbol."""
    count = len(machine.step)
    step = np.array([*machine.step, machine.step[start]], np.int64)
    allowed = [frozenset([int(ends)]) for ends in machine.accepting]
    return Specification(
        tuple(names), tuple(ids), bos, None, "argmax",
        (*(f"q{at}" for at in range(count)), "before"), count, step,
        (*allowed, frozenset()), (("false", 0), ("true", 1)),
    )  # fmt: skip


def _explored(formula: Formula, names: list[str], up_to: int) -> _Machine:
    """The states that words lead to: the position modulo what matters, what `Y` and `S` remember,
    and what each comparison of counts has come to."""
    rows, _ = distinct(to_core(formula))
    look = _Look(rows)
    first: _Remembered = (0, (False,) * len(look.memories), (0,) * len(look.counters), False)
    depth = 2 * up_to if look.counters else math.inf
    states, step = explored(
        first, lambda state: [look.after(state, name) for name in names], len(names), depth,
        MOST_STATES, "the formula",
    )  # fmt: skip
    return _Machine(step, [holds for *_, holds in states])


_Remembered = tuple[int, tuple[bool, ...], tuple[int, ...], bool]
"""The position (modulo the period), what is remembered, the sums of the comparisons, and whether
the formula holds: states that remember the same may differ in that."""


class _Look:
    """One step of a past formula: what it remembers after another symbol, and whether it holds."""

    def __init__(self, rows: Distinct) -> None:
        self.rows = rows
        place = {node: at for at, (node, _) in enumerate(rows)}
        self.memories: list[tuple[int, int]] = []
        """(row that remembers, row whose value it remembers)."""
        self.counters: dict[int, tuple[list[tuple[int, int | None]], int]] = {}
        """By row of a comparison: (coefficient, row that is counted; None: all), constant."""
        for at, (node, places) in enumerate(rows):
            match node:
                case nodes.Yesterday():
                    self.memories.append((at, places[0]))
                case nodes.Since():
                    self.memories.append((at, at))
                case nodes.Comparison():
                    form = difference(node)
                    if form.future or form.total:
                        raise _looks_ahead()
                    parts = [(a, None if f == TRUE else place[f]) for a, f in form.past]
                    self.counters[at] = (parts, form.constant)
                case (
                    nodes.Symbol() | nodes.Constant() | nodes.First() | nodes.Mod() | nodes.Not()
                    | nodes.And() | nodes.Or() | nodes.Xor() | nodes.Term()
                ):  # fmt: skip
                    pass
                case _:
                    raise _looks_ahead()
        self.period = math.lcm(*[n.modulus for n, _ in rows if isinstance(n, nodes.Mod)])

    def after(self, state: _Remembered, symbol: str) -> _Remembered:
        """The state after another symbol."""
        last, remembered, sums, _ = state
        position = last + 1
        before = dict(zip((at for at, _ in self.memories), remembered, strict=True))
        counted = dict(zip(self.counters, sums, strict=True))
        values: list[bool] = []
        for at, (node, places) in enumerate(self.rows):
            below = [values[place] for place in places]
            now = without_memory(node, below, position, symbol)
            match node:
                case nodes.Yesterday():
                    now = before[at]
                case nodes.Since():
                    now = below[1] or (below[0] and before[at])
                case nodes.Comparison(_, relation, _):
                    parts, constant = self.counters[at]
                    counted[at] += sum(a for a, f in parts if f is None or values[f])
                    now = RELATIONS[relation](counted[at] + constant, 0)
            values.append(bool(now))  # a term has no truth: its comparison counts it
        phase = position if position <= self.period else position - self.period
        memory = tuple(values[source] for _, source in self.memories)
        return phase, memory, tuple(counted.values()), values[-1]


def _looks_ahead() -> SofthatError:
    return SofthatError(
        "a specification is made from a formula that looks back only, without numerical predicates"
    )
