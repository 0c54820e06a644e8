"""The heads of a stock decoder as they are laid out: which signals they compute, by which scores.

A form reads what the residual stream holds by *keys*: registers of the program, and features, which
have names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from softhat.numbers.predicates import column
from softhat.program.heads import Average, Sign
from softhat.program.inputs import FirstPosition, PositionAtLeast, PositionIn, PositionMod
from softhat.program.literals import Literal
from softhat.program.registers import Register
from softhat.program.schedule import HeadGroup, Schedule
from softhat.program.signals import Program, Signal
from softhat.transformer.lowering.stock.constants import within_reach

ONE, BOS_PAIR, ORDINARY = "1", "<bos>", "ordinary"
Key = str | Register
Digits = tuple[tuple[int, bool], ...]
"""A conjunction: which digits of a position are 1 (or 0)."""


@dataclass(frozen=True, slots=True)
class PlannedCount:
    """A Sign as decoders compute it: first the mean of Σ a·bit - (c - 1/2)·bos, then its sign."""

    average: int
    terms: tuple[tuple[int, int], ...]
    threshold: int
    scale: float
    """V: the power of two >= every |value averaged| by which the values are divided."""
    largest: int
    """Of |Σ a·bit| at an ordinary position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StockLayout(ABC):
    """What the layouts of all architectures say: the program, its layers, where bits are stored,
    what is counted, and the sizes."""

    program: Program
    schedule: Schedule
    stored: dict[int, int]
    counts: dict[int, PlannedCount]
    pads: tuple[int, ...]
    mean_amplitude: float
    """Means of counts, which lie in [-1, 1], are multiplied by this power of two."""
    n_head: int
    place: dict[Key, int]
    """The variable of every register and feature."""
    digits: int
    """Of positions, in binary."""
    amplitude: float = 1.0
    """A: what a head has written is ±A."""
    first: int = 0
    """The block of the schedule's first layer: those before find the digits of positions."""
    tables: dict[int, list[Digits]] = field(default_factory=dict)
    """Signals that are predicates of the position, as conjunctions of digits."""

    @property
    @abstractmethod
    def variables(self) -> int:
        """How many there are: pairs of coordinates of a GPT-2, coordinates of a Llama."""

    @property
    @abstractmethod
    def head_size(self) -> int:
        """Rows of a head."""

    @property
    @abstractmethod
    def blocks(self) -> int:
        """There is at least one, even where there is nothing to compute."""

    @property
    def width(self) -> int:
        """Coordinates of a variable: the second has the other sign."""
        return 1

    @property
    def shared(self) -> int:
        """Query heads that a head of keys and values serves."""
        return 1

    @abstractmethod
    def placed(self) -> Iterator[PlacedHead]:
        """The heads of all blocks."""

    @abstractmethod
    def fillers(self) -> dict[int, Filler]:
        """What variables hold that are no constant 1, and have no place in the program."""

    def speaking(self, program: Program) -> Self:
        """The same layout of a program whose signals have other names."""
        return replace(self, program=program)


class PlacedHead(NamedTuple):
    """A head of a block, and the value coordinates of its targets."""

    layer: int
    number: int
    plan: StockHeadPlan
    places: list[int]


class Filler(NamedTuple):
    """A constant of this size that holds nothing of the program."""

    text: str
    size: float


@dataclass(frozen=True, slots=True)
class StockHeadPlan:
    """One head: a kind of the program's heads, with its fields, or a Digit of the position. An
    Average is listed by the Signs whose means it computes."""

    kind: str
    signals: tuple[int, ...] = ()
    bad: Literal | None = None
    queries: tuple[Literal, ...] = ()
    keys: tuple[Literal, ...] = ()
    distance: int = 0
    """How far before it looks, if that is fixed."""
    digit: int = -1
    values: tuple[Literal, ...] = ()
    """What it looks up, for each of its signals."""

    @property
    def targets(self) -> tuple[Key, ...]:
        """Where its values are written."""
        if self.kind == "Digit":
            return (bit(self.digit),)
        if self.kind == "Average":
            return tuple(map(mean_of, self.signals))
        return tuple(Register(signal, True) for signal in self.signals)


def bit(b: int) -> str:
    return f"bit {b} of the position"


def earlier_bit(b: int, distance: int) -> str:
    before = "before" if distance == 1 else f"{distance} before"
    return f"bit {b} of the position {before}"


def mean_of(sign: int) -> str:
    return f"mean for s{sign}"


def with_position_inputs(program: Program) -> Program:
    """Comparisons of `i` with a constant become inputs, like `first` and `mod`."""

    def changed(signal: Signal) -> Signal:
        match signal:
            case Sign(None, None, None, coefficient, 0, threshold):
                return PositionAtLeast(coefficient, threshold)
            case _:
                return signal

    return Program(
        signals=tuple(map(changed, program.signals)),
        labels=program.labels,
        outputs=program.outputs,
        symbols=program.symbols,
        propositional=program.propositional,
    )


def position_table(signal: Signal, context: int) -> NDArray[np.bool_] | None:
    """Where an input of the position alone holds: positions 0 (`<bos>`, never) to context - 1. In
    Python's integers, since moduli may be beyond int64."""
    index = range(context)
    match signal:
        case FirstPosition():
            return np.array([i == 1 for i in index])
        case PositionMod(modulus, remainder):
            return np.array([i > 0 and i % modulus == remainder for i in index])
        case PositionAtLeast(coefficient, threshold):
            return np.array([i > 0 and coefficient * i >= threshold for i in index])
        case PositionIn(predicate):
            return np.asarray(column(predicate, np.arange(context), context - 1), dtype=bool)
    return None


def heads_of(
    program: Program, group: HeadGroup, counts: dict[int, PlannedCount], d_head: int
) -> Iterable[StockHeadPlan]:
    """A group of equal scores as heads of at most d_head values each."""
    signal, signals = program.signals[group.signals[0]], group.signals
    if isinstance(signal, Average):
        signals = tuple(at for at, count in counts.items() if count.average in signals)
    kind = type(signal).__name__
    for start in range(0, len(signals), d_head):
        own = signals[start : start + d_head]
        values = [getattr(program.signals[at], "value", None) for at in own]
        yield StockHeadPlan(
            kind,
            own,
            bad=getattr(signal, "bad", None),
            queries=getattr(signal, "queries", ()),
            keys=getattr(signal, "keys", ()),
            distance=1 if kind == "Previous" else getattr(signal, "distance", 0),
            values=tuple(value for value in values if value is not None),
        )


def counts_of(program: Program, context: int) -> dict[int, PlannedCount]:
    counts = {}
    for at, signal in enumerate(program.signals):
        if not isinstance(signal, Sign):
            continue
        assert signal.past is not None
        terms, low, high, threshold = within_reach(program, signal, context)
        scale = 1.0
        while scale < max(high, -low, abs(threshold - 0.5)):
            scale *= 2
        counts[at] = PlannedCount(signal.past, terms, threshold, scale, max(high, -low))
    return counts


def mean_amplitude(largest: float, means: float, norm: float) -> float:
    """Of means whose squares at amplitude 1 add up to `means`: large, so that rounding does not
    drown a small mean, but their squares must not change that of the norm by more than 2^-19, which
    float32's other errors exceed."""
    amplitude = largest
    while means * amplitude**2 > norm * 2.0**-19:
        amplitude /= 2
    return amplitude
