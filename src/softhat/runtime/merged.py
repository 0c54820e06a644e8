"""Many words of one length at once: what is the same in several of them is computed once.

A row of a word has a column of the residual stream. Each row of the batch holds the columns that
differ there, and a code for each word that says which is its own (`spaces`). Projections and hidden
units are computed for these columns only. A head reads at a row what the sequence of keys and
values that it sees says; so sequences are told apart, by what the head reads of them, and each is
attended to once (`sequences`). Between the layers coordinates that nothing reads any more are
forgotten, and words that have become the same in every row go on as one.

The steps are the dense runtime's own, number format and order of sums included, so are the bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.numerics import walk
from softhat.runtime.dense import OVERFLOW, Floats, Ready, ReadyHead, ReadyLayer
from softhat.runtime.products import LONG, SharedProduct, SparseProduct
from softhat.runtime.sequences import COMPARED, FEW, Asking, RowKinds, read_sequences
from softhat.runtime.spaces import SAME, Axes, Numbering, Numbers, distinct_columns
from softhat.transformer.weights import Transformer, inverse_temperature

Array = NDArray[Any]


def direction(t: Transformer) -> int | None:
    """1 where every head looks back, -1 where every head looks ahead, None where they differ."""
    masks = {mask for layer in t.layers for mask in layer.masks}
    if masks <= {"<=", "<"}:
        return 1
    return -1 if masks <= {">=", ">"} else None


def is_settled(ready: Ready, n: int) -> bool:
    """Whether a word of length n - 1 computes what it does as a part of a longer one."""
    way = direction(ready.transformer)
    if way is None:
        return False
    before, after = ready.features(n - 1), ready.features(n)
    sinks = ready.transformer.sinks
    after = after[:, : before.shape[1]] if way > 0 else after[:, 1:]
    near = slice(None, n) if way > 0 else slice(len(sinks) - ready.transformer.has_eos, None)
    return np.array_equal(before[:, near], after[:, near]) and all(
        inverse_temperature(head.law, n - 1) == inverse_temperature(head.law, n)
        for layer in ready.layers
        for head in layer.heads
    )


@dataclass(frozen=True)
class LettersAt:
    """At a position of the words: their letters there, which are some rows of a table."""

    codes: Numbering
    table: Numbers


def all_words(fixed: Sequence[int], k: int, free: int) -> tuple[Axes, list[LettersAt]]:
    """The words that begin with some letters, in lexicographic order."""
    space = Axes((1,) * len(fixed) + (k,) * free)
    letters = [LettersAt(SAME, np.array([letter])) for letter in fixed]
    for axis in range(len(fixed), len(fixed) + free):
        letters.append(LettersAt(space.each(axis), np.arange(k)))
    return space, letters


@dataclass
class MergedRows:
    """Some columns for each row, side by side, and which of them each word has."""

    codes: list[Numbering]
    firsts: Numbers = field(init=False)
    """Where each row's columns begin; where the last one's end."""

    def __post_init__(self) -> None:
        self.firsts = np.cumsum([0, *(codes.count for codes in self.codes)])

    def slice(self, row: int) -> slice:
        return slice(int(self.firsts[row]), int(self.firsts[row + 1]))

    def differing(self, x: Array) -> tuple[list[Numbering], Numbers]:
        """Codes of the columns of `x` that differ in a row, and where each stands."""
        counts = np.diff(self.firsts)
        of_row = np.repeat(np.arange(len(counts)), counts).astype(x.dtype)
        place, kind = distinct_columns(np.concatenate([of_row[None], x]))
        order = np.argsort(place)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        place, kind = place[order], rank[kind]
        starts = np.searchsorted(place, self.firsts)
        codes = [
            own.renamed(kind[self.slice(row)] - starts[row], int(starts[row + 1] - starts[row]))
            for row, own in enumerate(self.codes)
        ]
        return codes, place


class Merged(Floats):
    """The walk's numbers: columns that words share."""

    def __init__(
        self,
        ready: Ready,
        table: Array,
        space: Axes,
        letters: list[LettersAt],
        positions: Iterable[int] | None = None,
    ) -> None:
        """`table` are tokens, the letters; margins are wanted at some positions, or at all."""
        super().__init__(ready.form)
        self.ready, self.space, self.words = ready, space, space.words
        t = ready.transformer
        self.n = len(letters)
        self.of_word: Numbers | None = None
        """The number in `space` of each word, where words have been merged."""
        k = len(t.symbols)
        sinks = {0: k} if t.has_bos else {}
        sinks |= {self.n + t.has_bos: k + 1} if t.has_eos else {}
        own = iter(letters)
        codes, tokens = [], []
        for row in range(self.n + len(t.sinks)):
            if row in sinks:
                codes.append(SAME)
                tokens.append(ready.embedding[:, sinks[row], None])
            else:
                here = next(own)
                codes.append(here.codes)
                tokens.append(ready.symbols(table[here.table]))
        self.rows = MergedRows(codes)
        self.source: Numbers | None = None
        self.reads: list[list[Numbering]] = []
        live = _live(t)
        everywhere = frozenset(range(len(codes)))
        asked = range(self.n) if positions is None else positions
        last = max((k for k, layer in enumerate(ready.layers) if layer.heads), default=0)
        places = _Placed(ready.form, np.diff(self.rows.firsts))
        self.stream = walk.embedding(
            places, ready.position_embedding, np.concatenate(tokens, axis=1), ready.features(self.n)
        )
        for number, (layer, (before, inside)) in enumerate(zip(ready.layers, live, strict=True)):
            if number <= last:
                self._forget(before)
                self._merge()
            self.wanted = everywhere if number < last else {at + t.has_bos for at in asked}
            more = number < last or len(layer.heads) > 1  # follows on what is read
            self.most = COMPARED if more else FEW
            self.inside = inside
            self._run(layer)
        self.margins = walk.read_out(self, ready.readout, ready.readout_bias, self.stream)
        """(outputs, columns)."""

    @OVERFLOW
    def _run(self, layer: ReadyLayer) -> None:
        self.stream = self.ready.through(self, layer, self.stream)

    def of_words(self, row: int, values: Array) -> Array:
        """What each word has of the values of a row's columns."""
        spread = self.space.spread(self.rows.codes[row], values)
        return spread if self.of_word is None else spread.take(self.of_word)

    # Steps

    def linear(self, x: Array, matrix: SparseProduct | SharedProduct) -> Array:
        """As for many words: few columns would be multiplied by BLAS, in another order."""
        columns = x.shape[1]
        if columns >= LONG:
            return matrix(x)
        wide = np.zeros((len(x), LONG), x.dtype)
        wide[:, :columns] = x
        return matrix(wide)[:, :columns]

    def attend(self, query: Array, key: Array, value: Array, head: ReadyHead) -> Array:
        seen, place = self.rows.differing(np.concatenate([key, value]))
        keys = RowKinds(seen, key[:, place], value[:, place])
        asking, place = self.rows.differing(query)
        asked = RowKinds(asking, query[:, place], query[:, place])
        beta = inverse_temperature(head.law, self.n)
        asking_head = Asking(self.ready.attention, keys, asked, head.mask, beta, self.most)
        reads = read_sequences(self.space, asking_head, self.wanted)
        self.reads.append([codes for codes, _ in reads])
        return np.concatenate([read for _, read in reads], axis=1)

    def gather(self, reads: Sequence[Array], layer: ReadyLayer) -> Array:
        """Columns are told apart by what is live of them and by what their heads read."""
        differing, place = self.rows.differing(self.stream[self.inside])
        kept = MergedRows(differing)
        read_rows = [MergedRows(codes) for codes in self.reads]
        codes: list[Numbering] = []
        columns: list[list[Numbers]] = [[] for _ in range(1 + len(reads))]
        for row, together in enumerate(kept.codes):
            parts = [place[kept.slice(row)]]
            for of_head in read_rows:
                pairs = self.space.paired(together, of_head.codes[row])
                together = pairs.codes
                before, own = pairs.parts
                parts = [part[before] for part in parts]
                parts.append(of_head.slice(row).start + own)
            codes.append(together)
            for column, part in zip(columns, parts, strict=True):
                column.append(part)
        self.source, *of_heads = (np.concatenate(parts) for parts in columns)
        self.rows, self.reads = MergedRows(codes), []
        spread = [read.take(column, axis=1) for read, column in zip(reads, of_heads, strict=True)]
        return super().gather(spread, layer)

    def add(self, x: Array, y: Array) -> Array:
        if self.source is not None:
            x, self.source = x.take(self.source, axis=1), None
        return x + y

    # Between the layers

    def _forget(self, live: Numbers) -> None:
        """Columns that differ only in what nothing reads any more become one."""
        codes, place = self.rows.differing(self.stream[live])
        self.rows, self.stream = MergedRows(codes), self.stream[:, place]

    def _merge(self) -> None:
        """Words whose columns are the same in every row become one, if that halves them."""
        together = self.space.together(self.rows.codes, self.space.words // 2)
        if together is None:
            return
        numbers, some = together
        merged = []
        for codes in self.rows.codes:
            own = self.space.of(codes, some)
            merged.append(SAME if codes.count == 1 else Numbering(own, 0, 1, codes.count))
        self.rows = MergedRows(merged)
        self.space = Axes((len(some),))
        self.of_word = numbers if self.of_word is None else numbers.take(self.of_word)


class _Placed(Floats):
    """The first stream: a place is the same for all columns of a row."""

    def __init__(self, form: Any, counts: Numbers) -> None:
        super().__init__(form)
        self.counts = counts

    def add(self, x: Array, y: Array) -> Array:
        return x + np.repeat(y, self.counts, axis=1)


def _read(matrix: Any, axis: int) -> Numbers:
    return np.unique(matrix.where[axis])


def _live(t: Transformer) -> list[tuple[Numbers, Numbers]]:
    """For each layer the coordinates that are read in it or later, and those after its heads."""
    live = _read(t.readout, 1)
    both = []
    for layer in reversed(t.layers):
        inside = np.union1d(live, _read(layer.into, 1))
        live = np.unique(np.concatenate(
            [inside, *(_read(x, 2) for x in (layer.query, layer.key, layer.value))]
        ))  # fmt: skip
        both.append((live, inside))
    return both[::-1]
