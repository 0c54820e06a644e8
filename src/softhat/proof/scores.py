"""Rounding errors of scores: projections, products, sums in any order.

**Sums.** Terms that are multiples of a power of two g add up without error while the positive
and the negative ones each stay within 2^p·g. A term that is not costs at most the spacing G of
the largest partial sum: on its way through the additions it is rounded to ever coarser powers of
two, each at most half of that spacing off, and 1/2 + 1/4 + … of G is at most G; its own product
is the first of these roundings. So F such terms cost at most F·G.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import frexp, inf, nextafter
from typing import NamedTuple

from softhat.io.errors import VoidError
from softhat.numbers.rationals import grid_of
from softhat.numerics.formats import Format
from softhat.transformer.weights import Attention

COARSE = "scores of neighbouring positions are rounded together"
BETA = "the inverse temperature is beyond the range of the format"
Number = float | Fraction
_SURE = 2.0**51
"""Multiples of a grid up to this many times it are added and multiplied exactly in float64."""
_NONE: Number = 0
_LINEAR = {"1", "ordinary", "i", "r"}
"""Features that are a line along the word."""
CARE = 1 + 1e-9
"""For the roundings of this computation itself."""


class WeightEntry(NamedTuple):
    """One weight of a query or key row: of a feature (`base`·P^power), a bit or a mean."""

    base: str
    power: int
    weight: float


Side = tuple[WeightEntry, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """The rows as numbers, without coordinates: what rounding depends on."""

    attention: Attention
    sharpness: float
    rows: tuple[tuple[Side, Side], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A product of scores over all pairs of positions, in units of 1/(C·P) of the logit."""

    low: float
    high: float
    grid: float
    error: float
    """Of the operands: weights and projections that storage rounds."""


class Line(NamedTuple):
    """How much a row adds where j = i, at most, and takes off: where i = 1 and where i = n. In
    between it is at most what a straight line between the two says."""

    added: tuple[float, float]
    taken: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ScoreTotal:
    """A sum of rows, in logits: its size, the grid of exact scores, and the error of a score."""

    size: float
    grid: float
    error: float


def scale(attention: Attention, n: int) -> float:
    """P, the power of two that positions are divided by."""
    return float(1 << (n + 1).bit_length()) if attention == "temperature" else 1.0


def rows_of(scores: Scores, n: int, form: Format) -> list[Row]:
    if not temperature_fits(scores, n, form):
        raise VoidError(BETA)
    scaled = scale(scores.attention, n)
    rows = [row_of(query, key, n, scaled, form) for query, key in scores.rows]
    if sum(max(-row.low, row.high) + row.error for row in rows) > form.summed.largest:
        raise VoidError("the parts of scores overflow")
    return rows


@dataclass(frozen=True, slots=True)
class Projection:
    """A row's values over all positions: between `low` and `high`, multiples of `grid`."""

    low: float
    high: float
    grid: float
    mass: float
    """The positive terms, and the negative ones, each add up to at most this: so does every
    partial sum, in any order."""
    total: float
    """Σ|weight·value|, at most."""

    @property
    def size(self) -> float:
        return max(-self.low, self.high)


@lru_cache(maxsize=1 << 14)
def row_of(query: Side, key: Side, n: int, scaled: float, form: Format) -> Row:
    q, k = stored(query, n, scaled, form), stored(key, n, scaled, form)
    (one, _), (other, _) = q, k
    error = (one.size * k[1] + q[1] * other.size + q[1] * k[1]) * scaled
    grid = one.grid * other.grid * scaled
    ends = [(x, y) for x in (one.low, one.high) for y in (other.low, other.high)]
    products = [x * y * scaled for x, y in ends]
    low, high = min(*products, 0.0), max(*products, 0.0)
    if max(-low, high) > _SURE * grid:
        exact = [Fraction(x) * Fraction(y) * Fraction(scaled) for x, y in ends]
        low, high = min(0.0, outward(min(exact), -1)), max(0.0, outward(max(exact), 1))
    return Row(low, high, grid, error)


@lru_cache(maxsize=1 << 14)
def line_of(query: Side, key: Side, n: int, scaled: float, row: Row) -> Line:
    """The row at both ends, if it is linear in i: one side of constants, one of constants and
    positions. Of any other row, its extremes."""
    bases = [{entry.base for entry in side} for side in (query, key)]
    if all(base & {"i", "r"} for base in bases) or not set.union(*bases) <= _LINEAR:
        return Line((row.high, row.high), (-row.low, -row.low))
    products, off = [], 0.0
    for at in ({"i": 1, "r": n}, {"i": n, "r": 1}):
        one, other = (
            [entry.weight * scaled**entry.power * at.get(entry.base, 1) for entry in side]
            for side in (query, key)
        )
        products.append(sum(one) * sum(other) * scaled)
        off = max(off, sum(map(abs, one)) * sum(map(abs, other)) * scaled * 2.0**-49)
    first, last = products
    return Line(
        (max(0.0, first + off), max(0.0, last + off)),
        (max(0.0, off - first), max(0.0, off - last)),
    )


