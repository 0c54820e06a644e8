"""Rows: linear forms over residual coordinates that still have names.

A coordinate is a position feature or a register of the program. The score of key j for query i
is Σ_r query_r(x_i)·key_r(x_j).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from softhat.numbers.laws import Law
from softhat.numbers.positions import Feature, Named
from softhat.program.heads import Direction
from softhat.program.registers import Register
from softhat.transformer.weights import Mask

Key = Feature | Register
Row = dict[Key, float]

ONE = Named("1")
ORDINARY = Named("ordinary")
"""1 on the word's own positions, 0 at the sinks."""
ALTERNATING = Named("(-1)^i")
SINKS: dict[Feature | Register, float] = {ONE: 1.0, ORDINARY: -1.0}
"""1 at the sinks, 0 on the word's own positions."""


# Plain and scaled.
_I = Named("i"), Named("i", True)
_R = Named("r"), Named("r", True)
_UNIT = ORDINARY, Named("ordinary", True)


@dataclass(frozen=True, slots=True)
class PositionUnits:
    """How a target writes positions and sharpness into its weights.

    With unbounded positions the sharpness C is part of the weights and the temperature is 1. With
    temperature scaling positions are divided by P and the inverse temperature is C·P, so both
    targets have the same logits (Latest's losers excepted, which only get lower).
    """

    scaled: bool

    @property
    def i(self) -> Named:
        return _I[self.scaled]

    @property
    def r(self) -> Named:
        return _R[self.scaled]

    @property
    def unit(self) -> Named:
        """1 in the unit of positions, on ordinary positions."""
        return _UNIT[self.scaled]

    def toward(self, direction: Direction) -> Named:
        """The position feature that grows in the direction's past."""
        return self.i if direction == "past" else self.r

    def weight(self, value: float, sharpness: float) -> float:
        return value / sharpness if self.scaled else value


class RowPair(NamedTuple):
    """One row of a head's query matrix with the row of its key matrix that it meets."""

    query: Row
    key: Row


class HeadScores(NamedTuple):
    """What decides where a head attends: its name for people, its mask and its rows."""

    name: str
    mask: Mask
    pairs: list[RowPair]
    beta: float | None = None
    """The inverse temperature, for heads in whose scores positions play no part; the others have
    C, in their weights or, with temperature scaling, as C·P."""


@dataclass(frozen=True, slots=True)
class HeadRows:
    """One head: its scores, and for each signal that it computes a value and a target."""

    label: str
    scores: HeadScores
    law: Law
    """Of the inverse temperature."""
    values: tuple[Row, ...]
    targets: tuple[Register, ...]


def added(rows: list[Row]) -> Row:
    """The sum of rows."""
    total: Row = {}
    for row in rows:
        for at, weight in row.items():
            total[at] = total.get(at, 0.0) + weight
    return {at: weight for at, weight in total.items() if weight}


class Hidden(NamedTuple):
    """A hidden unit: ReLU(row + bias), times `out`."""

    row: Row
    bias: float
    out: Row


@dataclass(slots=True)
class LayerRows:
    """A layer while its coordinates still have names."""

    heads: list[HeadRows] = field(default_factory=list)
    hidden: list[Hidden] = field(default_factory=list)
    out_bias: dict[Key, float] = field(default_factory=dict)

    def rows(self) -> list[Row]:
        """All rows: what this layer reads and writes."""
        rows = [row for unit in self.hidden for row in (unit.row, unit.out)]
        for head in self.heads:
            rows += [row for pair in head.scores.pairs for row in pair]
            rows += head.values
        return rows
