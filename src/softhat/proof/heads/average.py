"""Average: uniform attention, the mean of Σ a·bit over the positions that a mask lets through.

**Theorem 5** (`average` of proofs/Average.v). With no scores every weight is exp(0) = 1, so the
head returns Σ v_j / (number of positions, sinks included): nothing leaks, at any n.

**In floats** the values are multiples of a power of two, so their sum is exact while it stays
within what the accumulating format holds; the division rounds once, and what reads the mean
(`sign`) counts that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

from softhat.io.errors import VoidError
from softhat.numbers.rationals import grid_of
from softhat.numerics.formats import Format
from softhat.proof.atoms import Range
from softhat.proof.cells import Cell, Mean, bits_of
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.reading import Reading
from softhat.proof.softmax import RowFact
from softhat.transformer.weights import Mask

NAMES = {"Average": "averages over positions with equal weights"}

_RANGES: dict[Mask, Range] = {"<=": "past", ">=": "future", "none": "total"}


@dataclass(frozen=True, slots=True)
class AverageKind(Kind):
    """Uniform attention. Values lie in [low, high], integers in units of `grid`."""

    CALLED = tuple(NAMES)
    NUMBERS = ("low", "high")
    bounds_weights = True

    over: Range
    low: float
    high: float
    grid: float
    mass: float
    """The largest Σ|a| of a value: no partial sum of a projection is larger."""
    weights: tuple[float, ...]

    @property
    def min_gap(self) -> float:
        return inf

    @property
    def leak(self) -> float:
        return 0.0

    def row(self, n: int, form: Format) -> RowFact:
        """That projections and sums are exact, in any order."""
        size = max(-self.low, self.high)
        if any(form.stored(weight) != weight for weight in self.weights):
            raise VoidError("a weight of the values is not representable")
        if self.weights and not form.holds(size, self.grid):
            raise VoidError("values are not representable")
        if self.weights and max(n * size, self.mass) > 2.0**form.sum_digits * self.grid:
            raise VoidError("sums of values are not exact")
        if max(n * size, self.mass) > form.summed.largest:
            raise VoidError("sums of values overflow")
        if n + 2 > 2.0**form.sum_digits:
            raise VoidError("the number of positions is not exact")
        return RowFact("uniform")


def fits(reading: Reading) -> bool:
    return not reading.scores.rows


def recognise(reading: Reading) -> tuple[Kind, list[Cell]]:
    head, space = reading.head, reading.atoms.space
    over = _RANGES[head.mask]
    low = high = mass = 0.0
    grid = inf
    means: list[Cell] = []
    weights: set[float] = set()
    for form in head.value:
        terms = [(Fraction(a), bit) for a, bit in bits_of(form, reading.cells, reading.atoms)]
        weights |= set(form.values())
        grid = min([grid, *map(grid_of, form.values())])
        mass = max(mass, sum(map(abs, form.values())))
        bounds = space.range_of_sum(terms)
        low, high = min(low, float(bounds[0])), max(high, float(bounds[1]))
        means.append(Mean(over, tuple(terms), reading.number))
    return AverageKind(over, low, high, grid, mass, tuple(sorted(weights))), means
