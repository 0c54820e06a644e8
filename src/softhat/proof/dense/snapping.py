"""Short binary fractions, found again in what a random basis has rounded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softhat.formats import FORMATS

Matrix = NDArray[np.float64]
U = 2.0 ** -FORMATS["float32"].digits
NEAR = 8 * U
"""Weights are rounded, and so are directions: a reading is off by a few units of the whole."""


def snapped(values: Matrix, near: Matrix | float) -> Matrix:
    """Each value's nearest binary fraction with the fewest digits that is `near` enough."""
    near = np.broadcast_to(near, values.shape)
    found = np.zeros(values.shape)
    left = np.abs(values) > near
    largest = float(np.abs(values).max(initial=1.0))
    unit = 2.0 ** np.ceil(np.log2(largest))
    for _ in range(80):
        if not left.any():
            break
        tried = np.round(values / unit) * unit
        good = left & (np.abs(values - tried) <= near)
        found[good] = tried[good]
        left &= ~good
        unit /= 2
    found[left] = values[left]
    return as_float32(found).astype(np.float64)  # what is derived from, and compared with


def read_rows(table: NDArray[np.float32], basis: Matrix) -> Matrix:
    """The rows of a table along the directions that are the columns of `basis`."""
    rows = table.astype(np.float64)
    near = NEAR * np.sqrt((rows**2).sum(axis=1))
    return snapped(rows @ basis, near[:, None])


def read_logits(rows: NDArray[np.float32], basis: Matrix, scale: float | None = None) -> Matrix:
    """The rows of a read-out, in units of `scale` (of none: as they are)."""
    near = NEAR * float(np.sqrt((rows.astype(np.float64) ** 2).sum()))
    unit = 1.0 if scale is None else scale
    return snapped(rows.astype(np.float64) @ basis / unit, near / unit)


def as_float32(array: Matrix) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return array.astype(np.float32)
