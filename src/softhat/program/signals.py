"""Attention programs: a DAG of Boolean gates and of the few kinds of attention head.

A *signal* has a value at every position of a word: a bit for all kinds but `Average`, whose
value is a rational number. Signals refer to earlier ones by index, so a program is a tuple in
dependency order. A *literal* is a signal or its negation; constants never occur in a program
except as an output, because `build` folds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice
from typing import NamedTuple

Direction = Choice["past", "future"]
Range = Choice["past", "future", "total"]


class Literal(NamedTuple):
    """A signal, or its negation. `signal` -1 is the constant true."""

    signal: int
    positive: bool

    def __invert__(self) -> Literal:
        return Literal(self.signal, not self.positive)


TRUE = Literal(-1, True)
FALSE = Literal(-1, False)


@dataclass(frozen=True, slots=True)
class TokenIn:
    """The symbol at i is one of these (in propositional mode: the one proposition holds at i)."""

    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FirstPosition:
    """i = 1."""


@dataclass(frozen=True, slots=True)
class LastPosition:
    """i = n."""


@dataclass(frozen=True, slots=True)
class PositionMod:
    """i ≡ remainder (mod modulus)."""

    modulus: int
    remainder: int


@dataclass(frozen=True, slots=True)
class And:
    """All literals hold. Or is the negation of the And of the negations."""

    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Xor:
    """Exactly one of two signals holds."""

    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Latest:
    """`value` at the last j <= i without `bad` (the first j >= i for the future), else 0.

    Requires that `value` implies not `bad`: then it is the hard attention that computes
    `f S g`, with bad = f ∧ ¬g and value = g: walk back to where the answer is decided.
    """

    bad: Literal
    value: Literal
    direction: Direction


@dataclass(frozen=True, slots=True)
class Previous:
    """`value` at i-1 (at i+1 for the future), 0 where there is no such position."""

    value: Literal
    direction: Direction


@dataclass(frozen=True, slots=True)
class Average:
    """Mean of Σ a·signal over a range of positions, the sinks (where it is 0) included.

    The mean is the sum over the ordinary positions of the range divided by i+1 for the past,
    n+2-i for the future and n+2 for the total.
    """

    terms: tuple[tuple[int, int], ...]
    """(coefficient, signal); signal -1 is the constant true, which is 0 at the sinks."""
    range: Range


@dataclass(frozen=True, slots=True)
class Sign:
    """1 if (sum of the averaged counts) + position·i + length·n >= threshold, else 0.

    Each average stands for the sum that it is the mean of.
    """

    past: int | None
    future: int | None
    total: int | None
    position: int
    length: int
    threshold: int

    @property
    def averages(self) -> tuple[int, ...]:
        return tuple(a for a in (self.past, self.future, self.total) if a is not None)


Signal = (
    TokenIn
    | FirstPosition
    | LastPosition
    | PositionMod
    | And
    | Xor
    | Latest
    | Previous
    | Average
    | Sign
)
Head = Latest | Previous | Average | Sign


@dataclass(frozen=True, slots=True)
class Program:
    """Signals in dependency order, the literal of each output, and a label for each signal."""

    signals: tuple[Signal, ...]
    labels: tuple[str, ...]
    outputs: tuple[tuple[str, Literal], ...]
    symbols: tuple[str, ...]
    propositional: bool

    def label(self, literal: Literal) -> str:
        if literal.signal < 0:
            return "true" if literal.positive else "false"
        text = self.labels[literal.signal]
        return text if literal.positive else f"!({text})" if " " in text else f"!{text}"


def inputs(signal: Signal) -> tuple[int, ...]:
    """The signals that `signal` reads."""
    match signal:
        case And(literals):
            return tuple(literal.signal for literal in literals)
        case Xor(left, right):
            return (left, right)
        case Latest(bad, value, _):
            return (bad.signal, value.signal)
        case Previous(value, _):
            return (value.signal,)
        case Average(terms, _):
            return tuple(read for _, read in terms if read >= 0)
        case Sign():
            return signal.averages
        case _:
            return ()
