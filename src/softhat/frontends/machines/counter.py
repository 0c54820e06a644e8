"""Counter machines (Minsky machines): registers that count, instructions that add or take one.

A step's token is the instruction and what happened: `loop+a` (added one to a at loop), `loop-a`
(took one), `loop=a` (found a to be 0). The prompt has one `+a` for each unit of a, then `go`.

The last token says which instruction comes next. A counter is the number of tokens that add to it
minus the number of those that take from it, so a test for 0 compares two counts: LTL with counting,
no positions, and no memory besides attention.

A step is right: on a history that is a prompt and the tokens of the machine's first t steps, the
one token whose formula holds is that of step t + 1, or `<eos>` if the machine has halted: the last
token names the instruction, `#(adds) <= #(takes)` holds iff the counter is 0, because it is never
negative, and the formulas of the two outcomes of `dec` differ in that test alone. Machine-checked:
`counter_step` and `counter_run` of proofs/StepCounter.v.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from softhat.frontends.machines.machine import (
    EOS,
    GO,
    MOST_STEPS,
    Machine,
    Run,
    after_prompt,
    checked_steps,
    shown,
)
from softhat.frontends.machines.tokens import NOTHING_YET, TokenSets, any_of
from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import FALSE, And, Comparison, Count, Formula, Not

_NAME = re.compile(r"[A-Za-z0-9_]+\Z")
MOST_INPUT = 1 << 17
"""Units in a prompt: more tokens than any context has."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """`inc counter next`, `dec counter next otherwise` (otherwise: it is 0), or `halt`."""

    label: str
    operation: str
    counter: str = ""
    next: str = ""
    otherwise: str = ""

    @property
    def text(self) -> str:
        parts = (self.operation, self.counter, self.next, self.otherwise)
        return f"{self.label}: {' '.join(part for part in parts if part)}"


@dataclass(frozen=True, slots=True)
class TokenEffect:
    """What a token says: a change of a counter, and the label that comes next."""

    at: str
    counter: str
    change: int
    next: str


@dataclass(frozen=True, repr=False)
class CounterRun(Run):
    """A counter machine's run."""

    counters: dict[str, int]
    label: str
    """The instruction that comes next."""


