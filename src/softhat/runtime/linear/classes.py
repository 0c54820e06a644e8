"""Match and Width in linear time: keys of one content have one score.

**Theorem 29.** If scores depend on the contents of query and key only, the mean of a value over
j <= i is Σ_c e^(s_c)·S_c / Σ_c e^(s_c)·n_c over the classes c of keys with equal content, where
n_c counts the keys of c so far and S_c adds their values. Counts and sums are integers, so they
are exact; what is rounded are one exponential a class, two sums over classes and one division, in
float64.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp

import numpy as np

from softhat.io.errors import SofthatError
from softhat.runtime.linear.columns import Array, View
from softhat.runtime.linear.kernels import Word, bit_of
from softhat.transformer.rows import IntegerRow
from softhat.transformer.shapes import Classes, HeadForm

MOST = 1 << 22
"""Entries of a table of positions and classes at a time."""
MOST_CLASSES = 512


class TooManyError(SofthatError):
    """Keys of too many kinds: codes of positions, say."""


@dataclass(slots=True)
class SeenClasses:
    """Of each class of keys, by its content: how many there were, and the sums of their values."""

    counts: dict[int, int] = field(default_factory=dict)
    sums: dict[int, list[int]] = field(default_factory=dict)


class ClassKernel:
    """Softmax over classes of keys; `strict` leaves the query's own position out."""

    def __init__(self, head: HeadForm, shape: Classes) -> None:
        self.shape = shape
        self.strict = head.mask in ("<", ">")
        self.values = [IntegerRow(row) for row in head.values]
        self.units = [float(row.quantum) for row in self.values]
        self.queries = [IntegerRow(((c, 1.0),)) for c in shape.queries]
        self.keys = [IntegerRow(((c, 1.0),)) for c in shape.keys]
        self.weights = np.array(shape.weights)

    def fresh(self) -> SeenClasses:
        return SeenClasses()

    def chunk(self, state: SeenClasses, view: View, start: int, word: Word) -> list[Array]:
        codes, asked = _packed(self.keys, view), _packed(self.queries, view)
        sums = [view.sums(row) for row in self.values]
        out = [np.zeros(view.size) for _ in self.values]
        step = max(1, MOST // (len(state.counts) + len(np.unique(codes))))
        for at in range(0, view.size, step):
            part = slice(at, at + step)
            for whole, means in zip(
                out,
                self._prefixes(state, codes[part], asked[part], [s[part] for s in sums]),
                strict=True,
            ):
                whole[part] = means
        return out

    def absorb(self, state: SeenClasses, view: View, start: int, word: Word) -> None:
        """Keys that every later query sees."""
        codes = _packed(self.keys, view)
        sums = [view.sums(row) for row in self.values]
        for code in np.unique(codes).tolist():
            here = codes == code
            state.counts[code] = state.counts.get(code, 0) + int(here.sum())
            before = state.sums.get(code, [0] * len(sums))
            state.sums[code] = [a + int(s[here].sum()) for a, s in zip(before, sums, strict=True)]
        self._check(state)

    def answers(self, state: SeenClasses, view: View, rows: int) -> list[Array]:
        """Means over all `rows` keys, which were absorbed."""
        asked = _packed(self.queries, view)
        queries, place = np.unique(asked, return_inverse=True)
        means = np.array([self._mean(state, query) for query in queries.tolist()])
        return [means[place, k] for k in range(len(self.values))]

    def step(self, state: SeenClasses, x: list[float], time: int, word: Word) -> list[float]:
        key = sum(bit_of(row, x) << k for k, row in enumerate(self.keys))
        query = sum(bit_of(row, x) << k for k, row in enumerate(self.queries))
        before = self._mean(state, query) if self.strict else []
        state.counts[key] = state.counts.get(key, 0) + 1
        sums = state.sums.setdefault(key, [0] * len(self.values))
        for k, row in enumerate(self.values):
            sums[k] += sum(weight * int(x[c]) for c, weight in row.terms)
        return before if self.strict else self._mean(state, query)

    def _mean(self, state: SeenClasses, query: int) -> list[float]:
        """What one query reads of everything that was seen."""
        present = [code for code, count in state.counts.items() if count]
        if not present:
            return [0.0] * len(self.values)
        scores = self._scores([query], present)[0].tolist()
        top = max(scores)
        weights = [exp(score - top) for score in scores]
        total = sum(w * state.counts[code] for w, code in zip(weights, present, strict=True))
        return [
            sum(w * state.sums[code][k] for w, code in zip(weights, present, strict=True))
            / total
            * unit
            for k, unit in enumerate(self.units)
        ]

    def _prefixes(
        self, state: SeenClasses, codes: Array, asked: Array, sums: list[Array]
    ) -> list[Array]:
        classes = [*state.counts, *(c for c in np.unique(codes).tolist() if c not in state.counts)]
        own = codes[:, None] == np.array(classes)[None, :]
        queries, place = np.unique(asked, return_inverse=True)
        scores = self._scores(queries.tolist(), classes)[place]
        counts = self._running(own, [state.counts.get(c, 0) for c in classes])
        scores[counts == 0] = -np.inf
        top = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
        total = (weights * counts).sum(axis=1)
        total[total == 0] = 1.0  # nothing is in sight: 0
        means = []
        for k, unit in enumerate(self.units):
            before = [state.sums.get(c, [0] * len(sums))[k] for c in classes]
            added = self._running(own * sums[k][:, None], before)
            means.append((weights * added).sum(axis=1) / total * unit)
            for c, last in zip(
                classes, ((own * sums[k][:, None]).sum(axis=0)).tolist(), strict=True
            ):
                state.sums.setdefault(c, [0] * len(sums))[k] += last
        for c, more in zip(classes, own.sum(axis=0).tolist(), strict=True):
            state.counts[c] = state.counts.get(c, 0) + more
        self._check(state)
        return means

    def _running(self, parts: Array, before: list[int]) -> Array:
        total = np.cumsum(parts, axis=0, dtype=np.int64) + np.array(before)
        return total - parts if self.strict else total

    def _scores(self, queries: list[int], keys: list[int]) -> Array:
        left = _unpacked(queries, len(self.queries))
        right = _unpacked(keys, len(self.keys))
        scores: Array = left @ self.weights @ right.T
        return scores

    def _check(self, state: SeenClasses) -> None:
        if len(state.counts) > MOST_CLASSES:
            raise TooManyError(
                f"more than {MOST_CLASSES:,} kinds of keys: this is not linear, run it densely"
            )


def _packed(rows: list[IntegerRow], view: View) -> Array:
    """The bits of some coordinates as one number a position."""
    total = np.zeros(view.size, np.int64)
    for k, row in enumerate(rows):
        total |= view.bits(row).astype(np.int64) << k
    return total


def _unpacked(codes: list[int], bits: int) -> Array:
    """(codes, 1 + bits): a 1, and the bits."""
    table = np.array(codes)[:, None] >> np.arange(bits)[None, :] & 1
    return np.concatenate([np.ones((len(codes), 1)), table], axis=1)
