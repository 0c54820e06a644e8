"""Exact hard attention of an AHAT: the walk in rationals, and all that happens in it.

All words of a batch have the same length (`numerics.exact`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from softhat.ahat.model import AHAT, Head, Layer
from softhat.numbers.positions import exact
from softhat.numerics import walk
from softhat.numerics.exact import Exact, HeadTrace, Scaled, attended, integers


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


class _Traced(Exact):
    """One layer, with what its heads do and what its hidden units read."""

    def __init__(self) -> None:
        self.heads: list[HeadTrace] = []
        self.pre: Scaled | None = None

    def attend(self, query: Scaled, key: Scaled, value: Scaled, head: Head) -> Scaled:
        self.heads.append(attended(query, key, value, head.mask, head.ties))
        return self.heads[-1].mean

    def relu(self, x: Scaled) -> Scaled:
        self.pre = x
        return super().relu(x)


def run(model: AHAT, codes: npt.NDArray[np.int64]) -> ExactTrace:
    """Evaluate the model exactly on words given as a (words, n) array of symbol numbers."""
    x = embed(model, codes)
    layers = []
    for layer in model.layers:
        trace, x = _layer(layer, x)
        layers.append(trace)
    output = walk.read_out(Exact(), (model.output_weights,), (model.output_bias,), x)
    output = Scaled(output.num[..., 0], output.den)
    return ExactTrace(codes, int(model.bos), tuple(layers), x, output)


def last_rows(model: AHAT, codes: npt.NDArray[np.int64]) -> tuple[tuple[HeadTrace, ...], ...]:
    """Every head of every layer, at the last position only: (W, 1, T) in place of (W, T, T)."""
    x = embed(model, codes)
    layers = []
    for layer in model.layers[:-1]:
        trace, x = _layer(layer, x)
        layers.append(tuple(head.last for head in trace.heads))
    for layer in model.layers[-1:]:
        domain = _Traced()
        walk.attention(domain, layer, Scaled(x.num[:, -1:], x.den), x)
        layers.append(tuple(domain.heads))
    return tuple(layers)


def _layer(layer: Layer, x: Scaled) -> tuple[LayerTrace, Scaled]:
    """What happens in a layer, and the residual stream after it."""
    domain, before = _Traced(), x
    middle = x = walk.attention(domain, layer, x)
    if layer.feed_forward is not None:
        ff = layer.feed_forward
        units = walk.Units(ff.in_weights, ff.in_bias, ff.out_weights, ff.out_bias)
        x = walk.feed_forward(domain, units, x)
    return LayerTrace(before, tuple(domain.heads), middle, domain.pre), x


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
