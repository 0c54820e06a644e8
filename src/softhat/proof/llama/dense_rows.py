"""What rows of a disguised Llama read, one or a rotary pair at a time, against the plain rows.

Constants are taken together: a row that reads 1 on one and -1 on another reads nothing, though each
of its weights is large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.proof.dense.bounds import DenseBounds, NormError
from softhat.proof.dense.matrices import SLACK, Matrix
from softhat.proof.stock.variables import Cell, ConstantCell

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class HeldValues:
    """What the variables hold: constants, at the word's own positions and at `<bos>`, and how large
    the others may be."""

    constants: Matrix  # (variables, 2)
    varying: Vector

    @staticmethod
    def of(cells: list[Cell], size: Vector) -> HeldValues:
        constants = np.zeros((len(size), 2))
        varying = size.copy()
        for p, cell in enumerate(cells[: len(size)]):
            if isinstance(cell, ConstantCell):
                constants[p] = cell.ordinary, cell.bos
                varying[p] = 0.0
        return HeldValues(constants, varying)

    def largest(self, rows: Matrix) -> Vector:
        """Of (…, k, variables), the norm of the k numbers read."""
        fixed = np.sqrt(((rows @ self.constants) ** 2).sum(axis=-2)).max(axis=-1)
        norms: Vector = fixed + lengths(rows) @ self.varying
        return norms


def lengths(rows: Matrix) -> Matrix:
    """Of (…, k, variables), for each variable the norm of its k weights."""
    norms: Matrix = np.sqrt((rows**2).sum(axis=-2))
    return norms


@dataclass(frozen=True)
class RowGroups:
    """Rows, k at a time: (groups, k, …)."""

    actual: Matrix  # (groups, k, d_model)
    form: Matrix  # (groups, k, variables): the plain form
    apart: Matrix  # (groups, k, variables): what is read along each direction, less that
    whole: Vector  # (groups,): norm of the rows together

    @staticmethod
    def of(actual: Matrix, form: Matrix, u: Matrix) -> RowGroups:
        """`actual` (groups, k, d_model) against `form`."""
        whole = np.sqrt((actual**2).sum(axis=(-2, -1))) * (1 + SLACK)
        return RowGroups(actual, form, actual @ u - form, whole)


def exactly_read(
    bounds: DenseBounds, rows: RowGroups, held: HeldValues, off: Vector, norm: NormError
) -> Vector:
    """Of each group, how far exact arithmetic is off the plain numbers, but for the norm's factor.
    Norms are over the k numbers of a group, so that a rotation among them changes nothing."""
    along = lengths(rows.form) @ off
    apart = held.largest(rows.apart) + lengths(rows.apart) @ off
    apart = apart + SLACK * rows.whole * bounds.reach
    error: Vector = (1 + norm.scale) * (along + apart) + rows.whole * norm.noise
    return error


def read(
    bounds: DenseBounds, rows: RowGroups, held: HeldValues, off: Vector, norm: NormError
) -> tuple[Vector, Vector]:
    """Of each group: how large the plain numbers are, and how far what is read may be off."""
    size = held.largest(rows.form)
    error = exactly_read(bounds, rows, held, off, norm)
    total = (1 + norm.scale) * size + error
    return size, error + bounds.roundings(rows.whole * bounds.reach, total)
