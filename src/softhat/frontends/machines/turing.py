"""Turing machines with one to three tapes.

A prompt writes the input to the first tape, from cell 0 on, as if by steps to the right, and then
has `go`, which starts the machine at cell 0. Steps are tokens as `one_token` or `several_tokens`
say; where the head would leave the window of cells that addresses reach, the token `full` says so,
and the run ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from softhat.frontends.machines.machine import (
    MOST_STEPS,
    Machine,
    Run,
    checked_steps,
    shown,
)
from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import Formula

GO, FULL = "go", "full"
MOVES = {"L": -1, "S": 0, "R": 1}
SPACE = 1 << 12
"""Cells of the window, unless the caller says."""
MOST_MERGED = 512
"""Tokens of a vocabulary in which a step is one token."""
_ROW = re.compile(r"(?:[0-9][LR][A-Z]|---)+\Z")


@dataclass(frozen=True, slots=True)
class Action:
    """What a step does: the next state, and what each tape's head writes and where it goes."""

    next: str
    write: tuple[str, ...]
    move: tuple[str, ...]

    @property
    def name(self) -> str:
        tapes = [f"{w}{m}" for w, m in zip(self.write, self.move, strict=True)]
        return "".join([INPUT, *tapes]) if self.next == INPUT else "/".join([self.next, *tapes])


INPUT = "="
"""What stands for the next state while the input is written."""


def written(symbol: str) -> Action:
    """A symbol of the input, written to the first tape, whose head goes right."""
    return Action(INPUT, (symbol,), ("R",))


@dataclass(frozen=True)
class TapeRun(Run):
    """A Turing machine's run. `tapes` are their symbols without outer blanks."""

    tapes: tuple[str, ...]
    state: str
    heads: tuple[int, ...]
    full: bool = False
    """Did a head leave the window of cells?"""

    @property
    def tape(self) -> str:
        return self.tapes[0]

    @property
    def word(self) -> tuple[str, ...]:
        ended = ("<eos>",) if self.halted or self.full else ()
        return (*self.prompt, *self.tokens, *ended)


