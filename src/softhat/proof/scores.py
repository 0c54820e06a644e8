"""Rounding errors of scores: projections, products, sums in any order.

**Sums.** Terms that are multiples of a power of two g add up without error while the positive
and the negative ones each stay within 2^p·g. A term that is not costs at most the spacing G of
the largest partial sum: on its way through the additions it is rounded to ever coarser powers of
two, each at most half of that spacing off, and 1/2 + 1/4 + … of G is at most G; its own product
is the first of these roundings. So F such terms cost at most F·G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import inf, nextafter
from operator import add, mul
from typing import NamedTuple

from softhat.io.errors import VoidError
from softhat.numbers.rationals import grid_of, power_of_two
from softhat.numerics.formats import Format
from softhat.transformer.weights import Attention

COARSE = "scores of neighbouring positions are rounded together"
BETA = "the inverse temperature is beyond the range of the format"
Number = float | Fraction
_SURE = 2.0**51
"""Multiples of a grid up to this many times it are added and multiplied exactly in float64."""
_EXACT = 1 << 53
"""Integers up to this are floats, and so are their quotients by powers of two up to this."""
_LINEAR = {"1": 0, "ordinary": 1, "i": 2, "r": 3}
"""Features that are a line along the word, and where a line has the coefficient of each. Anything
else has bounds, as constants."""
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
    scaled = scale(scores.attention, n)
    if not temperature_fits(scores.sharpness, scaled, form):
        raise VoidError(BETA)
    rows = [product.row(n) for product in products_of(scores, scaled, form)]
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


class StoredSide:
    """A side of a row in a number format, for words of one scale: what depends on the length is
    asked for."""

    def __init__(self, side: Side, scaled: float, form: Format) -> None:
        self.side, self.scaled, self.form = side, scaled, form
        self.grows = any(entry.base in ("i", "r") for entry in side)
        """Does it have positions, which grow with the word?"""
        self.lines = lines_of(side, scaled)

    @cached_property
    def _loaded(self) -> list[tuple[float, float, bool, float]]:
        """Of each weight: what storage takes off, its feature's unit, whether that grows with the
        length, and what the feature costs where storage rounds it to nothing."""
        form, entries = self.form, []
        for base, power, weight in self.side:
            loaded = form.stored(weight)
            if abs(loaded) > form.largest:
                raise VoidError(f"the weight {weight:g} overflows")
            off, lost = abs(loaded - weight), abs(weight) * form.smallest
            entries.append((off, self.scaled**power, base in ("i", "r"), lost))
        return entries

    def of_length(self, n: int) -> tuple[Projection, float]:
        """The projection and its error as stored."""
        return self._of_length(n) if self.grows else self._of_any_length

    @cached_property
    def _of_any_length(self) -> tuple[Projection, float]:
        return self._of_length(1)

    def _of_length(self, n: int) -> tuple[Projection, float]:
        """The error is that of its weights, its features, its sum and its storage.

        It is exact if weights and features are representable, every partial sum, which `mass`
        bounds, is a multiple of the grid that the accumulating format holds, and the sum is one
        that storage holds.
        """
        form = self.form
        exact = projection(self.lines, n)
        error = below = 0.0
        size = exact.size
        held = form.holds(size, exact.grid)
        relative = 0.0 if held else form.u
        if exact.mass > 2.0**form.sum_digits * exact.grid:
            relative += len(self.side) * form.u_sum
        features = True
        for off, unit, along, lost in self._loaded:
            reach = n * unit if along else unit
            error += off * reach
            if not form.holds(reach, unit):
                features = False
                below += lost
        if size + error > form.largest or exact.total + error > form.summed.largest:
            raise VoidError("positions times weights overflow")
        if not features:
            relative += 2.0**-form.digits
        if relative or not held:
            error += relative * (1 + relative) * exact.total + below
            error += form.smallest + len(self.side) * form.summed.smallest
        return exact, error * CARE


class ScoreRow:
    """A row of scores in a number format, for words of one scale: the product of two sides over
    all pairs of positions. What does not depend on the length is computed once."""

    def __init__(self, query: Side, key: Side, scaled: float, form: Format) -> None:
        self.query, self.key = (StoredSide(side, scaled, form) for side in (query, key))
        self.scaled = scaled
        self.grows = self.query.grows or self.key.grows
        lines = all(entry.base in _LINEAR for entry in (*query, *key))
        self.is_linear = lines and not (self.query.grows and self.key.grows)
        """In i."""

    def row(self, n: int) -> Row:
        return self._of_length(n) if self.grows else self._of_any_length

    @cached_property
    def _of_any_length(self) -> Row:
        return self._of_length(1)

    def _of_length(self, n: int) -> Row:
        scaled = self.scaled
        (one, off), (other, other_off) = self.query.of_length(n), self.key.of_length(n)
        error = (one.size * other_off + off * other.size + off * other_off) * scaled
        grid = one.grid * other.grid * scaled
        ends = [(x, y) for x in (one.low, one.high) for y in (other.low, other.high)]
        products = [x * y * scaled for x, y in ends]
        low, high = min(*products, 0.0), max(*products, 0.0)
        if max(-low, high) > _SURE * grid:
            factors = [(x.as_integer_ratio(), y.as_integer_ratio()) for x, y in ends]
            unit = max(d * e for (_, d), (_, e) in factors)  # powers of two
            exact = [a * b * int(scaled) * (unit // (d * e)) for (a, d), (b, e) in factors]
            low = min(0.0, outward(min(exact), unit, -1))
            high = max(0.0, outward(max(exact), unit, 1))
        return Row(low, high, grid, error)

    def magnitudes(self, start: int, n: int, row: Row) -> tuple[float, float]:
        """How large the row is where j = i, at most, in words of `start` to n symbols: where i = 1
        and where i is the last, if it is linear in i. Of any other row, its largest."""
        if not self.is_linear:
            return (max(-row.low, row.high),) * 2
        one, other = self.query.lines, self.key.lines
        firsts, lasts = [], []
        for m in {start, n}:
            products = map(mul, _corners(one.most, m), _corners(other.most, m))
            _, first, last, _ = map(abs, products)
            firsts.append(first)
            lasts.append(last)
        unit = one.unit * other.unit
        return max(firsts) / unit * self.scaled, max(lasts) / unit * self.scaled


@lru_cache(maxsize=1 << 11)
def products_of(scores: Scores, scaled: float, form: Format) -> tuple[ScoreRow, ...]:
    return tuple(ScoreRow(query, key, scaled, form) for query, key in scores.rows)


def projection(lines: Lines, n: int) -> Projection:
    """What a row can be at any position of any word of length n, and at the sinks."""
    unit = lines.unit
    above, below = _corners(lines.above, n), _corners(lines.below, n)
    return Projection(
        low=outward(min(_corners(lines.least, n)), unit, -1),
        high=outward(max(_corners(lines.most, n)), unit, 1),
        grid=lines.grid,
        mass=outward(max(*above, *below), unit, 1),
        total=outward(max(map(add, above, below)), unit, 1),
    )


_Line = Sequence[int]
"""Times 1, times `ordinary`, times i and times r."""


class Lines(NamedTuple):
    """A row's extremes at a position, as integers over `unit`, a power of two: integers of any size
    are exact, and need no greatest common divisors."""

    grid: float
    unit: int
    least: _Line
    most: _Line
    above: _Line
    """The positive terms."""
    below: _Line
    """The negative ones, less 0."""


@lru_cache(maxsize=1 << 12)
def lines_of(side: Side, scaled: float) -> Lines:
    grid = min(grid_of(entry.weight) * scaled**entry.power for entry in side)
    weights = [Fraction(entry.weight) * Fraction(scaled) ** entry.power for entry in side]
    unit = max(weight.denominator for weight in weights)
    least, most, above, below = ([0, 0, 0, 0] for _ in range(4))
    for entry, weight in zip(side, weights, strict=True):
        whole = weight.numerator * (unit // weight.denominator)
        at = _LINEAR.get(entry.base, 0)
        start = end = whole
        if entry.base == "(-1)^i":
            start, end = -abs(whole), abs(whole)
        elif entry.base not in _LINEAR:
            start, end = min(whole, 0), max(whole, 0)
        least[at] += start
        most[at] += end
        above[at] += max(end, 0)
        below[at] -= min(start, 0)
    return Lines(grid, unit, least, most, above, below)


def _corners(line: _Line, n: int) -> tuple[int, int, int, int]:
    """What is linear in i and r, where (i, r) is (1, 1), (1, n) and (n, 1), and at the sinks: it is
    nowhere smaller than the least of them, or larger than the largest."""
    constant, ordinary, i, r = line
    inside = constant + ordinary
    return inside + i + r, inside + i + n * r, inside + n * i + r, constant


def outward(numerator: int, unit: int, sign: int) -> float:
    """A rational as a float, rounded in the direction of `sign` if it is none."""
    nearest = numerator / unit
    if -_EXACT <= numerator <= _EXACT and unit <= _EXACT:
        return nearest
    over, under = nearest.as_integer_ratio()
    beyond = sign * (over * unit - numerator * under)
    return nextafter(nearest, sign * inf) if beyond < 0 else nearest


def total_of(rows: list[Row], sharpness: float, form: Format) -> ScoreTotal:
    operands = sum(row.error for row in rows)
    grid = min(row.grid for row in rows)
    size: Number = max(sum(row.high for row in rows), sum(-row.low for row in rows))
    if size > _SURE * grid:
        above = sum((Fraction(row.high) for row in rows), Fraction(0))
        below = sum((Fraction(-row.low) for row in rows), Fraction(0))
        size = max(above, below)
    largest = outward(*size.as_integer_ratio(), 1)
    spacing = form.grid(largest + operands)
    error = operands + spacing * sum(row.grid < spacing for row in rows)
    exact = 2.0**form.sum_digits * grid
    if not operands and max(max(-row.low, row.high) for row in rows) <= exact < largest:
        # Only partial sums beyond `exact` are rounded, each by no more than it is beyond.
        error = min(error, (len(rows) - 1) * float(size - Fraction(exact)))
    return ScoreTotal(largest * sharpness, grid * sharpness, error * sharpness * CARE)


def temperature_fits(sharpness: float, scaled: float, form: Format) -> bool:
    """Whether the inverse temperature is a number with all its digits where sums are taken."""
    return form.summed.smallest * 2.0**form.sum_digits <= sharpness * scaled <= form.summed.largest


def rounded(total: ScoreTotal, sharpness: float, size: float, form: Format) -> float:
    """The error of a stored score of at most `size`: multiplied by β, rounded to storage."""
    error = total.error
    if not power_of_two(sharpness):
        return (error + size * (3 * form.u_sum + 2 * form.u_score)) * CARE
    if form.u_score and (error or not form.holds_score(size, total.grid)):
        error += form.u_score * (size + error)
    return error * CARE
