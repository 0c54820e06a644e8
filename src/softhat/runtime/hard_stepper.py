"""An attention program one token at a time, in exact hard attention: constant work a token.

Every kind of head that looks back keeps what it needs: the last decided value (Latest), a sum
(Average), the last few values (Shift), and for each code the last value (Recall, which softhat's
own softmax architecture has no head for). The program is turned into the source of one Python
function, in which signals are local variables and only numbers occur; it is compiled once.
Conjunctions that nobody but an output reads are written where the output is asked for, so that
most of them are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softhat.io.errors import SofthatError
from softhat.numbers.predicates import column
from softhat.program.gates import And, Table, Xor
from softhat.program.heads import Average, Latest, Previous, Recall, Shift, Sign, StrictLatest
from softhat.program.inputs import (
    FirstPosition,
    PositionAtLeast,
    PositionBit,
    PositionIn,
    PositionMod,
    TokenIn,
)
from softhat.program.literals import Literal
from softhat.program.signals import Program, Signal, reads

Step = Callable[[int], int]
"""From a token's number to that of the first output that holds after it; -1 if none does."""


def hard_steps(program: Program) -> Callable[[], Step]:
    """Makes step functions, each with a state of its own at the start of a word."""
    if program.propositional:
        raise SofthatError("only words of symbols are generated, not sets of propositions")
    writer = _Writer(program)
    scope: dict[str, Any] = {"tables": writer.tables, "predicates": writer.predicates}
    exec(compile(writer.source(), "<attention program>", "exec"), scope)
    make: Callable[[], Step] = scope["make"]
    return make


class _Writer:
    """The source of a program's step."""

    def __init__(self, program: Program) -> None:
        self.program = program
        inputs = [at for at, s in enumerate(program.signals) if isinstance(s, TokenIn)]
        self.inputs = inputs
        self.tables = [
            tuple(symbol in self._token(at).symbols for at in inputs) for symbol in program.symbols
        ]
        """For each symbol the bits that it has."""
        self.predicates: list[Callable[[int], bool]] = []
        self.state: list[str] = []
        self.body: list[str] = []
        self.after: list[str] = []
        """What is remembered for the next position once all signals are known."""
        self.inlined = self._inlined()

    def _token(self, at: int) -> TokenIn:
        signal = self.program.signals[at]
        assert isinstance(signal, TokenIn)
        return signal

    def _inlined(self) -> set[int]:
        """Conjunctions that only outputs read, positively and once."""
        readers: dict[int, int] = {}
        for signal in self.program.signals:
            for read in reads(signal):
                readers[read] = readers.get(read, 0) + 1
        asked: dict[int, int] = {}
        for _, literal in self.program.outputs:
            asked[literal.signal] = asked.get(literal.signal, 0) + 1
        return {
            at
            for at, signal in enumerate(self.program.signals)
            if isinstance(signal, And) and at not in readers and asked.get(at) == 1
        }

    def source(self) -> str:
        for at, signal in enumerate(self.program.signals):
            if at not in self.inlined and not isinstance(signal, TokenIn):
                self.body.append(f"s{at} = {self._value(at, signal)}")
        answers = [
            f"if {self._output(literal)}: return {place}"
            for place, (_, literal) in enumerate(self.program.outputs)
        ]
        names = ", ".join(f"s{at}" for at in self.inputs)
        unpack = [f"{names}{',' if len(self.inputs) == 1 else ''} = tables[token]"]
        variables = [line.split(" = ")[0] for line in self.state if not line.startswith("m")]
        lines = ["def make():", *_indent(["n = 0", *self.state], 1), " def step(token):"]
        inside = [f"nonlocal {', '.join(['n', *variables])}", "n += 1"]
        inside += (unpack if self.inputs else []) + self.body + self.after + answers + ["return -1"]
        return "\n".join([*lines, *_indent(inside, 2), " return step", ""])

    def _output(self, literal: Literal) -> str:
        if literal.signal in self.inlined:
            signal = self.program.signals[literal.signal]
            assert isinstance(signal, And)
            text = self._all(signal.literals)
            return text if literal.positive else f"not ({text})"
        return self._literal(literal)

    def _literal(self, literal: Literal) -> str:
        if literal.signal < 0:
            return str(literal.positive)
        return f"s{literal.signal}" if literal.positive else f"not s{literal.signal}"

    def _all(self, literals: tuple[Literal, ...]) -> str:
        return " and ".join(map(self._literal, literals)) or "True"

    def _remember(self, at: int, start: str, then: str) -> str:
        """A variable that has its new value from the next position on."""
        self.state.append(f"h{at} = {start}")
        self.after.append(f"h{at} = {then}")
        return f"h{at}"

    def _value(self, at: int, signal: Signal) -> str:
        match signal:
            case FirstPosition():
                return "n == 1"
            case PositionMod(modulus, remainder):
                return f"n % {modulus} == {remainder}"
            case PositionAtLeast(coefficient, threshold):
                return f"{coefficient} * n >= {threshold}"
            case PositionBit(bit, position, 0, constant):
                return f"max(0, {position} * n + {constant}) >> {bit} & 1 == 1"
            case PositionIn(predicate):
                self.predicates.append(
                    lambda n: bool(column(predicate, np.array([n]), n)[0])  # no n: checked before
                )
                return f"predicates[{len(self.predicates) - 1}](n)"
            case And(literals):
                return self._all(literals)
            case Xor(left, right):
                return f"s{left} != s{right}"
            case Table(terms):
                return " or ".join(f"({self._all(term)})" for term in terms)
            case Latest(bad, value, "past"):
                self.state.append(f"h{at} = False")
                self.body.append(f"if not ({self._literal(bad)}): h{at} = {self._literal(value)}")
                return f"h{at}"
            case StrictLatest(bad, value, "past"):
                self.state.append(f"h{at} = False")
                self.after.append(f"if not ({self._literal(bad)}): h{at} = {self._literal(value)}")
                return f"h{at}"
            case Previous(value, "past"):
                return self._remember(at, "False", self._literal(value))
            case Shift(value, distance, "past"):
                self.state.append(f"m{at} = [False] * {distance}")
                self.after.append(f"m{at}[n % {distance}] = {self._literal(value)}")
                return f"m{at}[n % {distance}]"
            case Average(terms, "past"):
                summed = " + ".join(
                    f"{a} * {self._literal(Literal(read, True))}" for a, read in terms
                )
                self.state.append(f"h{at} = 0")
                self.body.append(f"h{at} += {summed or 0}")
                return f"h{at}"
            case Sign(past, None, None, position, 0, threshold):
                counted = "0" if past is None else f"s{past}"
                return f"{counted} + {position} * n >= {threshold}"
            case Recall(bad, queries, keys, value):
                return self._recall(at, bad, queries, keys, value)
        raise SofthatError(
            f"{self.program.labels[at]}: {type(signal).__name__} cannot be run one token after the "
            "other: only what looks back can be generated from"
        )

    def _recall(
        self,
        at: int,
        bad: Literal,
        queries: tuple[Literal, ...],
        keys: tuple[Literal, ...],
        value: Literal,
    ) -> str:
        self.state.append(f"m{at} = {{}}")
        self.body.append(
            f"if not ({self._literal(bad)}): m{at}[{self._code(keys)}] = {self._literal(value)}"
        )
        return f"m{at}.get({self._code(queries)}, False)"

    def _code(self, digits: tuple[Literal, ...]) -> str:
        return f"({', '.join(map(self._literal, digits))},)"


def _indent(lines: list[str], by: int) -> list[str]:
    return [" " * by + line for line in lines]
