"""Finite automata and transducers: every regular language, and every function that one computes.

A run walks over the input once, from left to right. It is the run of a Turing machine whose head
only goes right: the token of a step has the symbol and the next state, as `one_token` or
`several_tokens` say. At the end of the input an automaton's last token names `accept` or `reject`.
A transducer writes what it puts out over what it has read, and `end` is its last state.

A step is right because the Turing machine's is: its table has one entry for each edge, and one for
each state at the blank behind the input. Machine-checked: `automaton_run` and `walk_accepts` of
proofs/Automata.v.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from softhat.frontends.machines.machine import (
    MOST_STEPS,
    Run,
    checked_steps,
    checked_word,
    shown,
)
from softhat.frontends.machines.tables import cells_of, check_name, free_name, turing_machine
from softhat.frontends.machines.turing import INPUT, SPACE, OnTapes, TapeRun, TuringMachine
from softhat.frontends.regular.regex import read_regex
from softhat.io.errors import SofthatError

Edge = tuple[str, str, str, str]
"""A state, the symbol read, the next state, and what is put out."""


@dataclass(frozen=True, repr=False)
class WalkRun(Run):
    """An automaton's or a transducer's run."""

    state: str
    """Where the walk has come to."""
    accepted: bool | None
    """Is the input in the language? None before the end is reached."""
    output: str
    """What a transducer has put out."""

    @property
    def tape(self) -> str:
        return self.output


@dataclass(frozen=True, repr=False)
class Automaton(OnTapes):
    """A deterministic automaton, or a transducer if edges put something out."""

    kind: ClassVar[str] = "automaton"
    alphabet: tuple[str, ...]
    states: tuple[str, ...]
    start: str
    accepting: frozenset[str]
    edges: tuple[Edge, ...]
    final: tuple[tuple[str, str], ...]
    """What a transducer puts out at the end, by state."""
    is_transducer: bool
    cells: int

    @property
    def space(self) -> str:
        return f"inputs have at most {self.cells // 2 - 1:,} symbols"

    @property
    def table_theorem(self) -> str:
        return "automaton_run of proofs/Automata.v"

    @cached_property
    def steps_of(self) -> dict[tuple[str, str], tuple[str, str]]:
        return {(state, symbol): (then, out) for state, symbol, then, out in self.edges}

    @cached_property
    def ends(self) -> dict[str, bool]:
        """The states in which a run ends, and whether they accept."""
        taken = set(self.states)
        done = "end" if self.is_transducer else "accept"
        return {free_name(done, taken): True, free_name("reject", taken): False}

    @cached_property
    def blank(self) -> str:
        outputs = {out for _, _, _, out in self.edges} | {out for _, out in self.final}
        return free_name("_", outputs | set(self.alphabet))

    @cached_property
    def tape_machine(self) -> TuringMachine:
        """The Turing machine whose head only goes right."""
        blank, (accept, reject) = self.blank, self.ends
        last = dict(self.final)
        rows: list[Sequence[str]] = []
        for state in self.states:
            for symbol in self.alphabet:
                then, out = self.steps_of.get((state, symbol), (reject, ""))
                write = (out or blank) if self.is_transducer else symbol
                rows.append((state, symbol, then, write, "S" if then == reject else "R"))
            ends = accept if self.is_transducer or state in self.accepting else reject
            rows.append((state, blank, ends, last.get(state) or blank, "S"))
        return turing_machine(
            {
                "blank": blank,
                "start": self.start,
                "halt": list(self.ends),
                "transitions": rows,
                "space": self.cells,
            }
        )

    def run(self, input: Any = None, max_steps: int = MOST_STEPS) -> WalkRun:
        """By the definition: follow the edges, and say at the end where that is."""
        word = self._input(input)
        state, output, accepted, steps = self.start, "", None, 0
        accept, reject = self.ends
        for symbol in [*word, None][: checked_steps(max_steps)]:
            steps += 1
            if symbol is None:
                accepted = self.is_transducer or state in self.accepting
                output += dict(self.final).get(state, "")
                state = accept if accepted else reject
            elif (state, symbol) in self.steps_of:
                state, out = self.steps_of[state, symbol]
                output += out
            else:
                state, accepted = reject, False
                break
        told = self.tape_machine.run(word, max_steps=steps)
        return WalkRun(
            told.prompt, told.tokens, steps, accepted is not None, state, accepted, output
        )

    def decode(self, tokens: str | Iterable[str]) -> WalkRun:
        told: TapeRun = self.tape_machine.decode(tokens)
        accepted = self.ends.get(told.state) if told.halted else None
        output = ""
        if self.is_transducer:
            done = [a for a in self.tape_machine.acts_of(told.tokens) if a.next != INPUT]
            written = [a for a in done if a.next in self.states or self.ends[a.next]]
            output = "".join(a.write[0] for a in written if a.write[0] != self.blank)
        return WalkRun(
            told.prompt, told.tokens, told.steps, told.halted, told.state, accepted, output
        )

    def to_json(self) -> dict[str, Any]:
        edges = [list(edge) if self.is_transducer else list(edge[:3]) for edge in self.edges]
        data: dict[str, Any] = {
            "kind": "transducer" if self.is_transducer else "automaton",
            "alphabet": list(self.alphabet),
            "states": list(self.states),
            "start": self.start,
            "transitions": edges,
            "space": self.cells,
        }
        if self.is_transducer:
            return {**data, "final": dict(self.final)}
        return {**data, "accept": [s for s in self.states if s in self.accepting]}

    def _input(self, word: Any) -> list[str]:
        return checked_word(word, self.alphabet, "is none of the machine's")


def automaton(description: Mapping[str, Any]) -> Automaton:
    """The machine of a dictionary with `kind` "automaton" or "transducer".

    `regex` (and `alphabet`) is an automaton's language. Otherwise `transitions` are lists [state,
    symbol, next], of transducers [state, symbol, next, output]; or a mapping {state: {symbol:
    next}}, of transducers {state: {symbol: [next, output]}}. `start` is the first of them unless it
    is given, `accept` are an automaton's accepting states, `final` is what a transducer puts out at
    the end, by state. Without an edge the input is rejected.
    """
    puts_out = description.get("kind") == "transducer"
    if "regex" in description:
        if puts_out:
            raise SofthatError("a regular expression puts nothing out: give transitions")
        return _of_regex(description)
    entries = list(_edges(description.get("transitions"), puts_out))
    if not entries:
        raise SofthatError("an automaton needs transitions: lists [state, symbol, next]")
    edges: dict[tuple[str, str], Edge] = {}
    for edge in entries:
        if edges.setdefault(edge[:2], edge) != edge:
            raise SofthatError(
                f"state {edge[0]!r} reading {edge[1]!r} has two edges: the automaton must be "
                "deterministic (a regex may be anything)"
            )
    accepting = [str(state) for state in _list(description, "accept")]
    last_outputs = description.get("final") or {}
    if not isinstance(last_outputs, Mapping):
        raise SofthatError(f"final is {last_outputs!r}: give a dictionary {{state: output}}")
    final = {str(state): str(out) for state, out in last_outputs.items()}
    mentioned = [state for edge in entries for state in (edge[0], edge[2])]
    start = str(description.get("start", mentioned[0]))
    named = [str(state) for state in _list(description, "states")]
    states = tuple(dict.fromkeys(named or [start, *mentioned]))
    for state in (start, *mentioned, *accepting, *final):
        if state not in states:
            raise SofthatError(f"{state!r} is none of the automaton's states: {shown(states)}")
    symbols = [str(symbol) for symbol in _list(description, "alphabet")]
    alphabet = tuple(dict.fromkeys(symbols or [edge[1] for edge in entries]))
    for _, symbol, _, _ in entries:
        if symbol not in alphabet:
            raise SofthatError(f"an edge reads {symbol!r}, which is not in the alphabet")
    for out in filter(None, (*(edge[3] for edge in entries), *final.values())):
        check_name("output", out)
    for symbol in alphabet:
        check_name("symbol", symbol)
    return Automaton(
        alphabet,
        states,
        start,
        frozenset(accepting),
        tuple(edges.values()),
        tuple(sorted(final.items())),
        puts_out,
        cells_of(description.get("space", SPACE)),
    )


def _of_regex(description: Mapping[str, Any]) -> Automaton:
    alphabet = [str(symbol) for symbol in _list(description, "alphabet")] or None
    dfa = read_regex(str(description["regex"]), alphabet)
    edges = [
        (str(state), symbol, str(then), "")
        for state, row in enumerate(dfa.step)
        for symbol, then in zip(dfa.alphabet, row, strict=True)
    ]
    states = tuple(str(state) for state in range(len(dfa.step)))
    accepting = frozenset(str(state) for state in dfa.accepting)
    for symbol in dfa.alphabet:
        check_name("symbol", symbol)
    cells = cells_of(description.get("space", SPACE))
    return Automaton(
        dfa.alphabet, states, str(dfa.start), accepting, tuple(edges), (), False, cells
    )


def _list(description: Mapping[str, Any], key: str) -> list[Any]:
    value = description.get(key, ())
    if isinstance(value, int):
        return [value]
    if not isinstance(value, Sequence):
        raise SofthatError(f"{key} is {value!r}: give a list of names")
    return list(value)


def _edges(transitions: Any, puts_out: bool) -> Iterable[Edge]:
    size = 4 if puts_out else 3
    if isinstance(transitions, Mapping):
        rows: list[Any] = []
        for state, row in transitions.items():
            if not isinstance(row, Mapping):
                raise SofthatError(f"the edges of state {state!r} are {row!r}: give a dictionary")
            for symbol, to in row.items():
                rows.append([state, symbol, *(to if isinstance(to, list | tuple) else [to])])
        transitions = rows
    if not isinstance(transitions, Sequence) or isinstance(transitions, str):
        raise SofthatError("an automaton needs transitions: lists [state, symbol, next]")
    for at, edge in enumerate(transitions, start=1):
        if not isinstance(edge, list | tuple) or len(edge) != size:
            form = "[state, symbol, next, output]" if puts_out else "[state, symbol, next]"
            raise SofthatError(f"transition {at} is {edge!r}: write {form}")
        state, symbol, then, *out = map(str, edge)
        yield state, symbol, then, out[0] if out else ""
