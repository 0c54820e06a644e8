"""The dense runtime's answers at a few positions of a very long word.

All of a word of millions of symbols would need a score for every pair of positions. The answers
at a few positions need only their own rows of the last layer that has scores, as long as all
layers before only average, which the dense runtime does in linear time. The steps are those of
`Ready.step`, in the same formats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.models.model import Model
from softhat.numbers.positions import floats
from softhat.numerics import walk
from softhat.runtime.dense import Floats, Ready, ReadyHead, ReadyLayer
from softhat.transformer.weights import inverse_temperature, scale

Array = NDArray[Any]
PIECE = 1 << 20


def margins_at(model: Model, codes: Array, positions: Array, dtype: str) -> Array:
    """Margins (positions, outputs) of the word `codes` at 0-based `positions`."""
    ready = model.ready(dtype)
    x = _embedded(ready, codes)
    rows = np.asarray(positions, np.int64) + 1
    for layer in ready.layers[:-1]:
        if any(head.query.shape[0] for head in layer.heads):
            raise SofthatError("only the last layer may have scores: sample a shallower model")
        x = ready.step(layer, x.T[None], keep=False)[0][0].T
    sampled = np.ascontiguousarray(x[:, rows])
    if ready.layers:
        sampled = _step(ready, ready.layers[-1], x, sampled, rows)
    margins: Array = ready.form.round(ready.readout(sampled) + ready.readout_bias).T
    return margins


def _embedded(ready: Ready, codes: Array) -> Array:
    """(d_model, rows): `Ready.embed` a piece at a time."""
    t, form = ready.transformer, ready.form
    n = len(codes)
    sinks = np.arange(len(t.symbols), len(t.symbols) + 2)
    tokens = np.concatenate([sinks[:1], codes, sinks[1 : 1 + t.has_eos]])
    x = np.empty((t.d_model, len(tokens)), form.accumulate)
    for start in range(0, len(tokens), PIECE):
        stop = min(start + PIECE, len(tokens))
        places = scale(t.attention, n)
        table = floats(t.positions, n, eos=t.has_eos, scale=places, start=start, stop=stop)
        piece = ready.embedding.take(tokens[start:stop], axis=1)
        x[:, start:stop] = form.round(piece + ready.position_embedding(form.load(table.T)))
    return x


def _step(ready: Ready, layer: ReadyLayer, x: Array, sampled: Array, rows: Array) -> Array:
    """One layer at the sampled rows."""
    form = ready.form
    count = len(rows)
    outputs = np.zeros((len(layer.heads), layer.d_v, count), form.accumulate)
    for o, head in zip(outputs, layer.heads, strict=True):
        o[head.values] = _attend(ready, head, x, sampled, rows)
    if layer.heads:
        sampled = form.round(sampled + layer.output(outputs.reshape(-1, count)))
    return walk.feed_forward(Floats(form), layer, sampled) if layer.into_bias.size else sampled


def _attend(ready: Ready, head: ReadyHead, x: Array, sampled: Array, rows: Array) -> Array:
    form = ready.form
    length = x.shape[1]
    k = _projected(head.key, x, form)
    k = k.astype(ready.attention.summing(len(k)), copy=False)  # once, not for each row
    v = _projected(head.value, x, form)
    q = form.round(head.query(sampled))
    beta = inverse_temperature(head.law, length - len(ready.transformer.sinks))
    out = np.empty((len(head.values), len(rows)), form.accumulate)
    for at, row in enumerate(rows.tolist()):
        low, high = (row if head.mask == ">=" else 0), (row + 1 if head.mask == "<=" else length)
        if len(q) == 0:
            scores = np.zeros((1, high - low), form.accumulate)
        else:
            query, keys = q[:, at : at + 1].T.copy(), k[:, low:high]
            (scores,) = ready.attention._scores(query[None], keys[None], beta)
        weights = ready.attention._weights(scores, scores.max(axis=1, keepdims=True))
        total = weights.sum(axis=1)
        out[:, at] = (v[:, low:high] @ weights[0]) / total
    return form.round(out)


def _projected(matrix: Any, x: Array, form: Any) -> Array:
    made = np.empty((matrix.shape[0], x.shape[1]), form.accumulate)
    for start in range(0, x.shape[1], PIECE):
        piece = slice(start, start + PIECE)
        made[:, piece] = form.round(matrix(x[:, piece]))
    return made
