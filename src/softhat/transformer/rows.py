"""Rows of sparse matrices as linear forms in residual coordinates, in one number format."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.numbers.rationals import power_in
from softhat.numerics.formats import Format
from softhat.transformer.weights import Layer, Sparse

Row = tuple[tuple[int, float], ...]
"""A linear form in residual coordinates: (coordinate, weight)."""


class UnknownShapeError(SofthatError):
    """Weights that no closed form is known for: the model runs densely."""


def distinct_rows(matrix: Sparse) -> tuple[Sparse, NDArray[np.int64]]:
    """The distinct rows of a matrix, and for each row which of them it is."""
    rows, columns = matrix.where
    contents: list[list[tuple[int, float]]] = [[] for _ in range(matrix.shape[0])]
    for r, c, value in zip(rows.tolist(), columns.tolist(), matrix.values.tolist(), strict=True):
        contents[r].append((c, value))
    index: dict[tuple[tuple[int, float], ...], int] = {}
    share = np.array([index.setdefault(tuple(row), len(index)) for row in contents], np.int64)
    entries = [((at, c), value) for row, at in index.items() for c, value in row]
    return Sparse.of((len(index), matrix.shape[1]), entries), share


def rows_of(matrix: Sparse, form: Format) -> list[Row]:
    """The rows of a matrix as (column, weight) pairs."""
    rows: list[list[tuple[int, float]]] = [[] for _ in range(matrix.shape[0])]
    for r, c, w in matrix.entries(form.load(matrix.values)):
        rows[r].append((c, w))
    return [tuple(row) for row in rows]


def hidden_units(layer: Layer, form: Format) -> list[tuple[Row, list[tuple[float, Row]]]]:
    """A layer's hidden units by their sums: those with equal incoming weights share one, and have
    a bias and outgoing weights each."""
    distinct, share = distinct_rows(layer.into)
    out = rows_of(Sparse(layer.out.shape[::-1], layer.out.where[::-1], layer.out.values), form)
    bias = form.load(layer.into_bias).tolist()
    units: list[tuple[Row, list[tuple[float, Row]]]] = [
        (row, []) for row in rows_of(distinct, form)
    ]
    for unit, at in enumerate(share.tolist()):
        units[at][1].append((bias[unit], out[unit]))
    return units


def bit_rows(rows: Iterable[Row]) -> list[IntegerRow]:
    """Rows that read stored bits only."""
    integers = [IntegerRow(row) for row in rows]
    if any(abs(k) != 1 for row in integers for _, k in row.terms):
        raise UnknownShapeError("a value that is no stored bit")
    return integers


class IntegerRow:
    """A linear form as integers times one power of two."""

    def __init__(self, row: Row) -> None:
        if not all(isfinite(w) for _, w in row):
            raise UnknownShapeError("a value's weight is beyond the range of the format")
        fractions = [(c, Fraction(w)) for c, w in row if w]  # it may have underflown
        self.quantum = min((power_in(w) for _, w in fractions), default=Fraction(1))
        self.terms = tuple((c, int(w / self.quantum)) for c, w in fractions)
        self.largest = sum(abs(k) for _, k in self.terms)
        # The coordinate, where the row is simply one.
        self.plain = self.terms[0][0] if len(self.terms) == 1 and self.terms[0][1] == 1 else None
        if self.largest >= 2**62:
            raise UnknownShapeError("values that are no multiples of one unit in 64 bits")
