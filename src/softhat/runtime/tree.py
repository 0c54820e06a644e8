"""All words as a tree: what a word computes at its last row is computed once for all longer words.

Where every head looks back, a row depends on the symbols up to it and on nothing behind, so the
words are walked as a tree, a level of it for each position. A node has one row, and sees the rows
of the nodes above it, whose keys and values are held. Where every head looks ahead, the tree stands
at the end of the words and grows to the left.

The nodes of a level lie so that the newest symbol changes slowest: node s·m + p extends node p of
the m nodes above by symbol s. So the nodes above a stretch of nodes lie in a stretch as well, or
repeat in it, and no key has to be gathered. The first few symbols are run as words, the *roots*:
levels with few nodes would not be worth a vector operation.

The steps are the dense runtime's own, number format and order of sums included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.runtime.attend import Attention
from softhat.runtime.dense import OVERFLOW, Floats, Ready, ReadyHead, Words
from softhat.runtime.products import LONG, SparseProduct
from softhat.transformer.weights import Transformer, inverse_temperature

Array = NDArray[Any]
ROOTS = LONG
"""Roots from which matrices are applied to a level as to any large batch, entry by entry."""
SEVERAL = 16
"""Columns for weights that all words share. With several, NumPy sums one key after the other, as it
does for many words."""
NUMBERS = 1 << 18
"""Scores of a stretch of nodes, so that they stay in a core's cache."""


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


def of_positions(t: Transformer) -> set[int]:
    """The coordinates that hold what a position says and nothing else: the same in every word."""
    written = {*t.embedding.where[1].tolist()}
    for layer in t.layers:
        written.update(layer.output.where[1].tolist(), layer.out.where[0].tolist())
    return set(range(t.d_model)) - written


@dataclass
class HeldHead:
    """What the nodes of a tree hold for one head."""

    keys: Array
    """(d_k, rows, roots), as they stand in the word; (d_k, rows, 1) if all roots have the same."""
    values: Array
    """(d_v, rows, roots); for a mean of everything their sums instead, (d_v, 1, roots)."""
    later_keys: list[Array] = field(default_factory=list)
    """(d_k, nodes) of each level below the roots; (d_k, 1) if all nodes have the same."""
    later_values: list[Array] = field(default_factory=list)


class Tree:
    """The words that begin (or, looking ahead, end) with some roots, level by level."""

    def __init__(self, ready: Ready, letters: Array, roots: Array, n: int) -> None:
        """`roots` (count, symbols): numbers of `letters`, as they stand in words of length n."""
        t = ready.transformer
        way = direction(t)
        assert way is not None
        self.ready, self.way = ready, way
        self.lengthen(letters, n)
        self.sink = int(t.has_bos if way > 0 else t.has_eos)
        count, self.length = roots.shape
        self.sizes = [count]
        """Nodes of each level, from the roots on."""
        rows = self._rows(0, self.sink + self.length)
        stream = np.empty((t.d_model, len(rows), count), ready.form.accumulate)
        for at, row in enumerate(rows):
            symbol = at - (self.sink if way > 0 else 0)
            inside = 0 <= symbol < self.length
            letter = roots[:, symbol] if inside else np.zeros(count, np.int64)
            stream[:, at] = self.embedded[letter, :, row].T
        self.alike = of_positions(t)
        self.held: list[HeldHead] = []
        first = _Roots(ready, self, stream.shape[1:])
        self.roots = self._through(first, stream.reshape(t.d_model, len(rows) * count)).reshape(
            stream.shape
        )
        """(d_model, rows, roots): their last residual stream, sinks included."""

    @OVERFLOW
    def _through(self, domain: Floats, x: Array) -> Array:
        for layer in self.ready.layers:
            x = self.ready.through(domain, layer, x)
        return x

    def lengthen(self, letters: Array, n: int) -> None:
        """Words of length n; a tree that has grown must be the same in those (`is_settled`)."""
        self.n = n
        words = np.repeat(letters[:, None], n, axis=1)
        self.embedded = self.ready.embed(words).transpose(0, 2, 1)
        """(letters, d_model, rows): each letter at each row."""

    def _rows(self, start: int, stop: int) -> list[int]:
        """The rows of the word that levels `start` to `stop` are, in the word's order."""
        rows = self.n + len(self.ready.transformer.sinks)
        return list(range(start, stop) if self.way > 0 else range(rows - stop, rows - start))

    def own_roots(self) -> Array:
        """(d_model, columns): the last residual stream of the roots' own rows."""
        first = self.sink if self.way > 0 else 0
        rows = self.roots.shape[1] - self.sink
        own: Array = self.roots[:, first : first + rows].reshape(-1, rows * self.sizes[0])
        return own

    def reads_alike(self, matrix: SparseProduct) -> bool:
        """Whether what a matrix reads is the same in every word."""
        return self.alike.issuperset(matrix.matrix.where[1].tolist())

    @property
    def nodes(self) -> int:
        """Nodes of the last level."""
        return self.sizes[-1]

    def grow(self, letters: Sequence[int], hold: bool = True) -> Iterator[tuple[slice, Array]]:
        """One level more, each node extended by some letters: the stretches of its nodes, and
        their last residual stream (d_model, nodes). Without `hold` the tree ends there."""
        above = self.nodes
        (row,) = self._rows(self.sink + self.length, self.sink + self.length + 1)
        seen = self.sink + self.length + 1
        size = self.sizes[0]
        for level in self.sizes[1:]:
            if level * seen <= NUMBERS:
                size = level
        stretch = _Stretch(self.ready, self, seen, above * len(letters), hold)
        for s, letter in enumerate(letters):
            for start in range(0, above, size):
                column = self.embedded[letter, :, row, None]
                x = np.repeat(column, size, axis=1)
                stretch.begin(start, slice(s * above + start, s * above + start + size))
                yield stretch.places, self._through(stretch, x)
        self.length += 1
        self.sizes.append(above * len(letters))


