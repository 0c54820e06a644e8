"""What a head reads of all sequences of keys and values that occur, each attended to once.

From the first row on (from the last one for a head that looks ahead) each row's key and value
extends the sequences so far. A head without scores reads means: sequences with equal sums are the
same to it. A head with scores tells them all apart; where they are many, sums of weights are shared
by sequences that begin alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.runtime.attend import STRICT, Attention
from softhat.runtime.spaces import SAME, Axes, Numbering, Numbers, PairNumbering, distinct_columns
from softhat.transformer.weights import Mask

Array = NDArray[Any]
FEW, COMPARED = 1 << 12, 1 << 20
"""So many reads at most are compared with each other: where nothing follows, where more does."""
MANY = 1 << 12
"""More sequences than so many share sums, if they are asked by few queries."""
QUERIES = 8
REPEATED = 4
"""How often a sequence may be summed, on average."""


@dataclass(frozen=True)
class RowKinds:
    """The kinds of keys and values of each row, those of all rows side by side."""

    codes: list[Numbering]
    keys: Array
    values: Array

    @cached_property
    def firsts(self) -> list[int]:
        return [0, *accumulate(codes.count for codes in self.codes)]

    def place(self, row: int) -> int:
        """Where those of a row begin."""
        return self.firsts[row]

    def of(self, row: int) -> tuple[Array, Array]:
        start = self.place(row)
        own = slice(start, start + self.codes[row].count)
        return self.keys[:, own], self.values[:, own]


@dataclass(frozen=True)
class Asking:
    """A head on the rows of a batch; the keys of `asked` are its queries."""

    attention: Attention
    seen: RowKinds
    asked: RowKinds
    mask: Mask
    beta: float
    most: int
    """So many reads are compared with each other."""


Read = tuple[Numbering, Array]
"""What is read at a row: of each word which one, and (values, reads)."""


def read_sequences(space: Axes, head: Asking, wanted: Set[int]) -> list[Read]:
    """What is read at the rows that are wanted."""
    seen, mask = head.seen, head.mask
    rows = len(seen.codes)
    nothing: Read = SAME, np.zeros((len(seen.values), 1), seen.values.dtype)
    if not len(seen.values):
        return [nothing] * rows
    backwards = mask in (">=", ">")
    order = range(rows)[::-1] if backwards else range(rows)
    if not len(head.asked.keys):
        return _means(space, head, order)
    trie = _Trie(space, backwards)
    reads = [nothing] * rows
    for row in order:
        if row in wanted and mask in STRICT and trie.levels:
            reads[row] = _read(head, row, trie)
        trie.extend(row, seen.codes[row])
        if row in wanted and mask in ("<=", ">="):
            reads[row] = _read(head, row, trie)
    if mask == "none":
        for row in wanted:
            reads[row] = _read(head, row, trie)
    return reads


def _means(space: Axes, head: Asking, order: Iterable[int]) -> list[Read]:
    """All scores are 0: sums, added row by row."""
    seen, mask = head.seen, head.mask
    reads: list[Read] = [(SAME, np.zeros((len(seen.values), 1), seen.values.dtype)) for _ in order]
    number = seen.values.dtype.type
    codes, sums = reads[0]
    for count, row in enumerate(order):
        if mask in STRICT:
            reads[row] = codes, sums / number(max(count, 1))
        pairs = space.paired(codes, seen.codes[row])
        above, here = pairs.parts
        own = seen.of(row)[1][:, here]
        codes, sums = _compared(pairs.codes, sums[:, above] + own if count else own, COMPARED)
        if mask not in STRICT:
            reads[row] = codes, sums / number(count + 1)
    return [reads[row] for _ in reads] if mask == "none" else reads


def _compared(codes: Numbering, out: Array, most: int) -> Read:
    """What is read alike gets one code, unless there are more reads than `most`."""
    if out.shape[1] > most:
        return codes, out
    place, kind = distinct_columns(out)
    return codes.renamed(kind, len(place)), out[:, place]


class _Trie:
    """The sequences of keys and values that occur, row by row. The code of a sequence orders them
    by the first row, then by the second and so on."""

    def __init__(self, space: Axes, backwards: bool) -> None:
        self.space, self.backwards = space, backwards
        self.codes = SAME
        self.levels: list[tuple[int, PairNumbering]] = []
        """For each row so far what the sequences extend, together with its keys."""

    @property
    def complete(self) -> bool:
        """Whether any key comes with any other."""
        return all(pairs.occurring is None for _, pairs in self.levels)

    def extend(self, row: int, own: Numbering) -> None:
        both = (own, self.codes) if self.backwards else (self.codes, own)
        pairs = self.space.paired(*both)
        self.codes = pairs.codes
        self.levels.append((row, pairs))

    def columns(self, sequences: Numbers, seen: RowKinds) -> Numbers:
        """(rows, sequences): where the keys and values of some sequences stand."""
        columns = np.empty((len(self.levels), len(sequences)), np.intp)
        at = sequences
        for number in reversed(range(len(self.levels))):
            row, pairs = self.levels[number]
            above, here = pairs.parts[::-1] if self.backwards else pairs.parts
            into = len(self.levels) - 1 - number if self.backwards else number
            np.add(here.take(at), seen.place(row), out=columns[into])
            at = above.take(at)
        return columns


def _read(head: Asking, row: int, trie: _Trie) -> Read:
    """What the queries of a row read of the sequences that they come with."""
    pairs = trie.space.paired(trie.codes, head.asked.codes[row])
    queries = head.asked.of(row)[0]
    if trie.codes.count > MANY and trie.complete and queries.shape[1] <= QUERIES:
        shared = [_by_largest(head, query, trie) for query in queries.T]
        reads = [read for read in shared if read is not None]
        if len(reads) == len(shared) == 1:
            return _compared(pairs.codes, reads[0], head.most)
        if len(reads) == len(shared):
            sequence, query = pairs.parts
            return _compared(pairs.codes, np.stack(reads)[query, :, sequence].T, head.most)
    sequence, query = pairs.parts
    read = head.attention.one_row(
        queries.take(query, axis=1),
        head.seen.keys,
        head.seen.values,
        trie.columns(sequence, head.seen),
        head.beta,
    )
    return _compared(pairs.codes, read, head.most)


def _by_largest(head: Asking, query: Array, trie: _Trie) -> Array | None:
    """(values, sequences): what a query reads of all sequences of some keys and values.

    Weights follow from the scores and the largest of them, and are added in the order of the rows.
    So for each score that may be the largest, sequences that begin alike share their sums: for all
    sequences without a larger score, the lower ones being written over what was wrong of them.
    None if that is more work than it saves.
    """
    seen = head.seen
    every = [
        np.arange(seen.place(row), seen.place(row) + seen.codes[row].count)
        for row in sorted(row for row, _ in trie.levels)
    ]
    scores = head.attention.scores(query, seen.keys, head.beta)
    if not np.isfinite(scores).all():
        return None
    least = max(scores[keys].min() for keys in every)
    tops = np.unique(np.concatenate([scores[keys][scores[keys] >= least] for keys in every]))[::-1]
    allowed = [[keys[scores[keys] <= top] for keys in every] for top in tops]
    sizes = [len(keys) for keys in every]
    if sum(prod(map(len, of_top)) for of_top in allowed) > REPEATED * prod(sizes):
        return None
    out = np.empty((len(seen.values), *sizes), seen.values.dtype)
    with np.errstate(all="ignore"):  # what is written over may be anything
        for top, of_top in zip(tops, allowed, strict=True):
            weights = head.attention.weights(scores, top)
            weighted = weights * seen.values
            total, sums = weights[of_top[0]], weighted[:, of_top[0]]
            for keys in of_top[1:]:
                total = (total[:, None] + weights[keys]).reshape(-1)
                sums = (sums[..., None] + weighted[:, None, keys]).reshape(len(out), -1)
            where = [_slice(some - keys[0]) for some, keys in zip(of_top, every, strict=True)]
            if None in where:
                return None
            out[:, *where] = (sums / total).reshape(-1, *map(len, of_top))
    return out.reshape(len(out), -1)


def _slice(places: Numbers) -> slice | None:
    """Some places as a slice, if they lie equally far apart."""
    first, last = int(places[0]), int(places[-1])
    step = int(places[1]) - first if len(places) > 1 else 1
    if first + step * (len(places) - 1) != last or (len(places) > 3 and np.ptp(np.diff(places))):
        return None
    return slice(first, last + 1, step)
