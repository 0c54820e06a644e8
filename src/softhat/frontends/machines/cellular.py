"""Cellular automata on a ring: every cell follows its own value and those of its two neighbours.

Rows are written one after the other, a token a cell. The first cell of a row begins with `|`, and
from the second row on it says what the cell was: `1|0` is 0 and was 1. The prompt is the first row.

With W cells in a row, the cell that comes next was W - 1 tokens before the last one. Its left
neighbour was one token earlier (for the first cell of a row: it is the last token), its right
neighbour one later; for the last cell of a row that has been overwritten, and the row's first token
says what it was. So `Y` and one `S` are enough: no positions and no memory besides attention.

A step is right: on a history of whole rows and a part of the next, the one token whose formula
holds is the next cell's, by induction on its place in the row. Before a whole row: `<eos>`.
Machine-checked: `ring_step` and `ring_run` of proofs/StepRing.v.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from softhat.frontends.machines.machine import (
    EOS,
    MOST_STEPS,
    Machine,
    Run,
    checked_steps,
    shown,
    word_of,
)
from softhat.frontends.machines.tables import check_name
from softhat.frontends.machines.tapes import TapeReading, symbol_bits
from softhat.frontends.machines.tokens import TokenSets, all_of
from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import FALSE, TRUE, And, Formula, Not, Or, Since, Yesterday

START = "|"
MOST_CELLS = 1024
Near = tuple[str, str, str]
"""The values of the left neighbour, the cell, and the right neighbour."""


@dataclass(frozen=True, repr=False)
class RowsRun(Run):
    """A cellular automaton's run: `rows`, the first of which is the input."""

    rows: tuple[str, ...]

    @property
    def tape(self) -> str:
        return self.rows[-1]


