"""What rows of a disguised checkpoint read, one or several at a time, against the plain rows.

Constants are taken together: a row that reads 1 on one and -1 on another reads nothing, though each
of its weights is large. Like `matrices`, rows are written for (v, 1): a row's own constant is its
weight on the 1, which no norm scales.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.proof.dense.matrices import SLACK, Matrix
from softhat.proof.stock.storage import SECOND, U
from softhat.proof.stock.variables import Cell, ConstantCell

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class NormError:
    """What a norm does: a relative error of the scale, noise, and a shift of everything. `spread`:
    the scales of any two positions differ by at most twice this."""

    scale: float
    noise: float
    shift: float
    spread: float


@dataclass(frozen=True)
class HeldValues:
    """What the variables and 1 hold: constants, at the word's own positions and at `<bos>`, and how
    large the others may be."""

    constants: Matrix  # (variables + 1, 2)
    varying: Vector

    @staticmethod
    def of(cells: list[Cell], size: Vector) -> HeldValues:
        constants, varying = np.zeros((len(size) + 1, 2)), np.append(size, 0.0)
        for p, cell in enumerate(cells[: len(size)]):
            if isinstance(cell, ConstantCell):
                constants[p] = cell.ordinary, cell.bos
                varying[p] = 0.0
        constants[-1] = 1.0
        return HeldValues(constants, varying)

    def largest(self, rows: Matrix) -> Vector:
        """Of (…, k, variables + 1), the norm of the k numbers read."""
        return self._sizes(rows).max(axis=-1)

    def scaled(self, rows: Matrix) -> Vector:
        """The same of what a norm scales: all but the rows' own constants."""
        own = rows.copy()
        own[..., -1] = 0.0
        return self.largest(own)

    def at_ends(self, rows: Matrix) -> Matrix:
        """Of (rows, variables + 1), how large each is at the word's own positions, and at `<bos>`:
        (rows, 2)."""
        return self._sizes(rows[:, None])

    def _sizes(self, rows: Matrix) -> Matrix:
        fixed = np.sqrt(((rows @ self.constants) ** 2).sum(axis=-2))
        sizes: Matrix = fixed + (lengths(rows) @ self.varying)[..., None]
        return sizes


def lengths(rows: Matrix) -> Matrix:
    """Of (…, k, variables), for each variable the norm of its k weights."""
    norms: Matrix = np.sqrt((rows**2).sum(axis=-2))
    return norms


@dataclass(frozen=True)
class RowGroups:
    """Rows, k at a time: (groups, k, …)."""

    form: Matrix  # (groups, k, variables + 1): the plain form
    actual: Matrix  # (groups, k, d_model + 1)
    apart: Matrix  # (groups, k, variables + 1): what is read along each direction, less the form
    whole: Vector  # (groups,): norm of the rows together
    offset: Vector  # (groups,): and of their constants
    ones: Vector  # (groups,): how far a shift of all coordinates of norm 1 moves them

    @staticmethod
    def of(actual: Matrix, form: Matrix, wide: Matrix) -> RowGroups:
        """`actual` (groups, k, d_model + 1) against `form`, along the directions and 1, `wide`."""
        weights = actual[..., :-1]
        whole = np.sqrt((weights**2).sum(axis=(-2, -1))) * (1 + SLACK)
        ones = np.sqrt((weights.sum(axis=-1) ** 2).sum(axis=-1)) / weights.shape[-1] ** 0.5
        return RowGroups(
            form=form,
            actual=actual,
            apart=actual @ wide - form,
            whole=whole,
            offset=np.sqrt((actual[..., -1] ** 2).sum(axis=-1)) * (1 + SLACK),
            ones=ones + SLACK * whole,
        )


@dataclass(frozen=True)
class NormedStream:
    """What a norm returns: variables that hold `held`, off by `off`, of a norm of `reach` at most,
    in `d` coordinates, and what the norm itself is off."""

    d: int
    reach: float
    held: HeldValues
    off: Vector
    norm: NormError

    @property
    def whole(self) -> float:
        """Its norm, however far it is shifted."""
        return self.reach + self.norm.shift

    def magnitudes(self, rows: RowGroups) -> Vector:
        """Of each group, the norm of Σ |terms| of its rows."""
        return rows.whole * self.reach + rows.offset


def rounding(terms: int, magnitudes: Vector, totals: Vector) -> Vector:
    """Of dot products in float32: see `bounds`."""
    each = magnitudes + np.minimum(totals, magnitudes)
    rounded: Vector = SECOND * U * (terms / 2 * each + magnitudes)
    return rounded


def exactly_read(rows: RowGroups, stream: NormedStream) -> Vector:
    """Of each group, how far exact arithmetic is off the plain numbers, but for the norm's factor.
    Norms are over the k numbers of a group, so that a rotation among them changes nothing."""
    off, norm = np.append(stream.off, 0.0), stream.norm
    along = lengths(rows.form) @ off
    apart = stream.held.largest(rows.apart) + lengths(rows.apart) @ off
    apart = apart + SLACK * stream.magnitudes(rows)
    error: Vector = (1 + norm.scale) * (along + apart)
    return error + rows.whole * norm.noise + rows.ones * norm.shift


def read(rows: RowGroups, stream: NormedStream) -> tuple[Vector, Vector]:
    """Of each group: how large the plain numbers are, and how far what is read may be off, but for
    the norm's factor."""
    size = stream.held.largest(rows.form)
    error = exactly_read(rows, stream)
    total = (1 + stream.norm.scale) * size + error
    return size, error + rounding(stream.d, stream.magnitudes(rows), total)
