"""Exact rationals: the walk in whole numbers over one common denominator, many words at once.

A quantity is an integer array and one denominator; averaging multiplies the denominator by the
sizes of argmax sets, and storing reduces it to lowest terms. Arrays are int64 while a bound shows
that nothing can overflow, and Python integers after that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from softhat.io.errors import SofthatError
from softhat.numerics.masks import Mask, allowed

Integers = npt.NDArray[Any]  # int64 or Python integers
Truths = npt.NDArray[np.bool_]
Vector: TypeAlias = tuple[Fraction, ...]
Matrix: TypeAlias = tuple[Vector, ...]
Ties: TypeAlias = Literal["average", "leftmost", "rightmost"]
"""What a head does with several maximal keys."""
_SAFE = 2**62
_FLOAT_SAFE = 2**53
MOST_BITS = 2**34  # of the scores of one head


@dataclass(frozen=True)
class Scaled:
    """The rationals `num / den`; the numerators stay as they are, and so does what is kept of
    them."""

    num: Integers
    den: int

    def floats(self) -> npt.NDArray[np.float64]:
        """Nearest floats (to an ulp)."""
        return ratio(self.num, self.den)

    def fractions(self) -> list[Any]:
        """Nested lists of Fractions."""
        return _nested(self.num.tolist(), self.den)

    @cached_property
    def size(self) -> int:
        """A bound on the absolute values of the numerators."""
        return greatest(self.num)


@dataclass(frozen=True, slots=True)
class HeadTrace:
    """One head on every word of the batch; W words, T positions (with sinks)."""

    mask: Truths  # (T, T): key allowed
    scores: Scaled  # (W, T, T), meaningful where the mask allows
    highest: Truths  # (W, T, T): the argmax sets
    best: Truths  # (W, T, T): the keys attended to: those, or one of them
    values: Scaled  # (W, T, d_v)
    mean: Scaled  # (W, T, d_v): what the head returns, before its output matrix

    @property
    def last(self) -> HeadTrace:
        """Its last row alone: (1, T), (W, 1, T), and the values as they are."""
        scores, mean = (Scaled(x.num[:, -1:], x.den) for x in (self.scores, self.mean))
        highest, best = self.highest[:, -1:], self.best[:, -1:]
        return HeadTrace(self.mask[-1:], scores, highest, best, self.values, mean)


class Exact:
    """The walk's numbers: `Scaled`, (words, rows, coordinates), with rational weights."""

    def linear(self, x: Scaled, matrix: Matrix) -> Scaled:
        return linear(x, scaled(matrix))

    def shift(self, x: Scaled, bias: Vector) -> Scaled:
        return add(x, Scaled(scaled((bias,)).num[0], scaled((bias,)).den))

    def relu(self, x: Scaled) -> Scaled:
        return Scaled(np.maximum(x.num, 0), x.den)

    def attend(self, query: Scaled, key: Scaled, value: Scaled, head: Any) -> Scaled:
        return attended(query, key, value, head.mask, head.ties).mean

    def gather(self, reads: Sequence[Scaled], layer: Any) -> Scaled:
        first, *others = (
            self.linear(x, head.output) for x, head in zip(reads, layer.heads, strict=True)
        )
        for written in others:
            first = add(first, written)
        return first

    def add(self, x: Scaled, y: Scaled) -> Scaled:
        return add(x, y)

    def store(self, x: Scaled) -> Scaled:
        return reduced(x)


