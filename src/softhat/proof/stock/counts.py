"""Heads that compare counts: means over the past, and their signs.

A mean is over j <= i, `<bos>` included, whose value is the comparison's constant. Positions may be
counted too: #(i <= m) says the same of all words up to the context as a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from softhat.io.errors import VoidError
from softhat.numbers.rationals import common_divisor, grid_of
from softhat.proof.atoms import CountSum
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.variables import Cell, Form, MeanCell, function_of, literal, split


@dataclass(frozen=True, slots=True)
class MeanCount:
    """What an Average's value averages: multiples of the power of two `unit` of at most `size` at
    ordinary positions, `bos` at `<bos>`, all multiples of `grid`; i+1 times the mean is never
    nearer to 0 than `least`."""

    size: float
    bos: float
    unit: float
    grid: float
    least: float


def averaged(
    values: list[Form],
    weights: list[float],
    cells: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    where: str,
) -> tuple[list[Cell], tuple[MeanCount, ...]]:
    """Theorem 19. Without scores a head gives the mean of its values over j <= i, rounded once:
    what it writes, with these weights, and what it counts."""
    made: list[Cell] = []
    counts: list[MeanCount] = []
    for form, weight in zip(values, weights, strict=True):
        found = split(form, cells)
        if found.others:
            raise VoidError(f"{where} averages something that is not a stored bit")
        base = found.ordinary - sum(found.bits.values(), Fraction(0))
        terms = tuple((2 * w, function_of(cells[p])) for p, w in found.bits.items())
        if weight <= 0:
            raise VoidError(f"{where} writes a mean with a weight that is not positive")
        low, high = atoms.space.range_of_sum([*terms, (base, atoms.space.true)])
        size = max(abs(low), abs(high))
        made.append(MeanCell(terms, base, found.bos, float(size), weight, number))
        unit = common_divisor([base, *(a for a, _ in terms)])
        least, _ = nearest(found.bos, unit)
        grid = common_divisor([unit, found.bos])
        sizes = (float(size), float(found.bos), grid_of(unit), grid_of(grid), float(least))
        counts.append(MeanCount(*sizes))
    return made, tuple(counts)


def compared(
    query: Form,
    key: Form,
    root: float,
    values: list[Form],
    cells: list[Cell],
    atoms: BoundedAtoms,
    level: int,
    where: str,
) -> tuple[int, Fraction]:
    """Theorem 20. Scores S·x_i on ordinary j and 0 on `<bos>` give the ordinary positions all but
    e^-s of the weight if S·x_i >= s, and at most n·e^-s if S·x_i <= -s. The mean x_i is
    (integer multiple of a unit + constant)/(i+1), never nearer to 0 than its least/(i+1): what the
    comparison computes, and S·least. Scores are query·key/root."""
    means = [(cells[p], w) for p, w in query.weights.items()]
    if len(means) != 1 or query.constant or not isinstance(means[0][0], MeanCell):
        raise VoidError(f"{where} has scores that no kind of head has")
    mean, weight = means[0]
    assert isinstance(mean, MeanCell)
    against = split(key, cells)
    if against.bits or against.others or against.bos != 0 or against.ordinary == 0:
        raise VoidError(f"{where} does not compare the word's own positions with <bos>")
    slope = Fraction(weight) * Fraction(mean.amplitude) * against.ordinary / Fraction(root)
    if slope < 0:
        raise VoidError(f"{where} attends to the word where the mean is negative")
    unit = common_divisor([mean.base, *(a for a, _ in mean.terms)])
    least, threshold = nearest(mean.bos, unit)
    if not least:
        raise VoidError(f"{where} compares nothing, or the sign of 0 would decide")
    total = CountSum()  # without a unit nothing is counted, and the constant alone decides
    if unit:
        for a, f in mean.terms:
            total = total.plus(CountSum({("past", f): 1}), int(a / unit))
        total = total.plus(CountSum(position=1), int(mean.base / unit))
    function = atoms.at_least(total, threshold, level)
    if any(literal(f, cells, atoms, f"{where}: a value") != atoms.space.true for f in values):
        raise VoidError(f"{where} compares, but its value is not 1 on the word's own positions")
    return function, slope * least


def nearest(constant: Fraction, unit: Fraction) -> tuple[Fraction, int]:
    """The least |unit·m + constant| over integers m, and the least m for which it is positive."""
    if not unit:  # m = 0: 0 >= 0 holds, and 0 >= 1 does not
        return abs(constant), 0 if constant > 0 else 1
    threshold = ceil(-constant / unit)
    up = unit * threshold + constant
    return min(up, unit - up), threshold
