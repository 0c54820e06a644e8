"""What a sublayer of a plain checkpoint reads in a storage format, and how far its sums are off.

Rows over variables are sums of products, as many for each weight as a variable has coordinates, and
a constant. In float32 they carry what variables are off by, what the norm does, and their own
rounding; in small formats bits are read exactly, and short multiples of a power of two add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softhat.numbers.rationals import grid_of, grids_of
from softhat.numerics.formats import Format
from softhat.proof.stock.norms import NormFactor
from softhat.proof.stock.rotary import StoredRows
from softhat.proof.stock.storage import AS_READ, MEANS_AS_READ, SECOND, U
from softhat.proof.stock.variables import Cell, ConstantCell, MeanCell, RawCell, Rows, magnitude

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StockReading:
    """What variables hold, how far each may be off before the norm, and what the norm does."""

    cells: list[Cell]
    off: Vector
    norm: NormFactor
    storage: Format
    coordinates: int
    """Of a variable: products a weight."""

    @property
    def exact(self) -> bool:
        """Everything but means is read as exactly what it is."""
        return self.norm.exact

    def unscaled(self) -> StockReading:
        """The same, but for the norm's factor, which all that a sum reads has in common."""
        return replace(self, norm=replace(self.norm, scale=0.0))

    @cached_property
    def held(self) -> Vector:
        """No variable is larger than this before it is off."""
        return np.array([magnitude(cell) for cell in self.cells])

    @cached_property
    def sizes(self) -> Vector:
        """Nor than this as it is read. What is exact is not larger at all; bits, as stored, and the
        norm's factor are off by less than SMALL, and so are means (`plain_bounds.mean_error`)."""
        means = np.array([isinstance(cell, MeanCell) for cell in self.cells])
        care = 1.0 if self.exact else AS_READ
        mean = AS_READ if self.storage.wide else MEANS_AS_READ
        return self.held * np.where(means, mean, care)

    @cached_property
    def steps(self) -> Vector:
        """The power of two that all values of a variable are multiples of: of means, none."""
        return np.array([_step(cell) for cell in self.cells]) / self.coordinates

    def reach(self, rows: Rows) -> Vector:
        """Σ |weight·variable| + |constant| of each row: no partial sum is larger, in any order."""
        read = self.sizes + (0.0 if self.exact else self.norm.mean)
        return np.asarray(_sizes(rows) @ read + np.abs(rows.constants), np.float64)

    def grids(self, rows: Rows) -> Vector:
        """Of each row, a power of two that all its products and its constant are multiples of."""
        grids = grids_of(rows.constants)
        row, p = np.nonzero(rows.weights)
        np.minimum.at(grids, row, grids_of(rows.weights[row, p]) * self.steps[p])
        return grids

    def rounding(self, rows: Rows) -> Vector:
        """Of adding up each row in float32 in any order: zeros add nothing."""
        terms = self.coordinates * (rows.weights != 0).sum(axis=1) + 1
        reach = _sizes(rows) @ (self.sizes + self.norm.mean) + np.abs(rows.constants)
        return np.asarray(terms * U * reach, np.float64)

    def errors(self, rows: Rows) -> Vector:
        """How far each row may be off before it is stored. Sums of few digits are exact, where no
        norm's mean stands beside a 0."""
        if self.exact:
            adds = (self.norm.mean == 0) & (self.reach(rows) <= 2.0**23 * self.grids(rows))
            return np.where(adds, 0.0, self.rounding(rows))
        # What is read is the half of the difference of two coordinates, or one: of both the norm's
        # mean is lost but for what it rounds.
        drowned = 2 * self.storage.unit * self.norm.mean + 2 * self.storage.floor
        off = SECOND * self.off + (self.norm.scale + 3 * U) * self.held + drowned
        return np.asarray(_sizes(rows) @ off + self.rounding(rows), np.float64)

    def holds(self, rows: Rows) -> NDArray[np.bool_]:
        """Where bits and constants are exact, rows of few digits are held exactly."""
        reach, grids = self.reach(rows), self.grids(rows)
        return (reach <= grids / self.storage.unit) & (reach <= 2.0**23 * grids)

    def stored(self, rows: Rows) -> StoredRows:
        """Queries or keys as stored. Small formats hold them exactly, or round them."""
        size, off = self.reach(rows), self.errors(rows)
        if not self.storage.wide:
            rounded = off + self.storage.unit * size + self.storage.floor
            off = np.where(self.holds(rows), 0.0, rounded)
        return StoredRows(size, off)


def _sizes(rows: Rows) -> Vector:
    return np.abs(rows.weights.astype(np.float64))


def _step(cell: Cell) -> float:
    match cell:
        case ConstantCell(ordinary, bos):
            return min(grid_of(ordinary), grid_of(bos))
        case RawCell(amplitude=amplitude):
            return grid_of(amplitude)
        case MeanCell():
            return 0.0
    return 1.0
