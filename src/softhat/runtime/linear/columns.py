"""The residual stream as one array a coordinate, and exact integers read from it.

Heads of compiled models read stored bits, which are exactly 0 or 1. That is checked wherever a
bit is read: a value in between means that a head upstream failed, which can only happen past
the certified length, and then there is no answer to give.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.transformer.rows import IntegerRow

Array = NDArray[Any]
Column = Array | None
"""None is a coordinate that is 0 everywhere."""


class View:
    """A stretch of positions in the order in which a head runs, with the bits read from it."""

    def __init__(self, columns: list[Column], size: int) -> None:
        self.columns = columns
        self.size = size
        self._integers: dict[int, Array] = {}

    def part(self, places: slice) -> View:
        """Some of the positions, in their order or turned around; what was read is not read
        again."""
        return _Part(self, places)

    def integers(self, c: int) -> Array:
        """Coordinate c as int8."""
        if c not in self._integers:
            column = self.columns[c]
            if column is None:
                self._integers[c] = np.zeros(self.size, np.int8)
            else:
                exact = column.astype(np.int8)
                if not np.array_equal(exact, column):
                    raise not_a_bit(float(column[int(np.argmax(exact != column))]))
                self._integers[c] = exact
        return self._integers[c]

    def floats(self, c: int) -> Array | float:
        """Coordinate c as float64."""
        column = self.columns[c]
        return 0.0 if column is None else column.astype(np.float64)

    def bits(self, row: IntegerRow) -> Array:
        """A row of stored bits that is itself a bit."""
        total: Array | None = None
        for c, k in row.terms:
            part = self.integers(c) if k == 1 else self.integers(c) * np.int8(k)
            total = part if total is None else total + part
        if total is None:
            return np.zeros(self.size, np.uint8)
        bits = total.view(np.uint8)
        if bits.max(initial=0) > 1:
            raise not_a_bit(float(total[int(np.argmax(bits > 1))]))
        return bits

    def total(self, row: IntegerRow) -> int:
        """The sum of a row of stored bits over all positions."""
        return sum(k * int(self.integers(c).sum(dtype=np.int64)) for c, k in row.terms)

    def sums(self, row: IntegerRow) -> Array:
        """A row of stored bits as int64."""
        total = np.zeros(self.size, np.int64)
        for c, k in row.terms:
            if k == 1:
                total += self.integers(c)
            elif k == -1:
                total -= self.integers(c)
            else:
                total += self.integers(c) * np.int64(k)
        return total


class _Part(View):
    """Some positions of a view. Columns that the view has read are not read again."""

    def __init__(self, whole: View, places: slice) -> None:
        super().__init__(whole.columns, len(range(*places.indices(whole.size))))
        self.whole = whole
        self.places = places

    def integers(self, c: int) -> Array:
        return self.whole.integers(c)[self.places]

    def floats(self, c: int) -> Array | float:
        column = self.whole.floats(c)
        return column if isinstance(column, float) else column[self.places]


class StoredColumns:
    """Columns of a piece, stored by one pass for the next: a bit a position if they are bits."""

    def __init__(self) -> None:
        self._bits: dict[int, Array] = {}
        self._others: dict[int, Array] = {}

    @property
    def columns(self) -> Set[int]:
        return self._bits.keys() | self._others.keys()

    def take(self, columns: list[Column], before: list[Column], wanted: Set[int]) -> None:
        """Keep the columns that have changed; the others are embedded again, or here already."""
        for c in self.columns | wanted:
            column = columns[c]
            if c in wanted and (column is None or column is before[c]):
                continue
            self._bits.pop(c, None)
            self._others.pop(c, None)
            if c not in wanted or column is None:
                continue
            bits = column == 1
            if np.array_equal(bits, column != 0):
                self._bits[c] = np.packbits(bits)
            else:
                self._others[c] = column

    def put_into(self, columns: list[Column], wanted: Set[int], size: int, dtype: Any) -> None:
        for c in self._bits.keys() & wanted:
            columns[c] = np.unpackbits(self._bits[c], count=size).astype(dtype)
        for c in self._others.keys() & wanted:
            columns[c] = self._others[c]


def not_a_bit(value: float) -> SofthatError:
    return SofthatError(
        f"a stored bit came out as {value:g} instead of 0 or 1: the word is too long for this "
        "number format (see linear_max_length); use a wider dtype"
    )