@dataclass(frozen=True, repr=False)
class CounterMachine(Machine):
    """Instructions with labels. The run begins with the first one."""

    kind: ClassVar[str] = "counter"
    instructions: tuple[Instruction, ...]

    @cached_property
    def counters(self) -> tuple[str, ...]:
        """The counters' names, in the order in which they occur."""
        return tuple(dict.fromkeys(i.counter for i in self.instructions if i.counter))

    @cached_property
    def outcomes(self) -> dict[str, TokenEffect]:
        """What each step's token says."""
        named: dict[str, TokenEffect] = {}
        for i in self.instructions:
            if i.operation == "inc":
                named[f"{i.label}+{i.counter}"] = TokenEffect(i.label, i.counter, 1, i.next)
            elif i.operation == "dec":
                named[f"{i.label}-{i.counter}"] = TokenEffect(i.label, i.counter, -1, i.next)
                named[f"{i.label}={i.counter}"] = TokenEffect(i.label, i.counter, 0, i.otherwise)
        return named

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return (*(f"+{name}" for name in self.counters), GO, *self.outcomes)

    @property
    def step_theorem(self) -> str:
        return "counter_step of proofs/StepCounter.v"

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        words = TokenSets(self.tokens)
        start = self.instructions[0].label

        def at(label: str) -> Formula:
            leads = [name for name, o in self.outcomes.items() if o.next == label]
            return words.one_of([*leads, *([GO] if label == start else [])])

        def is_zero(counter: str) -> Formula:
            of = {n: o.change for n, o in self.outcomes.items() if o.counter == counter}
            adds = words.one_of([f"+{counter}", *(n for n, by in of.items() if by > 0)])
            takes = words.one_of([n for n, by in of.items() if by < 0])
            return Comparison(Count(adds), "<=", Count(takes))

        tests = {name: is_zero(name) for name in self.counters}
        operations = {i.label: i.operation for i in self.instructions}
        formulas: dict[str, Formula] = {f"+{name}": FALSE for name in self.counters}
        formulas[GO] = FALSE
        for name, outcome in self.outcomes.items():
            formula = at(outcome.at)
            if operations[outcome.at] == "dec":
                test = tests[outcome.counter]
                formula = And(formula, test if outcome.change == 0 else Not(test))
            formulas[name] = formula
        halts = [at(label) for label, operation in operations.items() if operation == "halt"]
        unfinished = words.one_of([f"+{name}" for name in self.counters])
        formulas[EOS] = any_of([*halts, unfinished, NOTHING_YET])
        return formulas

    def prompt(self, input: Any = None) -> list[str]:
        """One `+a` for each unit of counter a, then `go`."""
        values = self._input(input)
        return [f"+{name}" for name in self.counters for _ in range(values[name])] + [GO]

    def run(self, input: Any = None, max_steps: int = MOST_STEPS) -> CounterRun:
        values = self._input(input)
        prompt = tuple(self.prompt(input))
        by_label = {i.label: i for i in self.instructions}
        label = self.instructions[0].label
        tokens: list[str] = []
        for _ in range(checked_steps(max_steps)):
            i = by_label[label]
            if i.operation == "halt":
                break
            if i.operation == "inc":
                values[i.counter] += 1
                tokens.append(f"{label}+{i.counter}")
                label = i.next
            elif values[i.counter]:
                values[i.counter] -= 1
                tokens.append(f"{label}-{i.counter}")
                label = i.next
            else:
                tokens.append(f"{label}={i.counter}")
                label = i.otherwise
        halted = by_label[label].operation == "halt"
        return CounterRun(prompt, tuple(tokens), len(tokens), halted, values, label)

    def decode(self, tokens: str | Iterable[str]) -> CounterRun:
        names, ended = self.names_of(tokens)
        values = dict.fromkeys(self.counters, 0)
        label = self.instructions[0].label
        begin = after_prompt(names)
        for at, name in enumerate(names):
            outcome = self.outcomes.get(name)
            if (outcome is None) != (at < begin):
                raise SofthatError(
                    f"token {at + 1} is {name!r}: a prompt is one +counter for each unit, then "
                    f"{GO!r}, then steps"
                )
            if outcome is not None:
                values[outcome.counter] += outcome.change
                label = outcome.next
            elif name != GO:
                values[name[1:]] += 1
        steps = tuple(names[begin:])
        return CounterRun(tuple(names[:begin]), steps, len(steps), ended, values, label)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "program": [i.text for i in self.instructions]}

    def _input(self, initial: Any) -> dict[str, int]:
        values = dict.fromkeys(self.counters, 0)
        if initial is None:
            return values
        if not isinstance(initial, Mapping):
            raise SofthatError(
                f"the input of a counter machine is a dictionary of its counters, "
                f"{{{', '.join(f'{name!r}: 0' for name in self.counters[:3])}}}, not {initial!r}"
            )
        for name, value in initial.items():
            if name not in values:
                raise SofthatError(
                    f"the machine has no counter {name!r}: it has {shown(self.counters)}"
                )
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise SofthatError(f"counter {name} is {value!r}: give a whole number from 0 up")
            values[name] = value
        if sum(values.values()) > MOST_INPUT:
            raise SofthatError(
                f"an input of {sum(values.values()):,} units has as many tokens: no context is "
                f"longer than {MOST_INPUT:,}"
            )
        return values


def counter_machine(lines: Iterable[str]) -> CounterMachine:
    """The machine of a text's lines; `//` or `#` begins a comment."""
    instructions: dict[str, Instruction] = {}
    for number, line in enumerate(lines, start=1):
        text = line.split("//")[0].split("#")[0].strip()
        if not text:
            continue
        instruction = _instruction(text, number)
        if instruction.label in instructions:
            raise SofthatError(
                f"line {number}: the label {instruction.label!r} stands twice, so there would be "
                "a choice: rename one of them"
            )
        instructions[instruction.label] = instruction
    if not instructions:
        raise SofthatError("a counter machine without instructions: give lines `label: inc c next`")
    for i in instructions.values():
        for target in (i.next, i.otherwise):
            if target and target not in instructions:
                raise SofthatError(
                    f"{i.label}: there is no instruction {target!r} to go to: add a line "
                    f"`{target}: …` (or `{target}: halt`)"
                )
    return CounterMachine(tuple(instructions.values()))


_ARGUMENTS = {"inc": 2, "dec": 3, "halt": 0}


def _instruction(text: str, number: int) -> Instruction:
    label, colon, rest = text.partition(":")
    words = [label.strip(), *rest.split()]
    fits = colon and len(words) > 1 and _ARGUMENTS.get(words[1]) == len(words) - 2
    if not fits:
        raise SofthatError(
            f"line {number}: {text!r} is no instruction: write `label: inc c next`, `label: dec c "
            "next otherwise` or `label: halt`"
        )
    for word in words:
        if not _NAME.match(word):
            raise SofthatError(
                f"line {number}: {word!r} is no name: labels and counters are letters, digits and _"
            )
    return Instruction(*words)
