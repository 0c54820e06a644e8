"""Intervals of float64 numbers, rounded outwards after each step: the walk of softmax in the reals.

What softmax gives in the reals lies inside, whatever the temperature. Nothing is assumed of gaps or
errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.numerics.exact import Matrix, Scaled, Vector, one_for_all
from softhat.numerics.masks import allowed
from softhat.numerics.walk import SoftHead

Floats = npt.NDArray[np.float64]
EXP = 4  # exp is within this many units in the last place


@dataclass(frozen=True, slots=True)
class Interval:
    """low ≤ x ≤ high, number by number."""

    low: Floats
    high: Floats

    def __getitem__(self, at: Any) -> Interval:
        return Interval(self.low[at], self.high[at])

    def __add__(self, other: Interval) -> Interval:
        return Interval(down(self.low + other.low), up(self.high + other.high))

    def __mul__(self, other: Interval) -> Interval:
        low, high = _extremes(self.low, other)
        if self.high is not self.low:
            least, most = _extremes(self.high, other)
            low, high = np.minimum(low, least), np.maximum(high, most)
        return Interval(down(low), up(high))


def _extremes(x: Floats, by: Interval) -> tuple[Floats, Floats]:
    """The lesser and the greater of the products with the ends of an interval."""
    one, other = x * by.low, x * by.high
    return np.minimum(one, other), np.maximum(one, other)


class Intervals:
    """The walk's numbers: `Interval`, (words, rows, coordinates), with rational weights."""

    def linear(self, x: Interval, matrix: Matrix) -> Interval:
        low, high = (np.zeros((*x.low.shape[:-1], len(matrix))) for _ in range(2))
        for r, row in enumerate(matrix):
            total = NOTHING
            for c, w in enumerate(row):
                if w:
                    total = total + around(w) * x[..., c]
            low[..., r], high[..., r] = total.low, total.high
        return Interval(low, high)

    def shift(self, x: Interval, bias: Vector) -> Interval:
        ends = [around(b) for b in bias]
        return x + Interval(np.array([e.low for e in ends]), np.array([e.high for e in ends]))

    def relu(self, x: Interval) -> Interval:
        return Interval(np.maximum(x.low, 0), np.maximum(x.high, 0))

    def attend(self, query: Interval, key: Interval, value: Interval, head: SoftHead) -> Interval:
        """Scores enter by their differences from the row's greatest middle, whichever key that is:
        any number may be taken off all of them."""
        size = key.low.shape[1]
        ends = (query.low, query.high, key.low, key.high)
        if all(one_for_all(end) for end in ends):  # the scores of positions
            query, key = query[:1], key[:1]
        scores = Interval(*np.zeros((2, len(key.low), size, size)))
        for r in range(query.low.shape[-1]):
            scores = scores + query[:, :, None, r] * key[:, None, :, r]
        seen = allowed(head.mask, size)
        weights = softmax(scores * around(head.beta), seen)
        read = Interval(*np.zeros((2, *value.low.shape)))
        for j in range(size):
            read = read + weights[:, :, j, None] * value[:, j, None, :]
        some = np.asarray(seen.any(axis=-1))[None, :, None]
        return Interval(np.where(some, read.low, 0.0), np.where(some, read.high, 0.0))

    def gather(self, reads: Sequence[Interval], layer: Any) -> Interval:
        first, *others = (
            self.linear(x, head.output) for x, head in zip(reads, layer.heads, strict=True)
        )
        for written in others:
            first = first + written
        return first

    def add(self, x: Interval, y: Interval) -> Interval:
        return x + y

    def store(self, x: Interval) -> Interval:
        return x


def softmax(scores: Interval, seen: npt.NDArray[np.bool_]) -> Interval:
    """The weights of rows of scores: e_j/Σe is 1/(1 + Σ_(k≠j) e_k/e_j)."""
    middle = np.where(seen, (scores.low + scores.high) / 2, -np.inf).max(axis=-1, keepdims=True)
    z = scores + Interval(-middle, -middle)
    low, high = np.where(seen, _exp(z.low, False), 0.0), np.where(seen, _exp(z.high, True), 0.0)
    least, most = low.sum(axis=-1, keepdims=True), high.sum(axis=-1, keepdims=True)
    slack = (scores.low.shape[-1] + 2) * 2.0**-52  # of a sum in any order
    fewer = np.maximum((least * (1 - slack) - low) * (1 - slack) - least * slack, 0)
    others = Interval(fewer, most * (1 + slack) - high + most * slack)
    share = down(low / up(low + up(others.high)))
    top = up(high / down(high + np.maximum(down(others.low), 0)))
    return Interval(np.where(low > 0, share, 0.0), np.where(high > 0, np.minimum(top, 1.0), 0.0))


def around(w: Fraction) -> Interval:
    """A rational as an interval; exact where it is a float."""
    middle = float(w)
    ends = np.array(middle)
    if math.isfinite(middle) and Fraction(middle) == w:
        return Interval(ends, ends)
    return Interval(down(ends), up(ends))


def around_all(x: Scaled) -> Interval:
    """Rationals as intervals: the quotient of two integers that floats hold is the nearest float,
    and so is that of Python's fractions."""
    if max(x.size, x.den) <= 2**53:
        middle = x.num.astype(np.float64) / float(x.den)
    else:
        middle = np.vectorize(lambda z: float(Fraction(int(z), x.den)), otypes=[np.float64])(x.num)
    return Interval(down(middle), up(middle))


def _exp(x: Floats, upwards: bool) -> Floats:
    slack = EXP * 2.0**-52
    near = np.exp(x)
    return up(near * (1 + slack)) if upwards else np.maximum(down(near * (1 - slack)), 0.0)


def down(x: Floats) -> Floats:
    """The next float below."""
    return np.asarray(np.nextafter(x, -np.inf))


def up(x: Floats) -> Floats:
    """The next float above."""
    return np.asarray(np.nextafter(x, np.inf))


NOTHING = Interval(np.zeros(()), np.zeros(()))
