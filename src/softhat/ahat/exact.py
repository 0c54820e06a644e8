"""Exact hard attention: integers over one common denominator, many words at once.

All words of a batch have the same length. A quantity is an integer array and one denominator;
averaging multiplies the denominator by lcm(1..n), and it is reduced after each sublayer. Arrays
are int64 while a bound shows that nothing can overflow, and Python integers after that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.model import AHAT, Head, Layer, Mask, Matrix, Ties, Vector
from softhat.io.errors import SofthatError
from softhat.numbers.positions import exact

Integers = npt.NDArray[Any]  # int64 or Python integers
_SAFE = 2**62
_FLOAT_SAFE = 2**53
MOST_BITS = 2**34  # of the scores of one head


@dataclass(frozen=True, slots=True)
class Scaled:
    """The rationals `num / den`."""

    num: Integers
    den: int

    def floats(self) -> npt.NDArray[np.float64]:
        """Nearest floats (to an ulp)."""
        return ratio(self.num, self.den)

    def fractions(self) -> list[Any]:
        """Nested lists of Fractions."""
        return _nested(self.num.tolist(), self.den)

    @property
    def size(self) -> int:
        """A bound on the absolute values of the numerators."""
        return greatest(self.num)


@dataclass(frozen=True, slots=True)
class HeadTrace:
    """One head on every word of the batch; W words, T positions (with `<bos>`)."""

    mask: npt.NDArray[np.bool_]  # (T, T): key allowed
    scores: Scaled  # (W, T, T), meaningful where the mask allows
    highest: npt.NDArray[np.bool_]  # (W, T, T): the argmax sets
    best: npt.NDArray[np.bool_]  # (W, T, T): the keys attended to: those, or one of them
    values: Scaled  # (W, T, d_v)
    mean: Scaled  # (W, T, d_v): what the head returns, before its output matrix

    @property
    def last(self) -> HeadTrace:
        """Its last row alone: (1, T), (W, 1, T), and the values as they are."""
        scores, mean = (Scaled(x.num[:, -1:], x.den) for x in (self.scores, self.mean))
        highest, best = self.highest[:, -1:], self.best[:, -1:]
        return HeadTrace(self.mask[-1:], scores, highest, best, self.values, mean)


@dataclass(frozen=True, slots=True)
class LayerTrace:
    """One layer: its input, its heads, what the feed-forward reads, its pre-activations."""

    before: Scaled
    heads: tuple[HeadTrace, ...]
    middle: Scaled
    pre: Scaled | None


@dataclass(frozen=True, slots=True)
class ExactTrace:
    """Exact evaluation of a batch of words of one length."""

    codes: npt.NDArray[np.int64]
    offset: int  # 1 if position 0 is <bos>
    layers: tuple[LayerTrace, ...]
    residual: Scaled
    output: Scaled  # (W, T)

    def values(self) -> list[list[Fraction]]:
        """The values at the positions of each word, `<bos>` omitted."""
        return [row[self.own] for row in self.output.fractions()]

    @property
    def own(self) -> slice:
        """The positions of the words themselves."""
        return slice(self.offset, self.offset + self.codes.shape[1])


def run(model: AHAT, codes: npt.NDArray[np.int64]) -> ExactTrace:
    """Evaluate the model exactly on words given as a (words, n) array of symbol numbers."""
    x = embed(model, codes)
    layers = []
    for layer in model.layers:
        trace, x = _layer(layer, x)
        layers.append(trace)
    weights = scaled((model.output_weights,))
    output = linear(x, weights, scaled(((model.output_bias,),)))
    output = Scaled(output.num[..., 0], output.den)
    return ExactTrace(codes, int(model.bos), tuple(layers), x, output)


def last_rows(model: AHAT, codes: npt.NDArray[np.int64]) -> tuple[tuple[HeadTrace, ...], ...]:
    """Every head of every layer, at the last position only: (W, 1, T) in place of (W, T, T)."""
    x = embed(model, codes)
    found = []
    for layer in model.layers[:-1]:
        trace, x = _layer(layer, x)
        found.append(tuple(head.last for head in trace.heads))
    found += [tuple(attend(head, x, last=True) for head in layer.heads)
              for layer in model.layers[-1:]]  # fmt: skip
    return tuple(found)


def _layer(layer: Layer, x: Scaled) -> tuple[LayerTrace, Scaled]:
    """What happens in a layer, and the residual stream after it."""
    before = x
    traces = tuple(attend(head, x) for head in layer.heads)
    for head, trace in zip(layer.heads, traces, strict=True):
        x = add(x, linear(trace.mean, scaled(head.output)))
    x = reduced(x)
    middle, pre = x, None
    if layer.feed_forward is not None:
        forward = layer.feed_forward
        pre = linear(x, scaled(forward.in_weights), scaled((forward.in_bias,)))
        hidden = Scaled(np.maximum(pre.num, 0), pre.den)
        out = linear(hidden, scaled(forward.out_weights), scaled((forward.out_bias,)))
        x = reduced(add(x, out))
    return LayerTrace(before, traces, middle, pre), x


def embed(model: AHAT, codes: npt.NDArray[np.int64]) -> Scaled:
    """Token plus position embedding, `<bos>` in front and `<eos>` behind where there are any."""
    words, n = codes.shape
    table = embedding_table(model, n)
    offset = int(model.bos)
    places = np.arange(n) + offset
    x = table.num[codes, places]  # (W, n, d)
    if model.bos:
        first = np.broadcast_to(table.num[-2, 0], (words, 1, table.num.shape[-1]))
        x = np.concatenate([first, x], axis=1)
    if model.eos:
        last = np.broadcast_to(table.num[-1, -1], (words, 1, table.num.shape[-1]))
        x = np.concatenate([x, last], axis=1)
    return Scaled(x, table.den)


@lru_cache(maxsize=256)
def embedding_table(model: AHAT, n: int) -> Scaled:
    """(symbols, T, d): the embedding of each symbol at each position; the last two symbols are
    `<bos>` and `<eos>` (or stand in for them)."""
    ends = (model.bos_embedding, model.eos_embedding)
    vectors = [*model.embedding, *(end or model.embedding[0] for end in ends)]
    where = [
        [
            sum((w * f for w, f in zip(row, features, strict=True) if w), Fraction(0))
            for row in model.position_embedding
        ]
        for features in exact(model.positions, n, bos=model.bos, eos=model.eos)
    ]
    flat = tuple(
        tuple(t + p for t, p in zip(token, place, strict=True))
        for token in vectors
        for place in where
    )
    num, den = integers(flat)
    return Scaled(num.reshape(len(vectors), n + model.sinks, model.d_model), den)


def attend(head: Head, x: Scaled, last: bool = False) -> HeadTrace:
    """Scores, argmax sets and their averages, of all rows or the last. One without keys gives 0."""
    length = x.num.shape[1]
    first = length - 1 if last else 0
    mask = allowed(head.mask, length)[first:]
    values = reduced(linear(x, scaled(head.value)))
    if head.query:
        scores = _scores(head, x, first)
        masked = np.where(mask, scores.num, -scores.size - 1)
        highest = (masked == masked.max(axis=2, keepdims=True)) & mask
    else:  # the same sets in every word: they are looked at once
        scores = Scaled(np.broadcast_to(np.int64(0), (len(x.num), *mask.shape)), 1)
        highest = mask[None]
    best = chosen(highest, head.ties)
    counts = best.sum(axis=2)  # (W, T)
    factor = math.lcm(*(int(c) for c in np.unique(counts) if c))
    sums = product(best, values.num, values.size * length)
    big = max(values.size * length, 1) * factor >= _SAFE
    kind = object if big else np.int64
    share = np.where(counts > 0, factor // np.maximum(counts, 1).astype(kind), 0).astype(kind)
    mean = sums.astype(kind) * share[..., None]
    every = scores.num.shape
    highest, best = np.broadcast_to(highest, every), np.broadcast_to(best, every)
    return HeadTrace(
        mask, scores, highest, best, values, reduced(Scaled(mean, values.den * factor))
    )


def _scores(head: Head, x: Scaled, first: int) -> Scaled:
    """(W, T - first, T); in lowest terms, since coordinates that the head does not read may have
    denominators of their own."""
    asking = Scaled(x.num[:, first:], x.den)
    query, key = (
        reduced(linear(read, scaled(m))) for read, m in ((asking, head.query), (x, head.key))
    )
    _bounded(query, key, len(head.query))
    bound = query.size * key.size * len(head.query)
    scores = product(query.num, np.swapaxes(key.num, 1, 2), bound)
    return Scaled(scores, query.den * key.den)


def _bounded(query: Scaled, key: Scaled, rows: int) -> None:
    """Refuse scores that would fill the memory: one machine word each, or many digits each."""
    words, length = key.num.shape[:2]
    largest = query.size * key.size * max(1, rows)
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


@lru_cache(maxsize=1024)
def allowed(mask: Mask, length: int) -> npt.NDArray[np.bool_]:
    """(length, length): may the query (row) look at the key (column)?"""
    i, j = np.arange(length)[:, None], np.arange(length)[None, :]
    grid = {"none": j >= 0, "<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i}[mask]
    result = np.broadcast_to(grid, (length, length)).copy()
    result.setflags(write=False)
    return result


@lru_cache(maxsize=8192)
def scaled(matrix: Matrix | tuple[Vector, ...]) -> Scaled:
    """A rational matrix as integers over one denominator."""
    num, den = integers(matrix)
    return Scaled(num, den)


def integers(rows: tuple[Vector, ...]) -> tuple[Integers, int]:
    """Rows of Fractions as an integer array and their common denominator."""
    den = math.lcm(1, *(x.denominator for row in rows for x in row))
    values = [[x.numerator * (den // x.denominator) for x in row] for row in rows]
    columns = len(rows[0]) if rows else 0
    num = np.array(values, dtype=object).reshape(len(rows), columns)
    return narrowed(num), den


def floats(matrix: Matrix | tuple[Vector, ...], columns: int = 0) -> npt.NDArray[np.float64]:
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
