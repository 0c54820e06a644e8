"""Attention programs: a DAG of inputs, Boolean gates and the few kinds of attention head.

A *signal* has a value at every position of a word: a bit, or for numeric heads a rational
number. Signals refer to earlier ones by index, so a program is a tuple in dependency order.
Constants occur only as outputs and where a head allows them, because a `Draft` folds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from softhat.program.gates import Gate, Total
from softhat.program.heads import Head
from softhat.program.inputs import Input
from softhat.program.literals import Literal, Places

Reader = Gate | Head
"""A signal that reads others."""
Signal = Input | Reader


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric output: Σ a·signal + constant, of bits and of what numeric heads return."""

    terms: tuple[tuple[Fraction, int], ...]
    constant: Fraction

    @property
    def reads(self) -> tuple[int, ...]:
        return tuple(read for _, read in self.terms)

    def moved(self, places: Places) -> Number:
        return Number(tuple((a, places[read]) for a, read in self.terms), self.constant)


@dataclass(frozen=True, slots=True)
class Program:
    """Signals in dependency order, a label for each, and the outputs: bits and numbers."""

    signals: tuple[Signal, ...]
    labels: tuple[str, ...]
    outputs: tuple[tuple[str, Literal], ...]
    symbols: tuple[str, ...]
    propositional: bool
    numbers: tuple[tuple[str, Number], ...] = ()

    def __repr__(self) -> str:
        return f"<softhat.Program {len(self.signals)} signals>"

    def label(self, literal: Literal) -> str:
        if literal.signal < 0:
            return "true" if literal.positive else "false"
        text = self.labels[literal.signal]
        return text if literal.positive else f"!({text})" if " " in text else f"!{text}"


def needed_by(program: Program, names: Iterable[str]) -> set[int]:
    """The signals that these outputs need."""
    outputs = dict(program.outputs)
    return with_all_read(program.signals, (outputs[name].signal for name in names))


def with_all_read(signals: Sequence[Signal], some: Iterable[int]) -> set[int]:
    """These signals, those that they read, and so on."""
    needed = {*some} - {-1}
    for at in range(len(signals) - 1, -1, -1):
        if at in needed:
            needed.update(read for read in reads(signals[at]) if read >= 0)
    return needed


def is_number(signal: Signal) -> bool:
    """Is its value a number, and no bit?"""
    return isinstance(signal, Total) or (isinstance(signal, Head) and signal.numeric)


def reads(signal: Signal) -> tuple[int, ...]:
    """The signals that `signal` reads."""
    return () if isinstance(signal, Input) else signal.reads


def moved(signal: Signal, places: Places) -> Signal:
    """`signal` with the signals that it reads renumbered."""
    return signal.moved(places) if isinstance(signal, Reader) else signal