class _Roots(Words):
    """The roots' rows, of which keys and values are held."""

    def __init__(self, ready: Ready, tree: Tree, shape: tuple[int, ...]) -> None:
        rows, batch = shape
        super().__init__(ready, rows, batch, keep=False)
        self.n, self.tree = tree.n, tree

    def attend(self, query: Array, key: Array, value: Array, head: ReadyHead) -> Array:
        keys, values = (x.reshape(self.shape) for x in (key, value))
        if not len(query) and len(values):
            ordered = values if self.tree.way > 0 else values[:, ::-1]
            values = np.cumsum(ordered, axis=1)[:, -1:]
        if self.tree.reads_alike(head.key):
            keys = keys[:, :, :1]
        self.tree.held.append(HeldHead(keys, values))
        return super().attend(query, key, value, head)


class _Stretch(Floats):
    """Nodes of one level that lie side by side and end in the same symbol."""

    def __init__(self, ready: Ready, tree: Tree, seen: int, nodes: int, hold: bool) -> None:
        super().__init__(ready.form)
        self.attention, self.tree, self.seen, self.hold = ready.attention, tree, seen, hold
        self.places = slice(0, 0)
        self.start = 0
        self.at = 0
        if hold:
            for held in tree.held:
                dtype = held.keys.dtype
                width = nodes if held.keys.shape[2] > 1 else 1
                held.later_keys.append(np.empty((len(held.keys), width), dtype))
                held.later_values.append(np.empty((len(held.values), nodes), dtype))

    def begin(self, start: int, places: slice) -> None:
        """The next nodes, and the first one above them."""
        self.start, self.places, self.at = start, places, 0

    def attend(self, query: Array, key: Array, value: Array, head: ReadyHead) -> Array:
        held = self.tree.held[self.at]
        self.at += 1
        strict = head.mask in ("<", ">")
        beta = inverse_temperature(head.law, self.tree.n)
        if not len(value):
            return np.zeros_like(value)
        levels = len(held.later_keys) - self.hold  # those above
        if not len(query):
            before = held.later_values[levels - 1] if levels else held.values[:, 0]
            before = self._above(before)
            before = np.tile(before, value.shape[1] // before.shape[1])
            sums = before + value
            if self.hold:
                held.later_values[-1][:, self.places] = sums
            sums, seen = (before, self.seen - 1) if strict else (sums, self.seen)
            means: Array = sums / value.dtype.type(seen)
            return means
        keys = [held.keys, *(self._above(x)[:, None] for x in held.later_keys[:levels])]
        values = [held.values, *(self._above(x)[:, None] for x in held.later_values[:levels])]
        if held.keys.shape[2] == 1:
            key = key[:, :1]
        if self.hold:
            held.later_keys[-1][:, self.places if key.shape[1] > 1 else slice(None)] = key
            held.later_values[-1][:, self.places] = value
        if self.tree.reads_alike(head.query):
            query = query[:, :1]
        if not strict:
            keys.append(key[:, None])
            values.append(value[:, None])
        if self.tree.way < 0:  # in the word the newest stand first
            keys.reverse()
            values.reverse()
        return by_parts(self.attention, query, keys, values, beta)

    def _above(self, level: Array) -> Array:
        """The nodes of a level above that these extend: a stretch, or all, which then repeat."""
        first = self.start % level.shape[1]
        return level[:, first : first + self.places.stop - self.places.start]


def by_parts(
    attention: Attention, q: Array, keys: list[Array], values: list[Array], beta: float
) -> Array:
    """(d_v, words) for queries (d_k, words) of one row. Keys and values come in parts (d, rows,
    words), in the order of the word; parts with fewer words repeat, and so does a single query."""
    words = max(part.shape[2] for part in values)
    weights, total = _weights(attention, q, keys, beta, words)
    out = np.empty((len(values[0]), words), values[0].dtype)
    weighted = np.empty((len(weights), words), out.dtype)
    for d in range(len(out)):
        at = 0
        for part in values:
            count, width = part.shape[1:]
            into = weighted[at : at + count].reshape(count, words // width, width)
            weight = weights[at : at + count]
            if weights.shape[1] > 1:
                weight = weight.reshape(into.shape)
            else:
                weight = weight[:, :, None]
            np.multiply(weight, part[d][:, None], out=into)
            at += count
        np.divide(weighted.sum(axis=0), total, out=out[d])
    return out


def _weights(
    attention: Attention, q: Array, keys: list[Array], beta: float, words: int
) -> tuple[Array, Array]:
    """(rows, words) and (words,): the weights and their sums, one of each if all are the same."""
    dtype = attention.summing(len(q))
    q = q.astype(dtype, copy=False)
    width = max(q.shape[1], *(part.shape[2] for part in keys))
    # NumPy sums key by key only where there are several columns.
    same = width == 1
    scores = np.empty((sum(part.shape[1] for part in keys), SEVERAL if same else words), dtype)
    at = 0
    for part in keys:
        count, width = part.shape[1:]
        into = scores[at : at + count].reshape(count, scores.shape[1] // width, width)
        asked = q.reshape(len(q), 1, -1, 1 if q.shape[1] == 1 else width)
        held = part[:, :, None].astype(dtype, copy=False)
        products = held[0] * asked[0]
        for r in range(1, len(q)):
            products += held[r] * asked[r]
        into[:] = products
        at += count
    weights, total = attention.weighed(scores, beta)
    return (weights[:, :1], total[:1]) if same else (weights, total)
