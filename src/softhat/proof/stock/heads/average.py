"""Average: the mean over the past of what a comparison counts.

**Theorem 19.** Without scores a head gives the mean of its values over j <= i, rounded once.
`<bos>` is one of the j: its value is the comparison's constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softhat.io.errors import VoidError
from softhat.numbers.rationals import common_divisor, grid_of
from softhat.proof.softmax import RowFact
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.counts import MeanCount, nearest
from softhat.proof.stock.kind import HeadForms, StockHead, StockScores
from softhat.proof.stock.variables import Cell, MeanCell, function_of, split


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AverageHead(StockHead):
    """Softmax of 0."""

    kind = "Average"
    uniform = True

    def fact(self, scores: StockScores) -> RowFact:
        return RowFact("uniform", seen=scores.keys)


def fits(h: HeadForms, cells: list[Cell]) -> bool:
    return not h.used


def recognise(
    h: HeadForms, cells: list[Cell], atoms: BoundedAtoms
) -> tuple[AverageHead, list[Cell]]:
    means: list[Cell] = []
    counts: list[MeanCount] = []
    for form, weight in zip(h.values, h.targets, strict=True):
        parts = split(form, cells)
        if parts.others:
            raise VoidError(f"{h.where} averages something that is not a stored bit")
        base = parts.ordinary - sum(parts.bits.values(), Fraction(0))
        terms = tuple((2 * w, function_of(cells[p])) for p, w in parts.bits.items())
        if weight <= 0:
            raise VoidError(f"{h.where} writes a mean with a weight that is not positive")
        low, high = atoms.space.range_of_sum([*terms, (base, atoms.space.true)])
        size = max(abs(low), abs(high))
        means.append(MeanCell(terms, base, parts.bos, float(size), weight, h.number))
        unit = common_divisor([base, *(a for a, _ in terms)])
        least, _ = nearest(parts.bos, unit)
        grid = common_divisor([unit, parts.bos])
        sizes = (float(size), float(parts.bos), grid_of(unit), grid_of(grid), float(least))
        counts.append(MeanCount(*sizes))
    return AverageHead(block=h.block, head=h.head, counts=tuple(counts)), means
