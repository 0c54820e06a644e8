"""The softmax model in extended precision, straight from its definition.

Nothing here comes from the code under test but the data classes. `wide` uses the machine's long
doubles (64 bits of significand), `decimal` as many digits as asked for: exponential laws need them.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from softhat.ahat.model import AHAT, Matrix
from tests.ahat.definition import embed, sees

Number = Callable[[Fraction], Any]


def wide(x: Fraction) -> np.longdouble:
    """The nearest long double, to an ulp, whatever the size of numerator and denominator."""
    head = float(x)
    return np.longdouble(head) + np.longdouble(float(x - Fraction(head)))


def to_decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def soft_values(
    model: AHAT,
    betas: Mapping[tuple[int, int], Fraction],
    word: Sequence[str],
    digits: int | None = None,
) -> list[Fraction]:
    """Values of the softmax model; `digits`: in decimal arithmetic of that precision."""
    if digits is None:
        return _run(model, betas, word, wide, np.exp, np.longdouble)
    with decimal.localcontext() as context:
        context.prec = digits
        context.Emin, context.Emax = -(10**9), 10**9
        least = Decimal(-3 * digits - 100)  # e^least is nothing beside 1, at this precision
        zero = Decimal(0)
        exponential = np.frompyfunc(lambda x: x.exp() if x > least else zero, 1, 1)
        return _run(model, betas, word, to_decimal, exponential, object)


def _run(
    model: AHAT,
    betas: Mapping[tuple[int, int], Fraction],
    word: Sequence[str],
    number: Number,
    exponential: Any,
    kind: Any,
) -> list[Fraction]:
    def array(matrix: Matrix, columns: int) -> Any:
        entries = [[number(x) for x in row] for row in matrix]
        return np.array(entries, dtype=kind).reshape(len(matrix), columns)

    x = array(tuple(tuple(v) for v in embed(model, word)), model.d_model)
    size, d = len(x), model.d_model
    zero = number(Fraction(0))
    for l, layer in enumerate(model.layers):
        after = x
        for h, head in enumerate(layer.heads):
            if not head.value:
                continue
            beta = number(Fraction(betas[l, h]))
            query, key, value = (array(m, d) for m in (head.query, head.key, head.value))
            output = array(head.output, len(head.value))
            places = np.arange(size)
            seen = np.frompyfunc(partial(sees, head.mask), 2, 1)
            mask = np.asarray(seen.outer(places, places), dtype=bool)
            values = x @ value.T
            scores = np.full((size, size), zero, dtype=kind)
            if head.query:
                scores = (x @ query.T) @ (x @ key.T).T * beta
            for i in range(size):
                keys = np.flatnonzero(mask[i])
                if not len(keys):
                    continue
                row = scores[i, keys]
                weights = exponential(row - row.max())
                mean = (weights @ values[keys]) / weights.sum()
                after = after.copy() if after is x else after
                after[i] = after[i] + output @ mean
        x = after
        forward = layer.feed_forward
        if forward is not None and forward.in_weights:
            inner = array(forward.in_weights, d)
            bias = array((forward.in_bias,), len(forward.in_weights))[0]
            outer = array(forward.out_weights, len(forward.in_weights))
            out_bias = array((forward.out_bias,), d)[0]
            hidden = x @ inner.T + bias
            hidden = np.where(hidden > zero, hidden, zero)
            x = x + hidden @ outer.T + out_bias
        elif forward is not None:
            x = x + array((forward.out_bias,), d)[0]
    weights = array((model.output_weights,), d)[0]
    values = x @ weights + number(model.output_bias)
    return [_fraction(v) for v in values][1 if model.bos else 0 :]


class TooSteepError(Exception):
    """Long doubles cannot tell: scores times β round too much, or two scores are too close."""


@lru_cache(maxsize=64)
def _embedded(model: AHAT, n: int) -> Any:
    """(symbols, T, d): what each symbol is at each position, by the definition."""
    return np.array(
        [
            [[wide(x) for x in vector] for vector in embed(model, [symbol] * n)]
            for symbol in model.alphabet
        ],
        dtype=np.longdouble,
    )


def wide_values(
    model: AHAT, words: Sequence[Sequence[str]], betas: Mapping[tuple[int, int], Fraction] | None
) -> Any:
    """(words, n) values in long doubles, many words at once: softmax at these β, or (None) hard.

    Scores of hard attention that differ by less than rounding can explain are equal; where it is
    not plain whether they are, and where β makes rounding visible, TooSteepError is raised.
    """

    def array(matrix: Matrix, columns: int) -> Any:
        entries = [[wide(x) for x in row] for row in matrix]
        return np.array(entries, dtype=np.longdouble).reshape(len(matrix), columns)

    d, n = model.d_model, len(words[0])
    table = _embedded(model, n)
    size = table.shape[1]
    symbol = np.zeros((len(words), size), dtype=np.int64)  # any will do at the sinks
    own = slice(int(model.bos), int(model.bos) + n)
    symbol[:, own] = [[model.alphabet.index(s) for s in word] for word in words]
    x = table[symbol, np.arange(size)]
    places = np.arange(size)
    for l, layer in enumerate(model.layers):
        after = x
        for h, head in enumerate(layer.heads):
            if not head.value:
                continue
            query, key, value = (array(m, d) for m in (head.query, head.key, head.value))
            i, j = places[:, None], places[None, :]
            mask = {"none": j >= 0, "<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i}[head.mask]
            mask = np.broadcast_to(mask, (size, size))
            q, k = x @ query.T, x @ key.T
            scores = np.zeros((len(words), size, size), dtype=np.longdouble)
            rounding = np.longdouble(0)
            for c in range(len(head.query)):
                scores += q[:, :, None, c] * k[:, None, :, c]
                largest = np.abs(q[..., c]).max() * np.abs(k[..., c]).max()
                rounding += largest * 64 * np.longdouble(2.0) ** -63
            scores[:, ~mask] = -np.inf
            top = scores.max(axis=2, keepdims=True)
            top = np.where(np.isfinite(top), top, 0)
            below = top - scores
            if betas is None:
                if ((below > rounding) & (below < 1000 * rounding)).any():
                    raise TooSteepError
                best = below <= rounding
                if head.ties != "average":
                    turned = best if head.ties == "leftmost" else best[..., ::-1]
                    turned = turned & (np.cumsum(turned, axis=2) == 1)
                    best = turned if head.ties == "leftmost" else turned[..., ::-1]
                weights = best.astype(np.longdouble)
            else:
                beta = wide(Fraction(betas[l, h]))
                if float(beta * rounding) > 1e-5:
                    raise TooSteepError
                weights = np.exp(-beta * below)
            total = weights.sum(axis=2, keepdims=True)
            values = x @ value.T
            mean = np.stack(
                [(weights * values[:, None, :, c]).sum(axis=2) for c in range(len(head.value))],
                axis=2,
            ) / np.where(total == 0, 1, total)
            after = after + mean @ array(head.output, len(head.value)).T
        x = after
        forward = layer.feed_forward
        if forward is not None:
            units = len(forward.in_weights)
            bias = array((forward.in_bias,), units)[0]
            hidden = np.maximum(x @ array(forward.in_weights, d).T + bias, 0)
            x = x + hidden @ array(forward.out_weights, units).T
            x = x + array((forward.out_bias,), d)[0]
    result = x @ array((model.output_weights,), d)[0] + wide(model.output_bias)
    return result[:, int(model.bos) :][:, :n]


def _fraction(x: Any) -> Fraction:
    if isinstance(x, Decimal):
        return Fraction(x)
    head = float(x)
    return Fraction(head) + Fraction(float(x - np.longdouble(head)))
