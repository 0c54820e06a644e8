"""A run as a picture: what stands in each cell after each step, and who wrote what is read.

A *band* is one tape, the counters, or a ring. Its row t is what stands there after t steps. Step
t + 1 reads the cell under the head, and `wrote[t]` is the step that wrote it last: there the Recall
head of a decoder looks. 0 is the prompt, None is nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from softhat.frontends.machines.automaton import Automaton
from softhat.frontends.machines.cellular import CellularAutomaton, RowsRun
from softhat.frontends.machines.counter import CounterMachine
from softhat.frontends.machines.machine import Machine, Run
from softhat.frontends.machines.stack import StackMachine
from softhat.frontends.machines.turing import ANY, Action, TuringMachine, act
from softhat.io.errors import SofthatError

MOST_ROWS = 2_000
MOST_CELLS = 400
"""Of a band: what a screen shows."""


@dataclass(frozen=True)
class Band:
    """`rows[t][c]` is the symbol in the c-th cell after t steps; the first cell is `first`."""

    name: str
    first: int
    cells: tuple[str, ...]
    """What the columns are called."""
    rows: tuple[tuple[str, ...], ...]
    heads: tuple[int | None, ...]
    """The column that step t + 1 reads; None if there is none."""
    wrote: tuple[int | None, ...]

    def to_json(self) -> dict[str, Any]:
        """A row of single characters is one text."""
        short = all(len(symbol) == 1 for row in self.rows for symbol in row)
        return {
            "name": self.name,
            "first": self.first,
            "cells": list(self.cells),
            "rows": ["".join(row) if short else list(row) for row in self.rows],
            "heads": list(self.heads),
            "wrote": list(self.wrote),
        }


@dataclass(frozen=True)
class SpaceTime:
    """A run's bands, and the token that each step wrote."""

    kind: str
    title: str
    blank: str
    """The symbol that is shown as nothing."""
    tokens: tuple[str, ...]
    bands: tuple[Band, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "title": self.title,
            "blank": self.blank,
            "tokens": list(self.tokens),
            "bands": [band.to_json() for band in self.bands],
        }


def space_time(machine: Machine, run: Run) -> SpaceTime:
    """What happened in a run of this machine, at most `MOST_ROWS` steps of it."""
    match machine:
        case CellularAutomaton():
            assert isinstance(run, RowsRun)
            return _ring(machine, run)
        case CounterMachine():
            return _counters(machine, run)
        case TuringMachine():
            return _tapes(machine, machine, run, ("tape", "tape 2", "tape 3"))
        case Automaton():
            return _tapes(machine, machine.tape_machine, run, ("input",))
        case StackMachine():
            return _tapes(machine, machine.tape_machine, run, ("input", "stack"))
    raise SofthatError(f"there is no picture of a {machine.kind} machine")


def _ended(run: Run, rows: int) -> str:
    """How the run ended, and what its picture shows: a stack's step may take several on tapes."""
    text = f"{run.steps:,} steps, {'halted' if run.halted else 'not halted'}"
    if rows != run.steps:
        text += f"; {rows:,} steps on its tapes"
    return text + _cut(rows)


def _cut(rows: int) -> str:
    return f"; the first {MOST_ROWS:,} are shown" if rows > MOST_ROWS else ""


def _tapes(machine: Machine, told: TuringMachine, run: Run, names: Sequence[str]) -> SpaceTime:
    """Replay the prompt, then the steps."""
    cells: list[dict[int, str]] = [{} for _ in range(told.tapes)]
    heads = [0] * told.tapes
    for action in told.acts_of(run.prompt):
        act(told, action, cells, heads)
    heads = [0] * told.tapes
    wrote: list[dict[int, int]] = [dict.fromkeys(tape, 0) for tape in cells]
    acts = told.acts_of(run.tokens)
    actions = acts[:MOST_ROWS]
    shown = range(min(len(names), told.tapes))
    seen: list[list[tuple[dict[int, str], int, int | None]]] = [[] for _ in shown]

    def look() -> None:
        for tape in shown:
            seen[tape].append((dict(cells[tape]), heads[tape], wrote[tape].get(heads[tape])))

    look()
    for step, action in enumerate(actions, start=1):
        _mark(action, wrote, heads, step)
        act(told, action, cells, heads)
        look()
    bands = tuple(_band(names[tape], seen[tape], told.symbols[0]) for tape in shown)
    tokens = tuple(action.name for action in actions)
    return SpaceTime(machine.kind, _ended(run, len(acts)), told.symbols[0], tokens, bands)


def _mark(action: Action, wrote: list[dict[int, int]], heads: list[int], step: int) -> None:
    for tape, symbol in enumerate(action.write):
        if symbol != ANY:
            wrote[tape][heads[tape]] = step


def _band(name: str, seen: Sequence[tuple[dict[int, str], int, int | None]], blank: str) -> Band:
    used = [c for cells, head, _ in seen for c in (*cells, head)]
    low, high = min(used), max(used)
    if high - low >= MOST_CELLS:
        low, high = max(low, -MOST_CELLS // 2), min(high, MOST_CELLS // 2 - 1)
    window = range(low, high + 1)
    return Band(
        name,
        low,
        tuple(map(str, window)),
        tuple(tuple(cells.get(c, blank) for c in window) for cells, _, _ in seen),
        tuple(head - low if head in window else None for _, head, _ in seen),
        tuple(step for _, _, step in seen),
    )


def _counters(machine: CounterMachine, run: Run) -> SpaceTime:
    """A column for each counter; a step reads the one that it changes or finds to be 0."""
    names = machine.counters
    values = dict.fromkeys(names, 0)
    for token in run.prompt:
        if token[1:] in values:
            values[token[1:]] += 1
    changed = {name: 0 for name in names if values[name]}
    rows, heads, wrote = [], list[int | None](), list[int | None]()
    tokens = run.tokens[:MOST_ROWS]
    for step, token in enumerate(tokens, start=1):
        rows.append(tuple(str(values[name]) for name in names))
        outcome = machine.outcomes[token]
        heads.append(names.index(outcome.counter))
        wrote.append(changed.get(outcome.counter))
        values[outcome.counter] += outcome.change
        if outcome.change:
            changed[outcome.counter] = step
    rows.append(tuple(str(values[name]) for name in names))
    band = Band("counters", 0, names, tuple(rows), (*heads, None), (*wrote, None))
    return SpaceTime(machine.kind, _ended(run, len(run.tokens)), "0", tuple(tokens), (band,))


def _ring(machine: CellularAutomaton, run: RowsRun) -> SpaceTime:
    """Every cell of a row reads three of the row before."""
    rows = [list(row) for row in run.rows]
    if any(len(row) != machine.width for row in rows):  # values of several characters
        w, names = machine.width, [machine.value_of(t) for t in (*run.prompt, *run.tokens)]
        rows = [names[at : at + w] for at in range(0, len(names) - w + 1, w)]
    shown = rows[: MOST_ROWS + 1]
    nobody: tuple[int | None, ...] = (None,) * len(shown)
    cells = tuple(map(str, range(machine.width)))
    band = Band("ring", 0, cells, tuple(map(tuple, shown)), nobody, nobody)
    tokens = tuple(" ".join(row) for row in shown[1:])
    title = f"{run.steps:,} rows{_cut(len(rows) - 1)}"
    return SpaceTime(machine.kind, title, machine.states[0], tokens, (band,))
