"""Softmax attention of one head, as fast as NumPy goes, in one number format.

Queries, keys and values are (coordinates, rows, words). Many short words are computed *across*:
one query position at a time for all words (several if the words are not so many), with the words
contiguous in memory, so that every step is one long vector operation. Few long words are computed
*within*: blocks of query rows by matrix multiplication. A word of which a head sees what it sees of
the first one reads the same: the words of a search differ in a letter or two. No words × rows ×
rows array is ever kept. The steps are the same:

    s = round(β·q·k), w = round(exp(s - max s)), o = Σ w·v / Σ w

with the division last; the walk stores what is read (`numerics.walk`). A row without keys (masks
`<` and `>`) gives 0. A score of many products (a comparison's: large counts that cancel) is summed
in float64 before it is rounded, so that only the averages it reads are off. Keys
whose weight underflows to 0 add nothing to either sum, so *within* skips tiles of keys in which
that is so for every query of a block.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.numerics.formats import NARROW, Format
from softhat.runtime.products import products
from softhat.transformer.weights import Mask

Array = NDArray[Any]

FEW, MANY, LONG = 4, 32, 600
"""Computing across words is the faster way from MANY words on (fewer if they are short, but
at least FEW) and up to LONG rows (measured)."""
CACHE = 1 << 16
"""Scores computed at a time across words: a few such arrays fit a core's cache."""
BLOCK, TILE = 1 << 18, 128
"""Scores computed at a time within a word, in blocks of at most TILE queries (measured)."""
SHORT = 1 << 14
"""Scores up to which several queries of each word are computed at a time across words."""
STRICT = ("<", ">")
"""Masks that leave a query without keys: the first or the last."""