def attended(query: Scaled, key: Scaled, value: Scaled, mask: Mask, ties: Ties) -> HeadTrace:
    """Argmax sets and their averages for the last rows, as many as ask; without keys they are 0."""
    (words, rows, products), length = query.num.shape, key.num.shape[1]
    if products:
        _bounded(query, key)
    seen = allowed(mask, length)[length - rows :]
    if one_for_all(query.num) and one_for_all(key.num):  # the scores of positions
        query, key = Scaled(query.num[:1], query.den), Scaled(key.num[:1], key.den)
    if products:
        bound = query.size * key.size * products
        scores = Scaled(product(query.num, np.swapaxes(key.num, 1, 2), bound), query.den * key.den)
        masked = np.where(seen, scores.num, -scores.size - 1)
        highest = (masked == masked.max(axis=2, keepdims=True)) & seen
    else:  # the same sets in every word: they are looked at once
        scores = Scaled(np.broadcast_to(np.int64(0), seen.shape), 1)
        highest = seen[None]
    best = chosen(highest, ties)
    counts = best.sum(axis=2)  # (W, R)
    factor = math.lcm(*(int(c) for c in np.unique(counts) if c))
    sums = product(best, value.num, value.size * length)
    big = max(value.size * length, 1) * factor >= _SAFE
    kind = object if big else np.int64
    share = np.where(counts > 0, factor // np.maximum(counts, 1).astype(kind), 0).astype(kind)
    mean = Scaled(sums.astype(kind) * share[..., None], value.den * factor)
    every = (words, *seen.shape)
    highest, best = np.broadcast_to(highest, every), np.broadcast_to(best, every)
    scores = Scaled(np.broadcast_to(scores.num, every), scores.den)
    return HeadTrace(seen, scores, highest, best, value, reduced(mean))


def one_for_all(x: npt.NDArray[Any]) -> bool:
    """Is it the same in every word?"""
    return bool((x == x[:1]).all())


def _bounded(query: Scaled, key: Scaled) -> None:
    """Refuse scores that would fill the memory: one machine word each, or many digits each."""
    words, length = key.num.shape[:2]
    largest = query.size * key.size * query.num.shape[-1]
    bits = 64 if largest < _SAFE else largest.bit_length() + 300
    if words * length**2 * bits > MOST_BITS:
        raise SofthatError(
            f"exact scores of a word with {length} positions would take "
            f"{words * length**2 * bits / 2**33:.0f} GB ({bits} bits each): give shorter words"
        )


def chosen(highest: npt.NDArray[np.bool_], ties: Ties) -> npt.NDArray[np.bool_]:
    """Of each argmax set (on the last axis) the keys attended to."""
    match ties:
        case "average":
            return highest
        case "leftmost":
            return highest & (np.cumsum(highest, axis=-1) == 1)
        case "rightmost":
            return np.flip(chosen(np.flip(highest, axis=-1), "leftmost"), axis=-1)


_SCALED: dict[int, tuple[Matrix, Scaled]] = {}
"""By identity, the matrix kept beside it: hashes of fractions take longer than many products."""
MOST_SCALED = 8192


def scaled(matrix: Matrix) -> Scaled:
    """A rational matrix as integers over one denominator."""
    known = _SCALED.get(id(matrix))
    if known is not None and known[0] is matrix:
        return known[1]
    result = _scaled(matrix)
    if len(matrix) > 1:  # one row is often made for the call
        if len(_SCALED) >= MOST_SCALED:
            _SCALED.clear()
        _SCALED[id(matrix)] = matrix, result
    return result


@lru_cache(maxsize=MOST_SCALED)
def _scaled(matrix: Matrix) -> Scaled:
    return Scaled(*integers(matrix))


def integers(rows: Matrix) -> tuple[Integers, int]:
    """Rows of Fractions as an integer array and their common denominator."""
    den = math.lcm(1, *(x.denominator for row in rows for x in row))
    values = [[x.numerator * (den // x.denominator) for x in row] for row in rows]
    columns = len(rows[0]) if rows else 0
    num = np.array(values, dtype=object).reshape(len(rows), columns)
    return narrowed(num), den


def floats(matrix: Matrix, columns: int = 0) -> npt.NDArray[np.float64]:
    """The nearest floats of a rational matrix; one without rows has this many columns."""
    if not matrix:
        return np.zeros((0, columns))
    exact = scaled(matrix)
    return ratio(exact.num, exact.den)


def linear(x: Scaled, weights: Scaled, bias: Scaled | None = None) -> Scaled:
    """`weights · x + bias` on the last axis."""
    rows, columns = weights.num.shape
    if rows == 0 or columns == 0:
        result = Scaled(np.zeros((*x.num.shape[:-1], rows), dtype=np.int64), 1)
    else:
        sums = max(sum(abs(int(w)) for w in row) for row in weights.num.tolist())
        result = Scaled(product(x.num, weights.num.T, x.size * sums), x.den * weights.den)
    if bias is None or rows == 0:
        return result
    return add(result, Scaled(bias.num[0], bias.den))


def product(left: Integers, right: Integers, bound: int) -> Integers:
    """Matrix product, given a bound on the absolute values of its entries' partial sums."""
    if left.shape[-1] == 0:
        shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        return np.zeros((*shape, left.shape[-2], right.shape[-1]), dtype=np.int64)
    if bound < _FLOAT_SAFE and left.dtype != object and right.dtype != object:
        exact = left.astype(np.float64) @ right.astype(np.float64)  # exact below 2^53, and fast
        return exact.astype(np.int64)
    if bound < _SAFE and left.dtype != object and right.dtype != object:
        result: Integers = left @ right
        return result
    return np.matmul(left.astype(object), right.astype(object))


def add(x: Scaled, y: Scaled) -> Scaled:
    """The sum over the least common denominator."""
    den = math.lcm(x.den, y.den)
    a, b = den // x.den, den // y.den
    if max(x.size, 1) * a + max(y.size, 1) * b >= _SAFE:  # the factors themselves must fit too
        return Scaled(x.num.astype(object) * a + y.num.astype(object) * b, den)
    return Scaled(x.num.astype(np.int64) * a + y.num.astype(np.int64) * b, den)


def reduced(x: Scaled) -> Scaled:
    """The same rationals in lowest terms."""
    common = math.gcd(x.den, int(np.gcd.reduce(x.num, axis=None)) if x.num.size else 0)
    if common == 1:
        return x
    kind = np.int64 if common < _SAFE and x.num.dtype != object else object
    return Scaled(narrowed(x.num.astype(kind) // common), x.den // common)


def narrowed(num: Integers) -> Integers:
    """int64 where the entries fit with room to spare, else Python integers."""
    return num.astype(np.int64) if greatest(num) < _SAFE else num.astype(object)


def greatest(num: Integers) -> int:
    """The greatest absolute value (0 for an empty array)."""
    return max(abs(int(num.max())), abs(int(num.min()))) if num.size else 0


def ratio(num: Integers, den: int) -> npt.NDArray[np.float64]:
    """Floats of num/den, correct to an ulp for integers of any size."""
    if num.dtype != object and den < _FLOAT_SAFE and greatest(num) < _FLOAT_SAFE:
        quotient: npt.NDArray[np.float64] = num.astype(np.float64) / float(den)
        return quotient
    if num.dtype != object and den < _SAFE and np.finfo(np.longdouble).nmant >= 63:
        extended = num.astype(np.longdouble) / np.longdouble(den)  # int64 fits its significand
        return extended.astype(np.float64)
    flat = [_quotient(int(x), den) for x in num.ravel()]
    return np.array(flat, dtype=np.float64).reshape(num.shape)


def _quotient(x: int, den: int) -> float:
    try:
        return x / den
    except OverflowError:
        return math.inf if x > 0 else -math.inf  # x itself may be no float


def _nested(data: Any, den: int) -> Any:
    if isinstance(data, list):
        return [_nested(entry, den) for entry in data]
    return Fraction(data, den)
