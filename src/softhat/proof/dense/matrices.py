"""How far a disguised checkpoint's matrices are from the plain ones that they stand for.

Written for v̂ = (v, 1), the variables and 1, and Û, their directions and 1 (where there are no
biases, nothing reads the 1). Everything is measured on the weights themselves, in float64, whose
own rounding is added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.proof.stock.variables import Rows

Matrix = NDArray[np.float64]
SLACK = 2.0**-40
"""Far above what float64 rounds in sums of a few hundred terms, relative to their magnitudes."""


def spectral(matrix: Matrix) -> float:
    """The largest factor by which a matrix stretches a vector."""
    if not matrix.size:
        return 0.0
    return float(np.linalg.norm(matrix, 2)) * (1 + SLACK) + SLACK * frobenius(matrix)


def frobenius(matrix: Matrix) -> float:
    return float(np.sqrt((matrix**2).sum())) * (1 + SLACK)


def row_norms(rows: Matrix) -> Matrix:
    norms: Matrix = np.sqrt((rows**2).sum(axis=1))
    return norms


def widened(u: Matrix) -> Matrix:
    """Û: directions and 1."""
    wide = np.zeros((u.shape[0] + 1, u.shape[1] + 1))
    wide[:-1, :-1] = u
    wide[-1, -1] = 1.0
    return wide


def lifted(rows: Rows) -> Matrix:
    """Rows with their constants as a last column."""
    return np.column_stack([rows.weights, rows.constants]).astype(np.float64)


@dataclass(frozen=True)
class MatrixReading:
    """A matrix with a bias that reads the residual stream."""

    form: Matrix  # (variables, rows): the plain form
    bias: Matrix
    stretch: float
    """Spectral norm of the matrix."""
    whole: float
    """Its Frobenius norm."""
    offset: float
    """Norm of the bias."""
    ones: float
    """How far a shift of all coordinates of norm 1 moves it."""
    idle: float
    """How far the residual stream, per unit of norm, moves what the plain form does not read."""
    idle_bias: float


@dataclass(frozen=True)
class MatrixValues:
    """What a head's values read, and what becomes of them where they are written."""

    reading: MatrixReading
    written: Matrix  # (values, variables): the plain output matrix
    off: Matrix  # (variables + 1,): norms of the rows of Û'V̂O less the plain product
    rows: Matrix  # (values,): norms of what reads each value
    rows_ones: Matrix  # (values,): the same for a shift of all coordinates
    through: float
    """Spectral norm of the product of values and output, less what the values above write."""
    writing: float
    """Spectral norm of the output matrix, less what the values above write."""
    whole: float
    """Frobenius norm of the whole output matrix."""


def reading(u: Matrix, matrix: Matrix, form: Matrix, rows: Matrix) -> MatrixReading:
    """`matrix` and `form` with the bias as a last row; `rows`: the directions of the head's space
    to which the plain form's rows are written."""
    weights, bias, plain, offset = matrix[:-1], matrix[-1], form[:-1], form[-1]
    lifted = u @ plain @ rows
    return MatrixReading(
        form=plain,
        bias=offset,
        stretch=spectral(weights),
        whole=frobenius(weights),
        offset=frobenius(bias),
        ones=frobenius(weights.sum(axis=0)) / len(u) ** 0.5 + SLACK * frobenius(weights),
        idle=spectral(weights - lifted) + SLACK * frobenius(lifted),
        idle_bias=frobenius(bias - offset @ rows) + SLACK * frobenius(bias),
    )


def head_values(
    u: Matrix, matrix: Matrix, out: Matrix, form: Matrix, written: Matrix, rows: Matrix
) -> MatrixValues:
    """`matrix` (d_model + 1, d_head) and `out` (d_head, d_model) as they are, `form`
    (variables + 1, values) and `written` as they are claimed, `rows` (values, d_head) the values'
    directions."""
    through = matrix @ out
    read, lifted = matrix[:-1] @ rows.T, written @ u.T
    off = widened(u).T @ through - form @ written @ u.T
    norms = np.sqrt((off**2).sum(axis=1)) + SLACK * frobenius(matrix) * frobenius(out)
    norms += SLACK * frobenius(form) * frobenius(written)
    whole = SLACK * frobenius(matrix) * frobenius(out)
    return MatrixValues(
        reading=reading(u, matrix, form, rows),
        written=written,
        off=norms,
        rows=np.sqrt((read**2).sum(axis=0)) * (1 + SLACK),
        rows_ones=np.abs(read.sum(axis=0)) / len(u) ** 0.5 + SLACK * frobenius(read),
        through=spectral(through[:-1] - read @ lifted) + whole,
        writing=spectral(out - rows.T @ lifted) + SLACK * frobenius(out),
        whole=frobenius(out),
    )