@dataclass(frozen=True)
class TuringMachine(Machine):
    """A deterministic table; a pair of a state and symbols without an entry halts."""

    kind: ClassVar[str] = "turing"
    states: tuple[str, ...]
    symbols: tuple[str, ...]
    """The blank first."""
    start: str
    halting: tuple[str, ...]
    table: tuple[tuple[str, tuple[str, ...], Action], ...]
    tapes: int
    cells: int

    @property
    def bits(self) -> int:
        """Digits of a cell's address."""
        return (self.cells - 1).bit_length()

    @property
    def space(self) -> str:
        half = self.cells // 2
        return f"until a head leaves the cells from {-half} to {half - 1}; the token {FULL} says so"

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        return tuple(dict.fromkeys(action for _, _, action in self.table))

    @cached_property
    def step_of(self) -> dict[tuple[str, tuple[str, ...]], Action]:
        return {(state, read): action for state, read, action in self.table}

    @cached_property
    def merged(self) -> bool:
        """Is a step one token?"""
        return self.tapes == 1 and 2 * self.bits * len(self.actions) <= MOST_MERGED

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return tuple(self._spelling.tokens(self))

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        return self._spelling.formulas(self)

    @property
    def _spelling(self) -> Any:
        from softhat.frontends.machines import one_token, several_tokens

        return one_token if self.merged else several_tokens

    def prompt(self, input: Any = None) -> list[str]:
        """The tokens that write the input, then `go`."""
        names: list[str] = []
        for cell, symbol in enumerate(self._input(input)):
            names += self._spelling.spelled(self, written(symbol), [cell])
        return [*names, GO]

    def run(self, input: Any = None, max_steps: int = MOST_STEPS) -> TapeRun:
        word = self._input(input)
        cells: list[dict[int, str]] = [{} for _ in range(self.tapes)]
        cells[0] = dict(enumerate(word))
        heads = [0] * self.tapes
        state, tokens, steps, full = self.start, list[str](), 0, False
        most = checked_steps(max_steps)
        while steps < most and not full and not self._stops(state, cells, heads):
            action = self.step_of[state, self._read(cells, heads)]
            spelled = self._spelling.spelled(self, action, heads)
            tokens += spelled
            full = spelled[-1] == FULL
            if spelled == [FULL]:
                break  # the token stands for the whole step, which is not done
            steps += 1
            state = action.next
            for tape, (symbol, move) in enumerate(zip(action.write, action.move, strict=True)):
                cells[tape][heads[tape]] = symbol
                heads[tape] += MOVES[move]
        return TapeRun(
            tuple(self.prompt(input)),
            tuple(tokens),
            steps,
            not full and self._stops(state, cells, heads),
            self._shown(cells),
            state,
            tuple(heads),
            full,
        )

    def _stops(self, state: str, cells: Sequence[Mapping[int, str]], heads: Sequence[int]) -> bool:
        return state in self.halting or (state, self._read(cells, heads)) not in self.step_of

    def _read(self, cells: Sequence[Mapping[int, str]], heads: Sequence[int]) -> tuple[str, ...]:
        blank = self.symbols[0]
        return tuple(tape.get(head, blank) for tape, head in zip(cells, heads, strict=True))

    def _shown(self, cells: Sequence[Mapping[int, str]]) -> tuple[str, ...]:
        return tuple(shown_tape(tape, self.symbols[0]) for tape in cells)

    def decode(self, tokens: str | Iterable[str]) -> TapeRun:
        names, ended = self.names_of(tokens)
        if GO not in names:
            raise SofthatError(f"these tokens have no {GO!r}, which ends every prompt")
        begin = names.index(GO) + 1
        named = self._spelling.actions(self)
        cells: list[dict[int, str]] = [{} for _ in range(self.tapes)]
        heads, state, steps = [0] * self.tapes, self.start, 0
        for at, name in enumerate(names):
            if name == GO:
                heads = [0] * self.tapes
            action = named.get(name)
            if action is None:
                continue  # `go`, a digit of an address, or `full`
            if (action.next == INPUT) != (at < begin):
                raise SofthatError(
                    f"token {at + 1} is {name!r}: a prompt writes the input, then comes {GO!r}, "
                    "then come steps"
                )
            steps += at >= begin
            state = action.next if at >= begin else state
            for tape, (symbol, move) in enumerate(zip(action.write, action.move, strict=True)):
                cells[tape][heads[tape]] = symbol
                heads[tape] += MOVES[move]
        full = FULL in names
        return TapeRun(
            tuple(names[:begin]), tuple(names[begin:]), steps, ended and not full,
            self._shown(cells), state, tuple(heads), full,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "tapes": self.tapes,
            "space": self.cells,
            "states": list(self.states),
            "symbols": list(self.symbols),
            "start": self.start,
            "halt": list(self.halting),
            "transitions": [
                [state, list(read), action.next, list(action.write), list(action.move)]
                for state, read, action in self.table
            ],
        }

    def _input(self, given: Any) -> list[str]:
        word = [] if given is None else list(given)
        for at, symbol in enumerate(word):
            if symbol not in self.symbols:
                raise SofthatError(
                    f"symbol {at + 1} of the input is {symbol!r}, which is none of the tape's: "
                    f"{shown(self.symbols)}"
                )
        if len(word) > self.cells // 2:
            raise SofthatError(
                f"an input of {len(word):,} symbols leaves the window of {self.cells:,} cells, "
                f"half of which lie to the right: give space={1 << len(word).bit_length() + 1}"
            )
        return word


def shown_tape(cells: Mapping[int, str], blank: str) -> str:
    """The symbols between the outermost ones that are not blank."""
    used = [cell for cell, symbol in cells.items() if symbol != blank]
    if not used:
        return ""
    return "".join(cells.get(cell, blank) for cell in range(min(used), max(used) + 1))


def is_table(text: str) -> bool:
    """Does this look like bbchallenge's text for a machine?"""
    return all(_ROW.match(row) for row in text.strip().split("_"))


