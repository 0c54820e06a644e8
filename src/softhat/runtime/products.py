"""Matrix products with thin matrices: few coordinates, many positions.

BLAS starts its threads for any product that is large as a whole, but one of these has an inner
dimension of a handful, so it is bound by memory: threads gain nothing and, where the machine is
busy, cost ten times the work. So products are taken in strips that stay below the size at which
OpenBLAS (which NumPy brings along) goes parallel, and matrices that are almost all zero are
applied entry by entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.numerics.formats import Format
from softhat.transformer.rows import distinct_rows
from softhat.transformer.weights import Sparse

Array = NDArray[Any]

STRIP = 1 << 18
"""rows × columns × inner dimension up to which OpenBLAS uses one thread."""
LONG = 512
"""Positions from which a vector operation costs more than starting it."""
LARGE = 1 << 22
"""Entries up to which a matrix may be held densely."""
FULL = 1 / 4
"""Share of entries that are not 0 from which a matrix product is the faster way."""


def product(a: Array, b: Array) -> Array:
    """a @ b in strips."""
    (rows, inner), columns = a.shape, b.shape[1]
    if rows * inner * columns <= STRIP:
        return a @ b
    out = np.empty((rows, columns), a.dtype)
    if columns >= rows:
        width = max(2, STRIP // (rows * inner))
        for at in range(0, columns, width):
            np.matmul(a, b[:, at : at + width], out=out[:, at : at + width])
    else:
        height = max(2, STRIP // (columns * inner))
        for at in range(0, rows, height):
            np.matmul(a[at : at + height], b, out=out[at : at + height])
    return out


def products(a: Array, b: Array) -> Array:
    """a @ b of two stacks of matrices, each as `product` has it."""
    (_, rows, inner), columns = a.shape, b.shape[2]
    if rows * inner * columns <= STRIP:
        return a @ b
    return np.stack([product(one, other) for one, other in zip(a, b, strict=True)])


class SparseProduct:
    """x ↦ W x in a number format, before rounding; x is (inputs, positions)."""

    def __init__(self, matrix: Sparse, form: Format, many: int | None = None) -> None:
        """Rows with more than `many` entries are summed in float64."""
        self.shape = matrix.shape
        self.matrix = matrix
        self.values = form.load(matrix.values)
        self.full = len(self.values) >= FULL * matrix.size
        counts = np.bincount(matrix.where[0], minlength=self.shape[0])
        self.long = np.flatnonzero(counts > (matrix.size if many is None else many))
        self._dense: Array | None = None
        self._rows: list[tuple[int, list[tuple[int, Any]]]] | None = None

    def __call__(self, x: Array) -> Array:
        y = self._applied(x)
        if len(self.long) and x.dtype != np.float64:
            y[self.long] = product(self.dense[self.long].astype(np.float64), x.astype(np.float64))
        return y

    def _applied(self, x: Array) -> Array:
        if self.full or (x.shape[1] < LONG and self.matrix.size <= LARGE):
            return product(self.dense, x)
        y = np.zeros((self.shape[0], x.shape[1]), x.dtype)
        for r, entries in self.rows:
            total = y[r]
            (c, w), *rest = entries
            np.multiply(x[c], w, out=total)
            for c, w in rest:
                if w == 1:
                    total += x[c]
                elif w == -1:
                    total -= x[c]
                else:
                    total += x[c] * w
        return y

    @property
    def dense(self) -> Array:
        if self._dense is None:
            dense = np.zeros(self.shape, self.values.dtype)
            dense[self.matrix.where] = self.values
            self._dense = dense  # only when it is filled: other threads may be waiting for it
        return self._dense

    @property
    def rows(self) -> list[tuple[int, list[tuple[int, Any]]]]:
        """The entries of each row that has some."""
        if self._rows is None:
            rows: dict[int, list[tuple[int, Any]]] = {}
            places = zip(*(axis.tolist() for axis in self.matrix.where), strict=True)
            for (r, c), w in zip(places, self.values, strict=True):
                rows.setdefault(r, []).append((c, w))
            self._rows = list(rows.items())
        return self._rows


class SharedProduct:
    """The same, where equal rows of W share one sum."""

    def __init__(self, matrix: Sparse, form: Format) -> None:
        distinct, self.share = distinct_rows(matrix)
        self.distinct = SparseProduct(distinct, form)

    def __call__(self, x: Array) -> Array:
        sums: Array = self.distinct(x)[self.share]
        return sums