def stored(side: Side, n: int, scaled: float, form: Format) -> tuple[Projection, float]:
    """A projection and its error as stored: of its weights, its features, its sum, its storage.

    It is exact if weights and features are representable, every partial sum, which `mass`
    bounds, is a multiple of the grid that the accumulating format holds, and the sum is one
    that storage holds.
    """
    exact = projection(side, n, scaled)
    error = below = 0.0
    relative = form.u if not form.holds(exact.size, exact.grid) else 0.0
    if exact.mass > 2.0**form.sum_digits * exact.grid:
        relative += len(side) * form.u_sum
    features = True
    for entry in side:
        loaded = form.stored(entry.weight)
        if abs(loaded) > form.largest:
            raise VoidError(f"the weight {entry.weight:g} overflows")
        unit = scaled**entry.power
        reach = (n if entry.base in ("i", "r") else 1) * unit
        error += abs(loaded - entry.weight) * reach
        if not form.holds(reach, unit):
            features = False
            below += abs(entry.weight) * form.smallest
    if exact.size + error > form.largest or exact.total + error > form.summed.largest:
        raise VoidError("positions times weights overflow")
    if not features:
        relative += 2.0**-form.digits
    if relative or not form.holds(exact.size, exact.grid):
        error += relative * (1 + relative) * exact.total + below
        error += form.smallest + len(side) * form.summed.smallest
    return exact, error * CARE


@lru_cache(maxsize=1 << 14)
def projection(side: Side, n: int, scaled: float) -> Projection:
    """What a row can be at any position of any word of length n, and at the sinks."""
    grid = min(grid_of(entry.weight) * scaled**entry.power for entry in side)
    weights: list[Number] = [entry.weight * scaled**entry.power for entry in side]
    extremes = _extremes(side, weights, n)
    if extremes[2] > _SURE * grid:  # sums of floats are not exact here
        weights = [Fraction(e.weight) * Fraction(scaled) ** e.power for e in side]
        extremes = _extremes(side, weights, n)
    low, high, mass, total = extremes
    return Projection(outward(low, -1), outward(high, 1), grid, outward(mass, 1), outward(total, 1))


def _extremes(side: Side, weights: list[Number], n: int) -> tuple[Number, Number, Number, Number]:
    """Least and largest value, and the largest of the positive or negative terms and of all."""
    low: Number = inf
    high: Number = -inf
    mass: Number = 0
    total: Number = 0
    for i, r, ordinary in ((1, 1, 1), (1, n, 1), (n, 1, 1), (0, 0, 0)):
        least: Number = 0
        most: Number = 0
        above: Number = 0
        below: Number = 0
        for entry, weight in zip(side, weights, strict=True):
            start: Number
            end: Number
            match entry.base:
                case "1":
                    start = end = weight
                case "ordinary":
                    start = end = weight * ordinary
                case "i":
                    start = end = weight * i
                case "r":
                    start = end = weight * r
                case "(-1)^i":
                    end = weight if weight > 0 else -weight
                    start = -end
                case _:
                    start, end = (weight, _NONE) if weight < 0 else (_NONE, weight)
            least, most = least + start, most + end
            above = above + end if end > 0 else above
            below = below - start if start < 0 else below
        low, high = min(low, least), max(high, most)
        mass, total = max(mass, above, below), max(total, above + below)
    return low, high, mass, total


def outward(x: Number, sign: int) -> float:
    """A number as a float, rounded away from 0 in the direction of `sign` if it is none."""
    nearest = float(x)
    if not isinstance(x, Fraction) or Fraction(nearest) == x:
        return nearest
    return nextafter(nearest, sign * inf) if (nearest < x) == (sign > 0) else nearest


def total_of(rows: list[Row], sharpness: float, form: Format) -> ScoreTotal:
    operands = sum(row.error for row in rows)
    grid = min(row.grid for row in rows)
    size: Number = max(sum(row.high for row in rows), sum(-row.low for row in rows))
    if size > _SURE * grid:
        above = sum((Fraction(row.high) for row in rows), Fraction(0))
        below = sum((Fraction(-row.low) for row in rows), Fraction(0))
        size = max(above, below)
    largest = outward(size, 1)
    spacing = form.grid(largest + operands)
    error = operands + spacing * sum(row.grid < spacing for row in rows)
    exact = 2.0**form.sum_digits * grid
    if not operands and max(max(-row.low, row.high) for row in rows) <= exact < largest:
        # Only partial sums beyond `exact` are rounded, each by no more than it is beyond.
        error = min(error, (len(rows) - 1) * float(size - Fraction(exact)))
    return ScoreTotal(largest * sharpness, grid * sharpness, error * sharpness * CARE)


def temperature_fits(scores: Scores, n: int, form: Format) -> bool:
    """Whether the inverse temperature is a number with all its digits where sums are taken."""
    beta = scores.sharpness * scale(scores.attention, n)
    return form.summed.smallest * 2.0**form.sum_digits <= beta <= form.summed.largest


def rounded(total: ScoreTotal, sharpness: float, size: float, form: Format) -> float:
    """The error of a stored score of at most `size`: multiplied by β, rounded to storage."""
    error = total.error
    if not power_of_two(sharpness):
        return (error + size * (3 * form.u_sum + 2 * form.u_score)) * CARE
    if form.u_score and (error or not form.holds_score(size, total.grid)):
        error += form.u_score * (size + error)
    return error * CARE


def power_of_two(x: float) -> bool:
    return x > 0 and frexp(x)[0] == 0.5
