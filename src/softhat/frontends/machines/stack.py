"""Stack programs: instructions that read an input, push, pop and write.

    read      go on by the next symbol of the input, or by its end
    push x    put x on the stack
    pop       take the top off and go on by it, or by the stack being empty
    write y   put y out

A stack program is run as a Turing machine with three tapes (`several_tokens`): the input, whose
head only goes right; the stack, whose head stands on the free cell above the top; and the output,
whose head never moves, because nobody reads it. Each instruction looks at one tape at most. To pop
is two steps: down by one cell, then go on by what is there, and leave the cell blank.

A step is right because the Turing machine's is: cells above the top are blank, so the cell below
the head is the top, or blank if the stack is empty. Machine-checked: `stack_run` of
proofs/Stacks.v.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from softhat.frontends.machines.machine import MOST_STEPS, BoundedRun, checked_steps, checked_word
from softhat.frontends.machines.tables import cells_of, check_name, free_name, turing_machine
from softhat.frontends.machines.turing import ANY, SPACE, OnTapes, TuringMachine
from softhat.io.errors import SofthatError

DOWN = "^"
"""Ends the name of the state between the two steps of a pop."""
NONE = ""
"""The end of the input, or the empty stack, among the cases of an instruction."""
_LABEL = re.compile(r"[A-Za-z0-9_]+\Z")
_FORMS = {
    "read": '["read", {symbol: label, "": label at the end}]',
    "pop": '["pop", {symbol: label, "": label if the stack is empty}]',
    "push": '["push", symbol, label]',
    "write": '["write", symbol, label]',
    "halt": '["halt"]',
}


@dataclass(frozen=True, slots=True)
class StackInstruction:
    """`read` and `pop` have cases, `push` and `write` a symbol and what comes next."""

    operation: str
    symbol: str = ""
    next: str = ""
    cases: tuple[tuple[str, str], ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        return (self.next,) if self.next else tuple(label for _, label in self.cases)

    def to_json(self) -> list[Any]:
        if self.operation in ("read", "pop"):
            return [self.operation, dict(self.cases)]
        return [part for part in (self.operation, self.symbol, self.next) if part]


@dataclass(frozen=True, repr=False)
class StackRun(BoundedRun):
    """A stack program's run."""

    output: tuple[str, ...]
    stack: tuple[str, ...]
    """From the bottom to the top."""
    label: str
    """The instruction that comes next."""

    @property
    def tape(self) -> str:
        return "".join(self.output)