class Attention:
    """How scores become weights: a number format, and whether the maximum takes all."""

    def __init__(self, form: Format, hard: bool) -> None:
        self.form = form
        self.hard = hard
        self.lost = form.lost

    def __call__(self, q: Array, k: Array, v: Array, mask: Mask, beta: float) -> Array:
        """(values, rows, words) for queries and keys (scores' rows, rows, words)."""
        if len(v) == 0:
            return np.zeros_like(v)
        if len(q) == 0:
            return _means(v, mask)
        _, rows, words = v.shape
        if words >= min(MANY, max(FEW, rows // 2)) and rows <= LONG:
            return self._across(q, k, v, mask, beta)
        out = np.empty(v.shape, v.dtype)
        as_first = _as_first(q, k, v)
        own = np.flatnonzero(~as_first)
        tiles = -(-rows // TILE)
        step = max(1, CACHE // (min(rows, TILE) * TILE * tiles)) if tiles <= 2 else 1
        for start in range(0, len(own), step):
            part = own[start : start + step]
            out[..., part] = self._within(q[..., part], k[..., part], v[..., part], mask, beta)
        out[..., as_first] = out[..., :1]
        return out

    def maps(self, q: Array, k: Array, mask: Mask, beta: float) -> tuple[Array, Array]:
        """Scores (-inf where masked) and attention of one word, (rows, rows) each."""
        (scores,) = self._scores(np.ascontiguousarray(q.T)[None], k[None], beta)
        _hide(scores, mask)
        weights = self._weights(scores.copy(), _finite(scores.max(axis=1, keepdims=True)))
        return scores, weights / _positive(weights.sum(axis=1, keepdims=True))

    def _scores(self, q: Array, k: Array, beta: float) -> Array:
        dtype = self.summing(k.shape[1])
        scores = products(q.astype(dtype, copy=False), k.astype(dtype, copy=False))
        if beta != 1:
            scores *= dtype(beta)
        return self.form.store(scores)

    def summing(self, products: int) -> Any:
        """The dtype in which scores of this many products are summed."""
        return np.float64 if products > NARROW else self.form.accumulate

    def _weights(self, scores: Array, top: Array) -> Array:
        """exp(score - maximum) in place of the scores; 1 on the argmax set for `hard`."""
        if self.hard:
            return (scores == top).astype(scores.dtype)
        scores -= top
        with np.errstate(under="ignore"):
            np.exp(scores, out=scores)
        return self.form.round(scores)

    def of_lengths(
        self, q: Array, k: Array, v: Array, mask: Mask, beta: float | Array, rows: Array
    ) -> Array:
        """The same of words that have their own numbers of `rows` each, the most first, and their
        own `beta` where that differs. What stands in rows that a word does not have is ignored."""
        if mask not in ("<=", "<"):
            v = np.where(np.arange(v.shape[1])[:, None] < rows, v, v.dtype.type(0))
        if len(v) == 0:
            return np.zeros_like(v)
        if len(q) == 0:
            return _means(v, mask, rows)
        return self._across(q, k, v, mask, beta, rows)

    def _across(
        self,
        q: Array,
        k: Array,
        v: Array,
        mask: Mask,
        beta: float | Array,
        own: Array | None = None,
    ) -> Array:
        """`own` are the words' own numbers of rows, if they differ, the most first."""
        _, rows, words = v.shape
        out = (np.empty if own is None else np.zeros)(v.shape, v.dtype)
        width = max(16, CACHE // rows)
        dtype = self.summing(len(q))
        q, k = q.astype(dtype, copy=False), k.astype(dtype, copy=False)
        if own is None and 2 * rows * words <= SHORT:
            self._many_queries(q, k, v, mask, beta, out)
            return out
        for start in range(0, words, width):
            stop = min(start + width, words)
            space, spare = np.empty((2, rows, stop - start), dtype)
            weighted = np.empty((rows, stop - start), v.dtype)
            for i in range(rows):
                low, high = _range(mask, i, rows)
                end = stop if own is None else _longer(own, i + (mask == ">"), start, stop)
                if low == high or start == end:
                    out[:, i, start:stop] = 0
                    continue
                part, size = slice(start, end), end - start
                absent = None
                if own is not None and own[end - 1] < high:
                    absent = np.arange(low, high)[:, None] >= own[part]
                self._one_query(
                    q[:, i, part],
                    k[:, low:high, part],
                    v[:, low:high, part],
                    beta if own is None or isinstance(beta, float) else beta[part],
                    out[:, i, part],
                    space[:, :size],
                    spare[:, :size],
                    weighted[:, :size],
                    absent,
                )
        return out

    def _many_queries(
        self, q: Array, k: Array, v: Array, mask: Mask, beta: float | Array, out: Array
    ) -> None:
        """As many queries of each word at a time as SHORT allows; those keys are absent that a
        query does not see."""
        _, rows, words = v.shape
        first, last = int(mask == "<"), rows - (mask == ">")  # the others see nothing
        out[:, :first] = 0
        out[:, last:] = 0
        step = SHORT // (rows * words)
        for start in range(first, last, step):
            stop = min(start + step, last)
            low, high = _range(mask, start, rows)[0], _range(mask, stop - 1, rows)[1]
            absent = np.zeros((stop - start, high - low), q.dtype)
            _hide(absent, mask, start, low)
            space, spare = np.empty((2, high - low, stop - start, words), q.dtype)
            self._one_query(
                q[:, start:stop],
                k[:, low:high, None],
                v[:, low:high, None],
                beta,
                out[:, start:stop],
                space,
                spare,
                np.empty(space.shape, v.dtype),
                absent.T[..., None] < 0,
            )

    def _one_query(
        self,
        q: Array,
        k: Array,
        v: Array,
        beta: float | Array,
        out: Array,
        space: Array,
        spare: Array,
        weighted: Array,
        absent: Array | None = None,
    ) -> None:
        """One query of each word, (d_k, words), against its keys, (d_k, keys, words), of which some
        may be `absent`; `space` and the two after it are space to work in. Or several queries of
        each word, (d_k, queries, words), against keys (d_k, keys, 1, words)."""
        count = k.shape[1]
        scores, spare = space[:count], spare[:count]
        np.multiply(k[0], q[0], out=scores)
        for r in range(1, len(q)):
            scores += np.multiply(k[r], q[r], out=spare)
        weights, total = self.weighed(scores, beta, absent)
        values = weighted[:count]
        for d in range(len(v)):
            np.multiply(weights, v[d], out=values)
            np.divide(_added(values), total, out=out[d])

    def weighed(
        self, scores: Array, beta: float | Array, absent: Array | None = None
    ) -> tuple[Array, Array]:
        """(keys, words): the weights of scores before β, in their space, and their sums. An absent
        key weighs 0, so adding it changes no bit."""
        scores = self._scored(scores, beta)
        if absent is not None:
            np.copyto(scores, -np.inf, where=absent)
        weights = self._weights(scores, scores.max(axis=0))
        return weights, _added(weights)

    def _scored(self, products: Array, beta: float | Array) -> Array:
        if isinstance(beta, np.ndarray) or beta != 1:
            products *= products.dtype.type(beta)
        return self.form.store(products)

    def scores(self, q: Array, k: Array, beta: float) -> Array:
        """(keys,): the scores that a query (d_k,) gives keys (d_k, keys)."""
        dtype = self.summing(len(q))
        q, k = q.astype(dtype, copy=False), k.astype(dtype, copy=False)
        scores = k[0] * q[0]
        for r in range(1, len(q)):
            scores += k[r] * q[r]
        return self._scored(scores, beta)

    def weights(self, scores: Array, top: float) -> Array:
        """The weights of keys with these scores, the largest being `top`."""
        return self._weights(scores.copy(), np.asarray(top, scores.dtype))

    def one_row(self, q: Array, k: Array, v: Array, keys: Array, beta: float) -> Array:
        """(values, words) for queries (d_k, words) of one row; `keys` (rows, words) says in which
        columns of k and v the keys of each stand."""
        rows, words = keys.shape
        dtype = self.summing(len(q))
        q, k = q.astype(dtype, copy=False), k.astype(dtype, copy=False)
        out = np.empty((len(v), words), v.dtype)
        width = max(16, CACHE // rows)
        for start in range(0, words, width):
            part = slice(start, min(start + width, words))
            seen = keys[:, part]
            space, spare = np.empty((2, *seen.shape), dtype)
            weighted = np.empty(seen.shape, v.dtype)
            into = out[:, part]
            # Clipping is never needed, and lets NumPy copy without a check for each number.
            near_keys, near_values = (m.take(seen, axis=1, mode="clip") for m in (k, v))
            self._one_query(q[:, part], near_keys, near_values, beta, into, space, spare, weighted)
        return out

    def _within(self, q: Array, k: Array, v: Array, mask: Mask, beta: float) -> Array:
        """Each word by itself: q, k (d_k, rows, words), v (d_v, rows, words). Several words need
        to have two tiles at most."""
        _, rows, words = v.shape
        padded = -(-rows // TILE) * TILE
        keys = np.zeros((words, len(k), padded), self.summing(len(k)))
        keys[..., :rows] = k.transpose(2, 0, 1)
        values = np.zeros((words, padded, len(v) + 1), v.dtype)  # the last column sums the weights
        values[:, :rows, :-1] = v.transpose(2, 1, 0)
        values[:, :rows, -1] = 1
        queries = np.ascontiguousarray(q.transpose(2, 1, 0))
        out = np.empty(v.shape, v.dtype)
        block = max(1, min(rows, TILE, BLOCK // padded))
        for start in range(0, rows, block):
            stop = min(start + block, rows)
            low = start // TILE * TILE if mask in (">=", ">") else 0
            high = min(-(-stop // TILE) * TILE, padded) if mask in ("<=", "<") else padded
            scores = self._scores(queries[:, start:stop], keys[..., low:high], beta)
            scores[..., rows - low :] = -np.inf
            _hide(scores, mask, start, low)
            sums = self._summed(scores, values[:, low:high], mask)
            total = sums[..., -1:]
            if mask in STRICT:
                total = _positive(total)
            np.divide(sums[..., :-1].T, total.T, out=out[:, start:stop])
        return out

    def _summed(self, scores: Array, values: Array, mask: Mask) -> Array:
        """Σ w·v and Σ w, over the tiles where some weight is not 0."""
        words, count, _ = scores.shape
        tiles = scores.reshape(words, count, -1, TILE)
        tops = tiles.max(axis=3)
        top = tops.max(axis=2, keepdims=True)
        if mask in STRICT:
            top = _finite(top)
        if words == 1:
            seen = ~(tops < top - self.lost).all(axis=(0, 1))
            if 2 * np.count_nonzero(seen) < len(seen):  # never of two tiles
                scores = tiles[:, :, seen].reshape(1, count, -1)
                width = values.shape[2]
                values = values.reshape(1, -1, TILE, width)[:, seen].reshape(1, -1, width)
        return products(self._weights(scores, top), values)


def _as_first(*of_words: Array) -> NDArray[np.bool_]:
    """(words,): which words after the first have all its numbers. A search changes a letter or two
    of a word: many heads do not see that."""
    same = np.logical_and.reduce([(x == x[..., :1]).all(axis=(0, 1)) for x in of_words])
    same[0] = False
    return np.asarray(same)


def _added(x: Array) -> Array:
    """Rows, added one after the other. NumPy adds the numbers of a single column in another order
    than each of several: then a word alone would not be read as it is among others."""
    return x.cumsum(axis=0)[-1] if x[0].size == 1 else x.sum(axis=0)


def _longer(own: Array, row: int, start: int, stop: int) -> int:
    """Where the words end that have a row, among those from `start` to `stop`."""
    return start + int(np.count_nonzero(own[start:stop] > row))


def _range(mask: Mask, i: int, rows: int) -> tuple[int, int]:
    """The keys that query i sees, as a stretch."""
    low = i if mask == ">=" else i + 1 if mask == ">" else 0
    high = i + 1 if mask == "<=" else i if mask == "<" else rows
    return low, high


def _finite(top: Array) -> Array:
    """The maxima of rows; 0 for a row without keys, whose weights are then exp(-inf) = 0."""
    return np.where(top == -np.inf, top.dtype.type(0), top)


def _positive(total: Array) -> Array:
    """The sums of weights; 1 for a row without keys."""
    return np.where(total == 0, total.dtype.type(1), total)


def _means(v: Array, mask: Mask, own: Array | None = None) -> Array:
    """All scores are 0, so all weights are exp(0) = 1. `own` are the words' own numbers of rows."""
    rows = v.shape[1]
    if mask == "none":
        count = np.asarray(rows if own is None else own, v.dtype)
        return np.broadcast_to(v.sum(axis=1, keepdims=True) / count, v.shape)
    past = mask in ("<=", "<")
    ordered = v if past else v[:, ::-1]
    counts = np.arange(1, rows + 1)[:, None]
    if own is not None and not past:
        counts = np.maximum(counts - rows + own, 1)
    means = np.cumsum(ordered, axis=1) / counts.astype(v.dtype)
    if mask in STRICT:  # what the row before sees
        means = np.concatenate([np.zeros_like(means[:, :1]), means[:, :-1]], axis=1)
    return means if past else means[:, ::-1]


def _hide(scores: Array, mask: Mask, start: int = 0, low: int = 0) -> None:
    """-inf where the mask hides key low + c from query start + r."""
    count, width = scores.shape[-2:]
    strict = mask in STRICT
    if mask in ("<=", "<"):
        first = start + (not strict) - low  # the first hidden key of the first query
        square = scores[..., first:]
        np.copyto(square, -np.inf, where=~_below(square.shape[-2:], 0))
    elif mask in (">=", ">"):
        square = scores[..., : min(width, start + count - (not strict) - low)]
        np.copyto(square, -np.inf, where=_below(square.shape[-2:], start + strict - low))


def _below(shape: tuple[int, ...], later: int) -> NDArray[np.bool_]:
    """Whether c < r + later, for row r and column c."""
    count, width = shape
    side = max(later + count, width)
    triangle = _TRIANGLE if side <= len(_TRIANGLE) else np.tri(side, k=-1, dtype=np.bool_)
    return triangle[later : later + count, :width]


_TRIANGLE = np.tri(3 * TILE, k=-1, dtype=np.bool_)
"""Large enough for a block of queries, which begins within a tile of keys."""
