"""Numbers that words have, where each depends on a few choices only.

The words of a batch are the choices on some *axes*, the first one the slowest: of all words of a
length, an axis for each letter; of any other batch one axis, the word itself. `Codes` are a small
number for each word, held once for all words that agree on a stretch of the axes. What a prefix
decides is held once a prefix, what a suffix decides once a suffix.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.intp]
ODD = np.uint64(0x9E3779B97F4A7C15)
"""Its powers mix the bits of a column."""
SPARSE = 4
"""Codes of more kinds than so many times as there are of them are sorted, not marked in a table."""


@dataclass(frozen=True, eq=False)
class Numbering:
    """For each choice on the axes from `low` to `high` a number below `count`."""

    numbers: Numbers
    low: int
    high: int
    count: int

    def renamed(self, names: Numbers, count: int) -> Numbering:
        """Number c is names[c] now."""
        if count == 1:
            return SAME
        return Numbering(names.take(self.numbers), self.low, self.high, count)


SAME = Numbering(np.zeros(1, np.intp), 0, 0, 1)
"""One number for all words."""


@dataclass(frozen=True, eq=False)
class PairNumbering:
    """A number for each pair of two numbers that occurs."""

    codes: Numbering
    left: int
    right: int
    """How many there are of the one and of the other."""
    occurring: Numbers | None
    """The pairs a·right + b that do; None if all do."""

    @cached_property
    def parts(self) -> tuple[Numbers, Numbers]:
        """Of each pair the one and the other."""
        if self.occurring is not None:
            return np.divmod(self.occurring, self.right)
        one, other = np.arange(self.left), np.arange(self.right)
        return np.repeat(one, self.right), np.tile(other, self.left)


@dataclass(frozen=True)
class Axes:
    """The axes of a batch, by how many choices each has."""

    sizes: tuple[int, ...]

    @property
    def words(self) -> int:
        return prod(self.sizes)

    def each(self, axis: int) -> Numbering:
        """The choice on an axis."""
        size = self.sizes[axis]
        return Numbering(np.arange(size), axis, axis + 1, size) if size > 1 else SAME

    def paired(self, a: Numbering, b: Numbering) -> PairNumbering:
        """Both at once: a number for each pair that occurs, in their order."""
        if b.count == 1 or a.count == 1:
            return PairNumbering(b if a.count == 1 else a, a.count, b.count, None)
        cuts = sorted({a.low, a.high, b.low, b.high})
        joined = self._stretched(a, cuts) * b.count + self._stretched(b, cuts)
        if len(cuts) == 4:  # neither may depend on what lies between them
            sizes = [prod(self.sizes[start:stop]) for start, stop in pairwise(cuts)]
            joined = np.broadcast_to(joined, sizes)
        pairs = Numbering(joined.reshape(-1), cuts[0], cuts[-1], a.count * b.count)
        if a.high <= b.low or b.high <= a.low:  # any with any
            return PairNumbering(pairs, a.count, b.count, None)
        pairs, occurring = compact(pairs)
        every = len(occurring) == a.count * b.count
        return PairNumbering(pairs, a.count, b.count, None if every else occurring)

    def together(self, every: Iterable[Numbering], most: int) -> tuple[Numbers, Numbers] | None:
        """A number for each word by all its codes, and a word of each number; None if that takes
        more than `most` numbers."""
        narrow_first = sorted(every, key=lambda codes: codes.high - codes.low)
        whole = SAME
        for codes in narrow_first:
            if whole.count * codes.count > SPARSE * self.words:  # pairs would be sorted each time
                kinds, numbers = np.unique(self._mixed(narrow_first), return_inverse=True)
                if len(kinds) > most:
                    return None
                some = _one_of_each(numbers, len(kinds))
                if all(self._same(codes, numbers, some) for codes in narrow_first):
                    return numbers, some
            whole = self.paired(whole, codes).codes
            if whole.count > most:
                return None
        numbers = self.spread(whole, np.arange(whole.count))
        return numbers, _one_of_each(numbers, whole.count)

    def _mixed(self, every: list[Numbering]) -> NDArray[np.uint64]:
        """For each word a number made of all its codes: words that differ hardly ever share it."""
        mixed = np.zeros(self.sizes, np.uint64)
        for codes, power in zip(every, odd_powers(len(every)), strict=True):
            own = (codes.numbers.astype(np.uint64) + power) * power
            own ^= own >> np.uint64(29)
            shape = [1] * len(self.sizes)
            shape[codes.low : codes.high] = self.sizes[codes.low : codes.high]
            mixed += (own * ODD).reshape(shape)
        return mixed.reshape(-1)

    def _same(self, codes: Numbering, numbers: Numbers, some: Numbers) -> bool:
        """Whether words of one number have one code."""
        of_kinds = self.of(codes, some)
        return np.array_equal(of_kinds.take(numbers), self.spread(codes, np.arange(codes.count)))

    def _stretched(self, codes: Numbering, cuts: list[int]) -> Numbers:
        """With an axis for each stretch between two cuts, of length 1 where the codes do not depend
        on it."""
        shape = [
            prod(self.sizes[start:stop]) if codes.low <= start and stop <= codes.high else 1
            for start, stop in pairwise(cuts)
        ]
        return codes.numbers.reshape(shape)

    def spread(self, codes: Numbering, values: NDArray[Any]) -> NDArray[Any]:
        """Of every word what `values` has for its number."""
        chosen = values.take(codes.numbers)
        around = prod(self.sizes[: codes.low]), prod(self.sizes[codes.high :])
        spread = np.broadcast_to(chosen[None, :, None], (around[0], len(chosen), around[1]))
        return spread.reshape(-1)

    def of(self, codes: Numbering, words: Numbers) -> Numbers:
        """The numbers of some words."""
        inner = prod(self.sizes[codes.low : codes.high])
        place = words // prod(self.sizes[codes.high :]) % inner
        return codes.numbers.take(place)


def _one_of_each(numbers: Numbers, count: int) -> Numbers:
    """Where each number below `count` stands."""
    places = np.empty(count, np.intp)
    places[numbers] = np.arange(len(numbers))
    return places


def compact(codes: Numbering) -> tuple[Numbering, Numbers]:
    """Only numbers that occur, in their order; and what they were."""
    if codes.count > SPARSE * len(codes.numbers) + 1024:
        occurring, numbers = np.unique(codes.numbers, return_inverse=True)
        names = None
    else:
        marked = np.zeros(codes.count, np.bool_)
        marked[codes.numbers] = True
        occurring = np.flatnonzero(marked)
        if len(occurring) == codes.count:
            return codes, occurring
        names = np.empty(codes.count, np.intp)
        names[occurring] = np.arange(len(occurring))
    if len(occurring) == 1:
        return SAME, occurring
    if names is not None:
        return codes.renamed(names, len(occurring)), occurring
    return Numbering(numbers, codes.low, codes.high, len(occurring)), occurring


def odd_powers(count: int) -> NDArray[np.uint64]:
    """ODD, its square and so on."""
    return np.cumprod(np.full(count, ODD), dtype=np.uint64)


def distinct_columns(x: NDArray[Any]) -> tuple[Numbers, Numbers]:
    """Columns that differ in some bit: a place of each kind, and the kind of each."""
    height, width = x.shape
    if width <= 1 or not height:
        return np.zeros(min(width, 1), np.intp), np.zeros(width, np.intp)
    bits = np.ascontiguousarray(x).view(np.uint32).reshape(height, width, -1)
    flat = bits.transpose(0, 2, 1).reshape(-1, width)
    mixed = (flat * odd_powers(len(flat))[:, None]).sum(axis=0, dtype=np.uint64)
    kinds = np.unique(mixed)
    kind = np.searchsorted(kinds, mixed)
    place = _one_of_each(kind, len(kinds))
    if not np.array_equal(flat, flat.take(place.take(kind), axis=1)):  # two kinds of one number
        _, place, kind = np.unique(flat, axis=1, return_index=True, return_inverse=True)
    return place, kind.reshape(-1)