def from_table(text: str, space: int = SPACE) -> TuringMachine:
    """The machine of a text such as `1RB1LB_1LA1RZ`: a row for each state A, B, …, an entry for
    each symbol; Z, H (where no row is) and --- halt."""
    rows = text.strip().split("_")
    names = [chr(ord("A") + at) for at in range(len(rows))]
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise SofthatError(
            f"the rows of {text!r} have different lengths: each state has one entry of three "
            "characters for each symbol"
        )
    symbols = tuple(str(symbol) for symbol in range(widths.pop() // 3))
    halting = tuple(name for name in "ZH" if name not in names)
    transitions = []
    for state, row in zip(names, rows, strict=True):
        for at, symbol in enumerate(symbols):
            entry = row[3 * at : 3 * at + 3]
            if entry != "---":
                transitions.append((state, symbol, entry[2], entry[0], entry[1]))
    used = tuple(name for name in halting if any(name == t[2] for t in transitions))
    return turing_machine(
        {
            "states": [*names, *used],
            "symbols": symbols,
            "start": "A",
            "halt": used,
            "transitions": transitions,
            "space": space,
        }
    )


def turing_machine(given: Mapping[str, Any]) -> TuringMachine:
    """The machine of a dictionary.

    `transitions` are lists [state, read, next, write, move] (or dictionaries with these names);
    with several tapes read, write and move have one entry for each. `symbols` begin with the blank
    (or `blank` names it); `start` is the first transition's state unless it is given; `halt` are
    the states that halt. A state and symbols without an entry halt, too.
    """
    tapes = given.get("tapes", 1)
    if tapes not in (1, 2, 3):
        raise SofthatError(f"a Turing machine has one to three tapes, not {tapes!r}")
    entries = given.get("transitions")
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise SofthatError(
            "a Turing machine needs transitions: lists [state, read, next, write, move]"
        )
    table: dict[tuple[str, tuple[str, ...]], Action] = {}
    for at, entry in enumerate(entries, start=1):
        state, read, action = _entry(entry, at, tapes)
        known = table.setdefault((state, read), action)
        if known != action:
            raise SofthatError(
                f"transition {at}: state {state!r} reading {' '.join(read)} has two entries: the "
                "table must be deterministic"
            )
    halting = tuple(map(str, _names(given.get("halt", ()))))
    symbols = _symbols(given, table)
    mentioned = dict.fromkeys([s for s, _ in table] + [a.next for a in table.values()])
    states = tuple(dict.fromkeys([*map(str, given.get("states", ())), *mentioned, *halting]))
    for name in halting:
        if any(state == name for state, _ in table):
            raise SofthatError(f"the state {name!r} halts, but it has a transition")
    for name in mentioned:
        _check_name("state", name)
        if "states" in given and name not in set(map(str, given["states"])) | set(halting):
            raise SofthatError(
                f"a transition names the state {name!r}, which is none of the machine's: "
                f"{shown(list(map(str, given['states'])))}"
            )
    start = str(given.get("start", next(iter(table))[0]))
    if start not in states:
        raise SofthatError(f"the start state {start!r} is none of the machine's: {shown(states)}")
    rows = tuple((state, read, action) for (state, read), action in table.items())
    cells = _cells(given.get("space", SPACE))
    return TuringMachine(states, symbols, start, halting, rows, tapes, cells)


def _entry(entry: Any, at: int, tapes: int) -> tuple[str, tuple[str, ...], Action]:
    fields = ("state", "read", "next", "write", "move")
    if isinstance(entry, Mapping):
        parts = [entry.get(name) for name in fields]
    else:
        parts = list(entry) if isinstance(entry, Sequence) else []
    if len(parts) != 5 or any(part is None for part in parts):
        raise SofthatError(f"transition {at} is {entry!r}: write [state, read, next, write, move]")
    state, read, following, write, move = parts
    sides = [tuple(map(str, _names(side))) for side in (read, write, move)]
    if tapes > 1 and any(isinstance(side, str) for side in (read, write, move)):
        sides = [tuple(map(str, side or ())) for side in (read, write, move)]
    if any(len(side) != tapes for side in sides):
        raise SofthatError(f"transition {at} is {entry!r}: it has not one entry for each tape")
    if not set(sides[2]) <= set(MOVES):
        raise SofthatError(f"transition {at}: a move is L, R or S (stay), not {' '.join(sides[2])}")
    return str(state), sides[0], Action(str(following), sides[1], sides[2])


def _names(given: Any) -> list[Any]:
    """One name, or several."""
    return [given] if isinstance(given, str | int) else list(given)


def _symbols(
    given: Mapping[str, Any], table: Mapping[tuple[str, tuple[str, ...]], Action]
) -> tuple[str, ...]:
    used = dict.fromkeys(
        symbol for (_, read), action in table.items() for symbol in (*read, *action.write)
    )
    named = [str(symbol) for symbol in given.get("symbols", ())]
    blank = str(given["blank"]) if "blank" in given else named[0] if named else None
    if blank is None:
        raise SofthatError("which symbol is the blank? give blank='_', or symbols with it first")
    if named:
        for symbol in used:
            if symbol not in named:
                raise SofthatError(
                    f"a transition has the symbol {symbol!r}, which is none of the tape's: "
                    f"{shown(named)}"
                )
    symbols = tuple(dict.fromkeys([blank, *named, *used]))
    for symbol in symbols:
        _check_name("symbol", symbol)
    return symbols


def _check_name(what: str, name: str) -> None:
    if (
        not name
        or any(c.isspace() or c == "/" or not c.isprintable() for c in name)
        or set(name) & set("<=")
    ):
        raise SofthatError(
            f"the {what} {name!r} cannot be part of a token: no white space, /, < and ="
        )


def _cells(space: Any) -> int:
    if not isinstance(space, int) or isinstance(space, bool) or not 8 <= space <= 1 << 16:
        raise SofthatError(
            f"space is {space!r}: give a number of cells from 8 to 65,536 (a power of two is used)"
        )
    return 1 << (space - 1).bit_length()
