"""Turing machines with one to three tapes.

A prompt writes the input to the first tape, from cell 0 on, as if by steps to the right, and then
has `go`, which starts the machine at cell 0. Steps are tokens as `one_token` or `several_tokens`
say; where the head would leave the window of cells that addresses reach, the token `full` says so,
and the run ends.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from softhat.frontends.machines.machine import (
    GO,
    MOST_STEPS,
    BoundedRun,
    Machine,
    after_prompt,
    checked_steps,
    checked_word,
)
from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import Formula

FULL = "full"
MOVES = {"L": -1, "S": 0, "R": 1}
SPACE = 1 << 12
"""Cells of the window, unless the caller says."""
MOST_MERGED = 512
"""Tokens of a vocabulary in which a step is one token."""
ANY = ""
"""Where a machine with several tapes reads any symbol, or leaves the one that is there."""


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


@dataclass(frozen=True, repr=False)
class TapeRun(BoundedRun):
    """A Turing machine's run. `tapes` are their symbols without outer blanks."""

    tapes: tuple[str, ...]
    state: str
    heads: tuple[int, ...]

    @property
    def tape(self) -> str:
        return self.tapes[0]


@dataclass(frozen=True, repr=False)
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
    one_sided: bool = False
    """Do tapes begin at cell 0, where a head that would go left stays?"""

    @property
    def bits(self) -> int:
        """Digits of a cell's address."""
        return (self.cells - 1).bit_length()

    @property
    def space(self) -> str:
        half = self.cells // 2
        first = 0 if self.one_sided else -half
        return f"until a head leaves the cells from {first} to {half - 1}; the token {FULL} says so"

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        return tuple(dict.fromkeys(action for _, _, action in self.table))

    @cached_property
    def step_of(self) -> dict[tuple[str, tuple[str, ...]], Action]:
        return {(state, read): action for state, read, action in self.table}

    @cached_property
    def _patterns(self) -> tuple[tuple[bool, ...], ...]:
        """Which tapes the entries look at."""
        return tuple(dict.fromkeys(tuple(s != ANY for s in read) for _, read, _ in self.table))

    def action(self, state: str, read: tuple[str, ...]) -> Action | None:
        """What the table says; None where it halts."""
        for looks in self._patterns:
            seen = tuple(s if yes else ANY for s, yes in zip(read, looks, strict=True))
            if (state, seen) in self.step_of:
                return self.step_of[state, seen]
        return None

    @cached_property
    def merged(self) -> bool:
        """Is a step one token?"""
        tokens = 2 * self.bits * len(self.actions)
        return self.tapes == 1 and not self.one_sided and tokens <= MOST_MERGED

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return tuple(self._spelling.tokens(self))

    @property
    def step_theorem(self) -> str:
        if self.merged:
            return "turing_step of proofs/StepTuring.v"
        return "tapes_step of proofs/StepTapes.v"

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
        while steps < most and not full:
            action = self._next(state, cells, heads)
            if action is None:
                break
            spelled = self._spelling.spelled(self, action, heads)
            tokens += spelled
            full = spelled[-1] == FULL
            if spelled == [FULL]:
                break  # the token stands for the whole step, which is not done
            steps += 1
            state = action.next
            act(self, action, cells, heads)
        return TapeRun(
            tuple(self.prompt(input)),
            tuple(tokens),
            steps,
            not full and self._next(state, cells, heads) is None,
            self._shown(cells),
            state,
            tuple(heads),
            full=full,
        )

    def _next(
        self, state: str, cells: Sequence[Mapping[int, str]], heads: Sequence[int]
    ) -> Action | None:
        blank = self.symbols[0]
        read = tuple(tape.get(head, blank) for tape, head in zip(cells, heads, strict=True))
        return None if state in self.halting else self.action(state, read)

    def _shown(self, cells: Sequence[Mapping[int, str]]) -> tuple[str, ...]:
        return tuple(shown_tape(tape, self.symbols[0]) for tape in cells)

    def decode(self, tokens: str | Iterable[str]) -> TapeRun:
        names, ended = self.names_of(tokens)
        begin = after_prompt(names)
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
            act(self, action, cells, heads)
        full = FULL in names
        return TapeRun(
            tuple(names[:begin]), tuple(names[begin:]), steps, ended and not full,
            self._shown(cells), state, tuple(heads), full=full,
        )  # fmt: skip

    def acts_of(self, tokens: Iterable[str]) -> list[Action]:
        """What tokens do, one after the other."""
        named = self._spelling.actions(self)
        return [named[name] for name in tokens if name in named]

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "tapes": self.tapes,
            "one_sided": self.one_sided,
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

    def _input(self, content: Any) -> list[str]:
        word = checked_word(content, self.symbols, "is none of the tape's")
        if len(word) >= self.cells // 2:
            raise SofthatError(
                f"an input of {len(word):,} symbols leaves the window of {self.cells:,} cells, "
                f"half of which lie to the right: give space={2 << len(word).bit_length()}"
            )
        return word


class OnTapes(Machine):
    """A machine whose tokens are those of a Turing machine that does the same."""

    @cached_property
    @abstractmethod
    def tape_machine(self) -> TuringMachine:
        """The Turing machine."""

    @abstractmethod
    def _input(self, content: Any) -> list[str]:
        """The symbols of an input, checked."""

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return self.tape_machine.tokens

    @property
    def step_theorem(self) -> str:
        return f"{self.tape_machine.step_theorem}, {self.table_theorem}"

    @property
    @abstractmethod
    def table_theorem(self) -> str:
        """Why the Turing machine does the same: a theorem of the proofs, which Coq has checked."""

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        return self.tape_machine.formulas

    def prompt(self, input: Any = None) -> list[str]:
        """The tokens that write the input, then `go`."""
        return self.tape_machine.prompt(self._input(input))


def act(
    machine: TuringMachine, action: Action, cells: Sequence[dict[int, str]], heads: list[int]
) -> None:
    """Do what a token says."""
    for tape, (symbol, move) in enumerate(zip(action.write, action.move, strict=True)):
        if symbol != ANY:
            cells[tape][heads[tape]] = symbol
        heads[tape] += MOVES[move]
        if machine.one_sided:
            heads[tape] = max(heads[tape], 0)


def shown_tape(cells: Mapping[int, str], blank: str) -> str:
    """The symbols between the outermost ones that are not blank."""
    used = [cell for cell, symbol in cells.items() if symbol != blank]
    if not used:
        return ""
    return "".join(cells.get(cell, blank) for cell in range(min(used), max(used) + 1))
