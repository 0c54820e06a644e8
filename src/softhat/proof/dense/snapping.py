"""Short binary fractions, recovered from numbers that a random basis has rounded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.dense.matrices import Matrix, row_norms
from softhat.proof.stock.storage import U

NEAR = 8 * U
"""Weights are rounded, and so are directions: a reading is off by a few units of the whole."""


def snapped(values: Matrix, near: Matrix | float) -> Matrix:
    """Each value's nearest binary fraction with the fewest digits that is `near` enough."""
    near = np.broadcast_to(near, values.shape)
    fractions = np.zeros(values.shape)
    left = np.abs(values) > near
    largest = float(np.abs(values).max(initial=1.0))
    unit = 2.0 ** np.ceil(np.log2(largest))
    for _ in range(80):
        if not left.any():
            break
        tried = np.round(values / unit) * unit
        good = left & (np.abs(values - tried) <= near)
        fractions[good] = tried[good]
        left &= ~good
        unit /= 2
    fractions[left] = values[left]
    return as_float32(fractions).astype(np.float64)  # what is derived from, and compared with


def along(rows: Matrix, basis: Matrix) -> Matrix:
    """Rows along the directions that are the columns of `basis`."""
    return snapped(rows @ basis, NEAR * row_norms(rows)[:, None])


def read_rows(table: NDArray[np.float32], basis: Matrix) -> Matrix:
    """The rows of a table along the directions."""
    return along(table.astype(np.float64), basis)


def read_logits(rows: NDArray[np.float32], basis: Matrix, in_units: bool) -> tuple[Matrix, float]:
    """The rows of a read-out along the directions, and their unit: the largest entry, where only
    signs and ratios are read."""
    if rows.ndim != 2 or rows.shape[1] != len(basis):
        raise VoidError("the read-out does not read the residual stream")
    along = rows.astype(np.float64) @ basis
    scale = float(np.abs(along).max(initial=0.0)) if in_units else 1.0
    if scale <= 0:
        raise VoidError("the read-out reads nothing")
    near = NEAR * float(np.sqrt((rows.astype(np.float64) ** 2).sum()))
    return snapped(along / scale, near / scale), scale


def as_float32(array: Matrix) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return array.astype(np.float32)
