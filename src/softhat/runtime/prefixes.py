"""Many words at once, with what their common beginnings compute computed once.

Where every head looks back, a row depends on the word's symbols up to it and on nothing behind.
Words that stand in lexicographic order share their beginnings with their neighbours: all k^n
words of length n have about k^n·k/(k - 1) beginnings, not n·k^n. So the residual stream has one
column for each beginning, level by level, and a word's margins are those of its n columns.

The steps are the dense runtime's own, number format and order of sums included; matrix products
may be cut into other strips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.numerics import walk
from softhat.runtime.dense import OVERFLOW, Floats, Ready, ReadyHead
from softhat.transformer.weights import Transformer, inverse_temperature

Array = NDArray[Any]
Places = NDArray[np.int64]

WORTH = 2
"""Beginnings are shared where words have so many times as many rows."""
FEWEST = 64
"""Fewer words are run as they are."""


@dataclass(frozen=True)
class Level:
    """The beginnings of one length among the words of a batch."""

    columns: slice
    """Where they stand in the residual stream."""
    seen: Places
    """(rows, beginnings): the columns that each of them sees, `<bos>` first, itself last."""
    of_word: Places
    """Each word's column."""
    representative: Places
    """A word that begins so."""


@OVERFLOW
def shared_margins(ready: Ready, tokens: Array) -> Array | None:
    """(words, n, outputs): what `Ready` says of the words; None where nothing is gained."""
    if len(tokens) < FEWEST or not looks_back(ready.transformer):
        return None
    levels = _levels(_codes(tokens), ready.transformer.has_bos)
    if levels is None:
        return None
    stream = _embedded(ready, tokens, levels)
    beginnings = Beginnings(ready, levels, tokens.shape[1])
    for layer in ready.layers:
        stream = ready.through(beginnings, layer, stream)
    margins = ready.read_out(stream).T
    return np.stack([margins[level.of_word] for level in levels], axis=1)


def looks_back(t: Transformer) -> bool:
    """Whether no head sees what comes later."""
    return all(mask in ("<=", "<") for layer in t.layers for mask in layer.masks)


def _codes(tokens: Array) -> Places:
    """(words, n): a number for each letter; a set of propositions is the number of its bits."""
    if tokens.ndim == 2:
        return np.asarray(tokens, np.int64)
    places = np.asarray(tokens, np.int64).reshape(-1, tokens.shape[2])
    numbers = np.unique(places, axis=0, return_inverse=True)[1]
    return numbers.reshape(tokens.shape[:2])


def _levels(codes: Places, bos: bool) -> list[Level] | None:
    """The beginnings that neighbouring words share; None where they are too many."""
    words, n = codes.shape
    of_word = np.zeros(words, np.int64)
    differs = np.zeros(words, np.bool_)  # from the word before, in the symbols so far
    differs[0] = True
    seen = np.zeros((1 if bos else 0, 1), np.int64)
    levels: list[Level] = []
    first = 1 if bos else 0
    for at in range(n):
        parent = of_word
        differs[1:] |= codes[1:, at] != codes[:-1, at]
        of_word = np.cumsum(differs) - 1
        representative = np.flatnonzero(differs)
        count = len(representative)
        own = np.arange(first, first + count)
        seen = np.concatenate([seen[:, parent[representative]], own[None]])
        levels.append(Level(slice(first, first + count), seen, first + of_word, representative))
        first += count
        if WORTH * first > words * n:
            return None
    return levels


def _embedded(ready: Ready, tokens: Array, levels: list[Level]) -> Array:
    """(d_model, columns): the first residual stream."""
    t, form = ready.transformer, ready.form
    n, k = tokens.shape[1], len(t.symbols)
    token = np.empty((t.d_model, levels[-1].columns.stop), form.accumulate)
    if t.has_bos:
        token[:, 0] = ready.embedding[:, k]
    for at, level in enumerate(levels):
        token[:, level.columns] = ready.symbols(tokens[level.representative, at])
    beginnings, places = Beginnings(ready, levels, n), ready.position_embedding
    return walk.embedding(beginnings, places, token, ready.features(n))


class Beginnings(Floats):
    """Columns are beginnings of words, each once."""

    def __init__(self, ready: Ready, levels: list[Level], n: int) -> None:
        super().__init__(ready.form)
        self.one_row, self.n = ready.attention.one_row, n
        self.rows = [level.seen for level in levels]
        if ready.transformer.has_bos:
            self.rows.insert(0, np.zeros((1, 1), np.int64))

    def add(self, x: Array, y: Array) -> Array:
        if y.shape == x.shape:
            return x + y
        return x + np.repeat(y, [seen.shape[1] for seen in self.rows], axis=1)  # a place each row

    def attend(self, query: Array, key: Array, value: Array, head: ReadyHead) -> Array:
        out = np.zeros_like(value)
        if not len(value):
            return out
        strict = head.mask == "<"
        beta = inverse_temperature(head.law, self.n)
        sums = value.copy()
        for seen in self.rows:
            own, keys = seen[-1], seen[:-1] if strict else seen
            if len(seen) > 1:
                sums[:, own] += sums[:, seen[-2]]
            if not len(keys):
                continue
            if not len(query):
                out[:, own] = sums[:, keys[-1]] / value.dtype.type(len(keys))
                continue
            out[:, own] = self.one_row(query[:, own], key, value, keys, beta)
        return out
