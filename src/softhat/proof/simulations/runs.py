"""All words of a length: hard attention exactly, and an interval for softmax at every position.

Hard attention is run in whole numbers over one denominator, many words at once. Softmax is run in
intervals of float64 numbers that are rounded outwards after every step, so that what softmax gives
in the reals lies inside, whatever the temperature. Nothing is assumed of gaps or errors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.numbers import positions
from softhat.proof.simulations.source import HeadId, Matrix, SourceHead, SourceModel, Vector

Integers = npt.NDArray[np.object_]
Floats = npt.NDArray[np.float64]
Ends = tuple[Floats, Floats]
"""Intervals: their lower and their upper ends."""
CHUNK = 60_000  # numbers of the residual stream that are run together
EXP = 4  # exp is within this many units in the last place


def chunks(source: SourceModel, n: int) -> Iterator[npt.NDArray[np.int64]]:
    """Every word of length n, as symbol numbers, some at a time."""
    each = max(1, CHUNK // ((n + 2) * max(1, source.width)))
    words = itertools.product(range(len(source.alphabet)), repeat=n)
    while some := list(itertools.islice(words, each)):
        yield np.array(some, np.int64).reshape(len(some), n)


def hard(source: SourceModel, words: npt.NDArray[np.int64]) -> tuple[Integers, int]:
    """The values of hard attention at the positions of each word: numerators, denominator."""
    x, den = _embedded(source, words)
    for layer in source.layers:
        before, old = x, den
        for head in layer.heads:
            found, its = _averaged(head, before, old)
            x, den = _added(x, den, *_applied(head.output, found, its))
        if layer.forward is not None:
            ff = layer.forward
            hidden, its = _applied(ff.into, x, den, ff.into_bias)
            x, den = _added(x, den, *_applied(ff.out, np.maximum(hidden, 0), its, ff.out_bias))
        common = math.gcd(den, *map(int, x.ravel()))
        x, den = x // common, den // common
    first = int(source.bos is not None)
    own = x[:, first : first + words.shape[1]]
    values, den = _applied((source.weights,), own, den, (source.bias,))
    return values[..., 0], den


def _embedded(source: SourceModel, words: npt.NDArray[np.int64]) -> tuple[Integers, int]:
    """Tokens and positions; the sinks stand first and last."""
    n = words.shape[1]
    ends = [v for v in (source.bos, source.eos) if v is not None]
    features = positions.exact(
        source.features, n, bos=source.bos is not None, eos=source.eos is not None
    )
    places, den = _applied(source.places, *_whole(features))
    tokens, its = _whole((*source.tokens, *ends))
    codes = np.pad(words, ((0, 0), (int(source.bos is not None), int(source.eos is not None))))
    if source.bos is not None:
        codes[:, 0] = len(source.tokens)
    if source.eos is not None:
        codes[:, -1] = len(tokens) - 1
    return _added(tokens[codes], its, np.broadcast_to(places, (len(words), *places.shape)), den)


def _averaged(head: SourceHead, x: Integers, den: int) -> tuple[Integers, int]:
    """What hard attention finds at each position."""
    size = x.shape[1]
    (query, _), (key, _), (value, its) = (
        _applied(m, x, den) for m in (head.query, head.key, head.value)
    )
    scores = np.zeros((len(x), size, size), np.object_)
    for r in range(query.shape[-1]):
        scores = scores + query[:, :, None, r] * key[:, None, :, r]
    seen = mask_of(head.mask, size)
    least = scores.min(axis=-1, keepdims=True)
    shown = np.where(seen, scores - least, -1)  # -1: masked
    best = (shown == shown.max(axis=-1, keepdims=True)) & seen
    if head.ties == "leftmost":
        best &= np.cumsum(best, axis=-1) == 1
    elif head.ties == "rightmost":
        best &= np.cumsum(best[..., ::-1], axis=-1)[..., ::-1] == 1
    factor = math.lcm(*range(1, size + 1))
    shares = np.array([0, *(factor // k for k in range(1, size + 1))], np.object_)
    weights = np.where(best, shares[best.sum(axis=-1, keepdims=True)], 0)
    found = np.zeros((*x.shape[:2], value.shape[-1]), np.object_)
    for j in range(size):
        found = found + weights[:, :, j, None] * value[:, j, None, :]
    return found, its * factor


def mask_of(mask: str, size: int) -> npt.NDArray[np.bool_]:
    """Which keys each query sees."""
    i, j = np.arange(size)[:, None], np.arange(size)[None, :]
    every = np.ones((size, size), np.bool_)
    match mask:
        case "<=":
            return every & (j <= i)
        case "<":
            return every & (j < i)
        case ">=":
            return every & (j >= i)
        case ">":
            return every & (j > i)
    return every


def _whole(rows: tuple[Vector, ...] | list[Vector]) -> tuple[Integers, int]:
    den = math.lcm(1, *(x.denominator for row in rows for x in row))
    result = np.zeros((len(rows), len(rows[0]) if rows else 0), np.object_)
    for at, row in enumerate(rows):
        result[at] = [int(x * den) for x in row]
    return result, den


def _applied(
    matrix: Matrix, x: Integers, den: int, bias: Vector | None = None
) -> tuple[Integers, int]:
    """matrix · x + bias, along the last axis."""
    own = math.lcm(1, *(w.denominator for row in matrix for w in row))
    own = math.lcm(own, *(w.denominator for w in bias or ()))
    result = np.zeros((*x.shape[:-1], len(matrix)), np.object_)
    for r, row in enumerate(matrix):
        for c, w in enumerate(row):
            if w:
                result[..., r] = result[..., r] + int(w * own) * x[..., c]
        if bias is not None and bias[r]:
            result[..., r] = result[..., r] + int(bias[r] * own) * den
    return result, own * den


def _added(x: Integers, den: int, y: Integers, other: int) -> tuple[Integers, int]:
    common = math.lcm(den, other)
    return x * (common // den) + y * (common // other), common


# Softmax, in intervals


def soft(
    source: SourceModel, words: npt.NDArray[np.int64], betas: Mapping[HeadId, Fraction]
) -> Ends:
    """An interval for the softmax model's value at each position of each word."""
    x = around(*_embedded(source, words))
    with np.errstate(all="ignore"):  # what overflows is an end at infinity, or no number
        for l, layer in enumerate(source.layers):
            after = x
            for h, head in enumerate(layer.heads):
                after = _plus(after, _map(head.output, _attended(head, x, betas[l, h])))
            x = after
            if layer.forward is not None:
                ff = layer.forward
                low, high = _map(ff.into, x, ff.into_bias)
                x = _plus(x, _map(ff.out, (np.maximum(low, 0), np.maximum(high, 0)), ff.out_bias))
        first = int(source.bos is not None)
        own = slice(first, first + words.shape[1])
        low, high = _map((source.weights,), (x[0][:, own], x[1][:, own]), (source.bias,))
    return low[..., 0], high[..., 0]