@dataclass(frozen=True, repr=False)
class CellularAutomaton(Machine):
    """A rule for every neighbourhood, on a ring of `width` cells. It never halts."""

    kind: ClassVar[str] = "cellular"
    states: tuple[str, ...]
    rule: tuple[tuple[Near, str], ...]
    width: int

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        started = [f"{was}{START}{now}" for was in ("", *self.states) for now in self.states]
        return (*self.states, *started)

    def value_of(self, token: str) -> str:
        """The value of a cell's token."""
        return token.rpartition(START)[2] or token

    @property
    def step_theorem(self) -> str:
        return "ring_step of proofs/StepRing.v"

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        told = TokenSets(self.tokens).one_of
        w, states = self.width, self.states
        starts = told([t for t in self.tokens if t not in states])
        digits = symbol_bits(states)
        values = [told([t for t in self.tokens if self.value_of(t) in d]) for d in digits]
        was = [told([f"{v}{START}{now}" for v in d for now in states]) for d in digits]

        def at(distance: int) -> list[Formula]:
            return [_ago(bit, distance) for bit in values]

        first, last = _ago(starts, w - 1), _ago(starts, w - 2)
        before = [Since(Not(starts), bit) for bit in was]
        left = TapeReading(states, _chosen(first, values, at(w)))
        here = TapeReading(states, at(w - 1))
        right = TapeReading(states, _chosen(last, before, at(w - 2)))
        whole = _ago(TRUE, w - 1)
        rules: dict[str, Formula] = dict.fromkeys(self.tokens, FALSE)
        for (a, b, c), now in self.rule:
            name = f"{b}{START}{now}"
            near = all_of([left[a], here[b], right[c]])
            rules[name] = Or(rules[name], near)
            rules[now] = Or(rules[now], near)
        for name in self.tokens:
            rules[name] = all_of([whole, Not(first) if name in states else first, rules[name]])
        rules[EOS] = Not(whole)
        return {name: rules[name] for name in (*self.tokens, EOS)}

    def prompt(self, input: Any = None) -> list[str]:
        """The first row."""
        row = self._input(input)
        return [START + row[0], *row[1:]]

    def run(self, input: Any = None, max_steps: int = MOST_STEPS) -> RowsRun:
        """By the definition. A step is a row."""
        row = self._input(input)
        rows, tokens = ["".join(row)], list[str]()
        rule = dict(self.rule)
        w = self.width
        for _ in range(checked_steps(max_steps)):
            then = [rule[row[x - 1], row[x], row[(x + 1) % w]] for x in range(w)]
            tokens += [f"{row[0]}{START}{then[0]}", *then[1:]]
            row = then
            rows.append("".join(row))
        return RowsRun(tuple(self.prompt(input)), tuple(tokens), len(rows) - 1, False, tuple(rows))

    def decode(self, tokens: str | Iterable[str]) -> RowsRun:
        names, ended = self.names_of(tokens)
        w = self.width
        for at, name in enumerate(names):
            if (START in name) != (at % w == 0):
                raise SofthatError(
                    f"token {at + 1} is {name!r}: rows have {w} cells, and the first of each has a "
                    f"{START}"
                )
        if len(names) < w:
            raise SofthatError(f"{len(names)} tokens are no row of {w} cells")
        whole = [names[at : at + w] for at in range(0, len(names) - w + 1, w)]
        rows = tuple("".join(map(self.value_of, row)) for row in whole)
        return RowsRun(tuple(names[:w]), tuple(names[w:]), len(rows) - 1, ended, rows)

    def first_wrong(self, input: Any, tokens: Sequence[str]) -> int | None:
        rows = -(-len(tokens) // self.width)
        right = self.run(input, max_steps=rows).word
        return next((at for at, token in enumerate(tokens) if right[at] != token), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "states": list(self.states),
            "rule": [[*near, then] for near, then in self.rule],
            "width": self.width,
        }

    def _input(self, word: Any) -> list[str]:
        if word is None:  # a single cell
            others = [self.states[0]] * (self.width - 1)
            return [*others, self.states[1 % len(self.states)]]
        row = word_of(word)
        if len(row) != self.width:
            raise SofthatError(f"a row has {self.width} cells, not {len(row)}")
        for at, value in enumerate(row, start=1):
            if value not in self.states:
                raise SofthatError(
                    f"cell {at} of the row is {value!r}, which is none of {shown(self.states)}"
                )
        return row


def _ago(formula: Formula, steps: int) -> Formula:
    for _ in range(steps):
        formula = Yesterday(formula)
    return formula


def _chosen(condition: Formula, yes: Sequence[Formula], no: Sequence[Formula]) -> list[Formula]:
    return [Or(And(condition, a), And(Not(condition), b)) for a, b in zip(yes, no, strict=True)]


def cellular_automaton(description: Mapping[str, Any]) -> CellularAutomaton:
    """The automaton of a dictionary: `width` cells; `rule` is Wolfram's number of a rule of two
    values, or a list of [left, cell, right, next] (or a dictionary {"left cell right": next})."""
    width, rule = description.get("width"), description.get("rule")
    if not isinstance(width, int) or isinstance(width, bool) or not 2 <= width <= MOST_CELLS:
        raise SofthatError(f"width is {width!r}: a ring has from 2 to {MOST_CELLS:,} cells")
    if isinstance(rule, int) and not isinstance(rule, bool):
        if not 0 <= rule < 256:
            raise SofthatError(f"rule {rule} is none of Wolfram's, which go from 0 to 255")
        states = ("0", "1")
        entries = [
            ((a, b, c), str(rule >> int(a + b + c, 2) & 1)) for a, b, c in product("01", repeat=3)
        ]
        return CellularAutomaton(states, tuple(entries), width)
    return _by_table(description, rule, width)


def _by_table(description: Mapping[str, Any], rule: Any, width: int) -> CellularAutomaton:
    if isinstance(rule, Mapping):
        texts = {str(near): to for near, to in rule.items()}
        rule = [[*(near.split() if " " in near else near), to] for near, to in texts.items()]
    if not isinstance(rule, list | tuple) or not rule:
        raise SofthatError(
            "a cellular automaton needs a rule: a number, or [left, cell, right, next]"
        )
    table: dict[Near, str] = {}
    for at, entry in enumerate(rule, start=1):
        if not isinstance(entry, list | tuple) or len(entry) != 4:
            raise SofthatError(f"entry {at} is {entry!r}: write [left, cell, right, next]")
        a, b, c, then = map(str, entry)
        if table.setdefault((a, b, c), then) != then:
            raise SofthatError(f"entry {at}: {a} {b} {c} leads to two values")
    used = dict.fromkeys(value for near, then in table.items() for value in (*near, then))
    named = description.get("states") or sorted(used)
    if not isinstance(named, Sequence):
        raise SofthatError(f"states is {named!r}: give a list of values")
    states = tuple(dict.fromkeys(map(str, named)))
    for value in (*states, *used):
        check_name("value", value)
        if value not in states or START in value:
            raise SofthatError(f"{value!r} cannot be a value: they are {shown(states)}, without |")
    missing = [near for near in product(states, repeat=3) if near not in table]
    if missing:
        raise SofthatError(f"the rule says nothing of {' '.join(missing[0])}: give every case")
    return CellularAutomaton(states, tuple(sorted(table.items())), width)
