"""The softmax model of an AHAT on many words: in floats by the runtime, in extended precision here.

The extended-precision pass shares no code with the runtime: it is what bounds in the reals are
compared with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.finite_floats import FiniteFloats
from softhat.ahat.simulation.lengths import Lengths
from softhat.ahat.simulation.short_floats import Known
from softhat.ahat.simulation.simulation import Simulation
from softhat.numerics.formats import FORMATS
from tests.ahat.definition import array, embed, sees, wide

Betas = Mapping[tuple[int, int], float]


def known(model: AHAT) -> Known:
    """What the analysis says of gaps and ties."""
    laws = gap_laws(model)
    heads = sorted(laws.gap.items())
    return tuple((name, law, laws.portrait.copies[name]) for name, law in heads if law is not None)


def values(
    model: AHAT, betas: Betas, codes: npt.NDArray[np.int64], dtype: str = "float64"
) -> npt.NDArray[Any]:
    """(words, n) values on words of one length."""
    if dtype == "longdouble":
        return wide_values(model, betas, codes)
    return Simulation(model, betas, codes.shape[1]).run_batch(codes, dtype)[..., 0]


def float_bound(lengths: Lengths, n: int, betas: Betas, dtype: str) -> float:
    """What is certified of constant β in a number format, over all words of length n."""
    every = {name: betas.get(name, 1.0) for name in lengths.model.heads}
    floats = FiniteFloats(lengths, every)
    return floats.bound(n, lengths.bound(n, every), FORMATS[dtype], math.inf).error


def wide_values(
    model: AHAT, betas: Betas, codes: npt.NDArray[np.int64]
) -> npt.NDArray[np.longdouble]:
    n = codes.shape[1]
    table = np.array(
        [
            [[wide(x) for x in row] for row in embed(model, (symbol,) * n)]
            for symbol in model.alphabet
        ]
    )
    offset = int(model.bos)
    x = table[codes, np.arange(n) + offset]
    if model.bos:
        first = np.broadcast_to(table[0, 0], (len(codes), 1, table.shape[-1]))
        x = np.concatenate([first, x], axis=1)
    if model.eos:
        last = np.broadcast_to(table[0, -1], (len(codes), 1, table.shape[-1]))
        x = np.concatenate([x, last], axis=1)
    rows, d = x.shape[1:]
    for l, layer in enumerate(model.layers):
        added = np.zeros_like(x)
        for h, head in enumerate(layer.heads):
            query, key, value = (array(m, d) for m in (head.query, head.key, head.value))
            scores = (np.longdouble(betas.get((l, h), 1.0)) * x @ query.T) @ np.swapaxes(
                x @ key.T, 1, 2
            )
            seen = np.array([[sees(head.mask, i, j) for j in range(rows)] for i in range(rows)])
            scores = np.where(seen, scores, -np.inf)
            top = scores.max(axis=2, keepdims=True)
            weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
            total = weights.sum(axis=2, keepdims=True)
            mean = weights @ (x @ value.T) / np.where(total == 0, 1, total)
            if len(head.value):
                added += mean @ array(head.output, len(head.value)).T
        x = x + added
        ff = layer.feed_forward
        if ff is not None:
            into, out = array(ff.in_weights, d), array(ff.out_weights, len(ff.in_weights))
            bias, out_bias = (np.array([wide(b) for b in row]) for row in (ff.in_bias, ff.out_bias))
            x = x + np.maximum(x @ into.T + bias, 0) @ out.T + out_bias
    weights = np.array([wide(w) for w in model.output_weights])
    result: npt.NDArray[np.longdouble] = (x @ weights + wide(model.output_bias))[
        :, offset : offset + n
    ]
    return result