def _attended(head: SourceHead, x: Ends, beta: Fraction) -> Ends:
    """What softmax finds at each position.

    Scores enter by their differences from the row's greatest middle, whichever key that is: any
    number may be taken off all of them. A weight e_j/Σe is 1/(1 + Σ_(k≠j) e_k/e_j).
    """
    size = x[0].shape[1]
    query, key, value = (_map(m, x) for m in (head.query, head.key, head.value))
    scores: Ends = (np.zeros((len(x[0]), size, size)),) * 2
    for r in range(query[0].shape[-1]):
        scores = _plus(scores, _times(
            (query[0][:, :, None, r], query[1][:, :, None, r]),
            (key[0][:, None, :, r], key[1][:, None, :, r]),
        ))  # fmt: skip
    seen = mask_of(head.mask, size)
    scores = _times(scores, _ends_of(beta))
    middle = np.where(seen, (scores[0] + scores[1]) / 2, -np.inf).max(axis=-1, keepdims=True)
    low, high = _plus(scores, (-middle, -middle))
    low, high = (np.where(seen, _exp(z, up), 0.0) for z, up in ((low, False), (high, True)))
    total = low.sum(axis=-1, keepdims=True), high.sum(axis=-1, keepdims=True)
    slack = (size + 2) * 2.0**-52  # of a sum in any order
    others = (total[0] * (1 - slack) - low), (total[1] * (1 + slack) - high)
    others = np.maximum(others[0] * (1 - slack) - total[0] * slack, 0), others[1] + total[1] * slack
    least = _down(low / _up(low + _up(others[1])))
    most = _up(high / _down(high + np.maximum(_down(others[0]), 0)))
    least = np.where(low > 0, least, 0.0)
    most = np.where(high > 0, np.minimum(most, 1.0), 0.0)
    low_values, high_values = value
    found: Ends = (np.zeros((*x[0].shape[:2], low_values.shape[-1])),) * 2
    for j in range(size):
        w = least[:, :, j, None], most[:, :, j, None]
        v = low_values[:, j, None, :], high_values[:, j, None, :]
        found = _plus(found, _times(w, v))
    some = np.asarray(seen.any(axis=-1))[None, :, None]
    return np.where(some, found[0], 0.0), np.where(some, found[1], 0.0)


def around(x: Integers, den: int) -> Ends:
    """Rationals as intervals."""
    middle = np.vectorize(lambda z: float(Fraction(int(z), den)), otypes=[np.float64])(x)
    return _down(middle), _up(middle)


def _ends_of(w: Fraction) -> Ends:
    """A rational as an interval; exact where it is a float."""
    middle = float(w)
    exact = math.isfinite(middle) and Fraction(middle) == w
    ends = np.array(middle)
    return (ends, ends) if exact else (_down(ends), _up(ends))


def _map(matrix: Matrix, x: Ends, bias: Vector | None = None) -> Ends:
    low, high = (np.zeros((*x[0].shape[:-1], len(matrix))) for _ in range(2))
    for r, row in enumerate(matrix):
        total: Ends = _ends_of(bias[r]) if bias is not None else (np.zeros(()), np.zeros(()))
        for c, w in enumerate(row):
            if w:
                total = _plus(total, _times(_ends_of(w), (x[0][..., c], x[1][..., c])))
        low[..., r], high[..., r] = total
    return low, high


def _plus(x: Ends, y: Ends) -> Ends:
    return _down(x[0] + y[0]), _up(x[1] + y[1])


def _times(x: Ends, y: Ends) -> Ends:
    ends = [a * b for a in x for b in y]
    return (
        _down(np.minimum(np.minimum(ends[0], ends[1]), np.minimum(ends[2], ends[3]))),
        _up(np.maximum(np.maximum(ends[0], ends[1]), np.maximum(ends[2], ends[3]))),
    )


def _exp(x: Floats, up: bool) -> Floats:
    slack = EXP * 2.0**-52
    found = np.exp(x)
    return _up(found * (1 + slack)) if up else np.maximum(_down(found * (1 - slack)), 0.0)


def _down(x: Floats) -> Floats:
    return np.asarray(np.nextafter(x, -np.inf))


def _up(x: Floats) -> Floats:
    return np.asarray(np.nextafter(x, np.inf))