@dataclass(frozen=True, repr=False)
class StackMachine(OnTapes):
    """Instructions by label. The run begins with the first one."""

    kind: ClassVar[str] = "stack"
    instructions: tuple[tuple[str, StackInstruction], ...]
    cells: int

    @property
    def space(self) -> str:
        return (
            f"until the stack has {self.cells // 2:,} symbols; the token full says so; inputs have "
            f"at most {self.cells // 2 - 1:,}"
        )

    @property
    def table_theorem(self) -> str:
        return "stack_run of proofs/Stacks.v"

    @cached_property
    def alphabet(self) -> tuple[str, ...]:
        """What the input may have."""
        reads = [i for _, i in self.instructions if i.operation == "read"]
        return tuple(dict.fromkeys(symbol for i in reads for symbol, _ in i.cases if symbol))

    @cached_property
    def blank(self) -> str:
        used = {symbol for _, i in self.instructions for symbol, _ in i.cases}
        return free_name("_", used | {i.symbol for _, i in self.instructions})

    @cached_property
    def tape_machine(self) -> TuringMachine:
        """The machine with three tapes that does the same."""
        rows: list[tuple[str, Any, str, Any, Any]] = []
        blank = self.blank
        anything, nothing, stay = [ANY] * 3, [ANY] * 3, ["S"] * 3
        for label, i in self.instructions:
            match i.operation:
                case "read":
                    for symbol, then in i.cases:
                        move = ["R" if symbol else "S", "S", "S"]
                        rows.append((label, [symbol or blank, ANY, ANY], then, nothing, move))
                case "push":
                    rows.append((label, anything, i.next, [ANY, i.symbol, ANY], ["S", "R", "S"]))
                case "pop":
                    rows.append((label, anything, label + DOWN, nothing, ["S", "L", "S"]))
                    for symbol, then in i.cases:
                        seen = [ANY, symbol or blank, ANY]
                        move = ["S", "S" if symbol else "R", "S"]
                        rows.append((label + DOWN, seen, then, [ANY, blank, ANY], move))
                case "write":
                    rows.append((label, anything, i.next, [ANY, ANY, i.symbol], stay))
        if not rows:
            raise SofthatError("this stack program does nothing but halt")
        ends = [label for label, i in self.instructions if i.operation == "halt"]
        return turing_machine(
            {
                "tapes": 3,
                "symbols": [blank, *dict.fromkeys([*self.alphabet, *self._used(rows)])],
                "start": self.instructions[0][0],
                "halt": ends,
                "transitions": rows,
                "space": self.cells,
            }
        )

    @staticmethod
    def _used(rows: Iterable[tuple[str, Any, str, Any, Any]]) -> list[str]:
        return [s for _, read, _, write, _ in rows for s in (*read, *write) if s != ANY]

    def run(self, input: Any = None, max_steps: int = MOST_STEPS) -> StackRun:
        """By the definition: a list for the stack."""
        word = self._input(input)
        program = dict(self.instructions)
        label, stack, output = self.instructions[0][0], list[str](), list[str]()
        at = steps = tape_steps = 0
        full = halted = False
        most = checked_steps(max_steps)
        while steps < most and not full:
            i = program[label]
            if i.operation in ("read", "pop"):
                if i.operation == "read":
                    seen = word[at] if at < len(word) else NONE
                else:
                    seen = stack[-1] if stack else NONE
                if seen not in dict(i.cases):
                    tape_steps += i.operation == "pop"
                    halted = True
                    break
                label = dict(i.cases)[seen]
                at += i.operation == "read" and seen != NONE
                if i.operation == "pop":
                    tape_steps += 1
                    del stack[-1:]
            elif i.operation == "halt":
                break
            else:
                (stack if i.operation == "push" else output).append(i.symbol)
                label = i.next
                full = len(stack) >= self.cells // 2 and program[label].operation != "halt"
            steps, tape_steps = steps + 1, tape_steps + 1
        halted = halted or (not full and self._stops(label, word[at:]))
        told = self.tape_machine.run(word, max_steps=tape_steps)
        return StackRun(
            told.prompt, told.tokens, steps, halted, tuple(output), tuple(stack), label, full=full
        )

    def _stops(self, label: str, rest: list[str]) -> bool:
        """Does nothing come next? (A pop looks one step later whether it has a case.)"""
        i = dict(self.instructions)[label]
        if i.operation == "read":
            return (rest[0] if rest else NONE) not in dict(i.cases)
        return i.operation == "halt"

    def decode(self, tokens: str | Iterable[str]) -> StackRun:
        told = self.tape_machine.decode(tokens)
        acts = self.tape_machine.acts_of(told.tokens)
        label, stack, output = self.instructions[0][0], list[str](), list[str]()
        steps = 0
        for action in acts:
            if action.next.endswith(DOWN):
                continue
            steps += 1
            label = action.next
            _, pushed, put = action.write
            if put != ANY:
                output.append(put)
            if pushed == self.blank:
                del stack[-1:]
            elif pushed != ANY:
                stack.append(pushed)
        return StackRun(
            told.prompt, told.tokens, steps, told.halted, tuple(output), tuple(stack), label,
            full=told.full,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "program": {label: i.to_json() for label, i in self.instructions},
            "order": [label for label, _ in self.instructions],
            "space": self.cells,
        }

    def _input(self, word: Any) -> list[str]:
        return checked_word(word, self.alphabet, "no instruction reads")


def stack_machine(description: Mapping[str, Any]) -> StackMachine:
    """The machine of a dictionary: `program` has an instruction for each label. The first comes
    first (or `order` says in which order they stand). A symbol without a case halts."""
    program = description.get("program")
    if not isinstance(program, Mapping) or not program:
        raise SofthatError('a stack program is {"program": {label: instruction}}')
    order = description.get("order", list(program))
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(map(str, program)):
        raise SofthatError("order must have each of the program's labels once")
    instructions = tuple((str(label), _instruction(label, program[label])) for label in order)
    known = dict(instructions)
    for label, i in instructions:
        for target in i.targets:
            if target not in known:
                raise SofthatError(
                    f'{label}: there is no instruction {target!r} to go to: add "{target}": …'
                )
    machine = StackMachine(instructions, cells_of(description.get("space", SPACE)))
    machine.tape_machine  # noqa: B018  (says what is wrong)
    return machine


def _instruction(label: Any, written: Any) -> StackInstruction:
    if not isinstance(label, str) or not _LABEL.match(label):
        raise SofthatError(f"{label!r} is no label: use letters, digits and _")
    parts = list(written) if isinstance(written, list | tuple) else []
    operation = parts[0] if parts else None
    if not isinstance(operation, str) or operation not in _FORMS:
        raise SofthatError(f"{label}: {written!r} is no instruction: choose {', '.join(_FORMS)}")
    if operation in ("read", "pop"):
        if len(parts) != 2 or not isinstance(parts[1], Mapping) or not parts[1]:
            raise SofthatError(f"{label}: {written!r} is not {_FORMS[operation]}")
        cases = tuple(sorted((str(symbol), str(then)) for symbol, then in parts[1].items()))
        for symbol, _ in cases:
            if symbol:
                check_name("symbol", symbol)
        return StackInstruction(operation, cases=cases)
    if len(parts) != (1 if operation == "halt" else 3):
        raise SofthatError(f"{label}: {written!r} is not {_FORMS[operation]}")
    if operation != "halt":
        check_name("symbol", str(parts[1]))
    symbol, following = map(str, parts[1:] or ("", ""))
    return StackInstruction(operation, symbol, following)
