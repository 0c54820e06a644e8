"""The heads of a stock decoder as they are laid out: which signals they compute, by which scores.

A form reads what the residual stream holds by *keys*: registers of the program, and features, which
have names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from softhat.program.heads import Average, Sign
from softhat.program.inputs import PositionAtLeast
from softhat.program.literals import Literal
from softhat.program.registers import Register
from softhat.program.schedule import HeadGroup, Schedule
from softhat.program.signals import Program, Signal
from softhat.transformer.lowering.stock.constants import within_reach

ONE, BOS_PAIR, ORDINARY = "1", "<bos>", "ordinary"
Key = str | Register


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
class StockLayout:
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

    def speaking(self, program: Program) -> Self:
        """The same layout of a program whose signals have other names."""
        return replace(self, program=program)


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
