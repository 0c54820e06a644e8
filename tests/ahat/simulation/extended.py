"""The softmax model in extended precision, straight from its definition.

Nothing here comes from the code under test but the data classes. `wide` uses the machine's long
doubles (64 bits of significand), `decimal` as many digits as asked for: exponential laws need them.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
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


def _fraction(x: Any) -> Fraction:
    if isinstance(x, Decimal):
        return Fraction(x)
    head = float(x)
    return Fraction(head) + Fraction(float(x - np.longdouble(head)))
