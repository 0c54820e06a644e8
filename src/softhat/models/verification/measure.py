"""How far soft attention is from hard attention, measured head by head.

The *leak* of a head at a position is the largest |soft output - hard output| over its value
coordinates, where the hard output is that of the same head in the model that the formulas
compile to with `attention="hard"`, in float64. It is at most the attention weight outside the
argmax set (values lie in [0, 1]), and it is what a gate sees. The *margin* of a head whose
output is a bit is its distance from 1/2 on the right side, 1/2 minus the leak. Only the word's
own positions count: at the sinks every gate gives 0 whatever the heads say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.models.compiler import compile
from softhat.models.model import Model
from softhat.numerics.formats import format_of
from softhat.runtime.dense import Ready
from softhat.transformer.weights import Attention, Coordinate, Layer, Sparse, Transformer

Array = NDArray[Any]


@dataclass(frozen=True)
class Probed:
    """A transformer in a number format, with a coordinate for each head output."""

    ready: Ready
    owner: NDArray[np.int64]
    """The head (counted over all layers) of each added coordinate."""

    def outputs(self, tokens: Array) -> Array:
        """(words, n, added coordinates): what each head said at the word's own positions."""
        return self.run(tokens)[0]

    def run(self, tokens: Array) -> tuple[Array, Array]:
        """`outputs`, and the margins (words, n, outputs)."""
        x = self.ready.embed(tokens)
        for layer in self.ready.layers:
            x, _ = self.ready.step(layer, x, keep=False)
        own = x[:, 1 : tokens.shape[1] + 1, x.shape[-1] - len(self.owner) :]
        return np.asarray(own, np.float64), self.ready.margins(x)


Taps = tuple[NDArray[np.int64], ...]
"""For each layer the (head, value coordinate) pairs to listen to."""


def taps_of(t: Transformer) -> Taps:
    """The value coordinates that are written anywhere; others are padding."""
    return tuple(
        np.unique(np.stack([layer.output.where[0], layer.output.where[2]], axis=1), axis=0)
        for layer in t.layers
    )


def probed(t: Transformer, dtype: str, taps: Taps) -> Probed:
    """`t` with fresh coordinates that nothing reads, into which heads write their outputs."""
    firsts = first_heads(t)
    owner = np.concatenate(
        [np.zeros(0, np.int64)] + [k + tap[:, 0] for k, tap in zip(firsts, taps, strict=True)]
    )
    d, wide = t.d_model, t.d_model + len(owner)
    layers, at = [], d
    for layer, tap in zip(t.layers, taps, strict=True):
        added = (tap[:, 0], at + np.arange(len(tap)), tap[:, 1])
        where = tuple(np.concatenate(pair) for pair in zip(layer.output.where, added, strict=True))
        layers.append(
            replace(
                layer,
                query=_widened(layer.query, 2, wide),
                key=_widened(layer.key, 2, wide),
                value=_widened(layer.value, 2, wide),
                output=Sparse(
                    (layer.output.shape[0], wide, layer.output.shape[2]),
                    where,
                    np.append(layer.output.values, np.ones(len(tap))),
                ),
                into=_widened(layer.into, 1, wide),
                out=_widened(layer.out, 0, wide),
                out_bias=np.append(layer.out_bias, np.zeros(wide - d)),
            )
        )
        at += len(tap)
    extended = replace(
        t,
        embedding=_widened(t.embedding, 1, wide),
        position_embedding=_widened(t.position_embedding, 0, wide),
        layers=tuple(layers),
        readout=_widened(t.readout, 1, wide),
        coordinates=t.coordinates + (Coordinate(()),) * len(owner),
    )
    return Probed(Ready(extended, format_of(dtype)), owner)


def first_heads(t: Transformer) -> list[int]:
    """The number of each layer's first head, heads counted over all layers."""
    counts = [len(layer.labels) for layer in t.layers]
    return [sum(counts[:k]) for k in range(len(counts))]


def _widened(tensor: Sparse, axis: int, width: int) -> Sparse:
    shape = (*tensor.shape[:axis], width, *tensor.shape[axis + 1 :])
    return Sparse(shape, tensor.where, tensor.values)


def pristine(model: Model, attention: Attention) -> Transformer | None:
    """What the model's formulas compile to; None if the model is built another way, so that
    its parts cannot be compared with it one by one."""
    t = model.transformer
    if t.propositional:
        fresh = compile(model.formulas, propositions=t.symbols, attention=attention).transformer
    else:
        fresh = compile(model.formulas, t.symbols, attention=attention).transformer
    same = [layer.labels for layer in fresh.layers] == [layer.labels for layer in t.layers]
    same &= [layer.value.shape[:2] for layer in fresh.layers] == [
        layer.value.shape[:2] for layer in t.layers
    ]
    if same and attention == t.attention:
        same = fresh.d_model == t.d_model and all(
            _shapes(a) == _shapes(b) for a, b in zip(fresh.layers, t.layers, strict=True)
        )
        same &= fresh.positions == t.positions and fresh.sinks == t.sinks
    return fresh if same else None


def _shapes(layer: Layer) -> list[tuple[int, ...]]:
    return [getattr(layer, name).shape for name in Layer.TENSORS]


class Meter:
    """Measures a model's heads on words, in a number format and in float64."""

    def __init__(self, model: Model, dtype: str) -> None:
        self.heads = model.size.heads
        hard = pristine(model, "hard")
        self.able = hard is not None and self.heads > 0
        if hard is not None and self.able:
            taps = taps_of(hard)
            self._hard = probed(hard, "float64", taps)
            self._soft = probed(model.transformer, dtype, taps)
            self._exact = probed(model.transformer, "float64", taps)

    def leaks(self, tokens: Array) -> tuple[Array, Array]:
        """(words, heads): each head's largest leak in each word, in the format and in float64."""
        hard = self._hard.outputs(tokens)
        soft = np.abs(self._soft.outputs(tokens) - hard).max(axis=1)
        if self._soft.ready.form is self._exact.ready.form:
            return (same := self._by_head(soft)), same
        exact = np.abs(self._exact.outputs(tokens) - hard).max(axis=1)
        return self._by_head(soft), self._by_head(exact)

    def _by_head(self, coordinates: Array) -> Array:
        by_head = np.zeros((self.heads, len(coordinates)))
        # NaN (an overflow in a narrow format) is as wrong as can be.
        worst = np.where(np.isnan(coordinates), np.inf, coordinates)
        np.maximum.at(by_head, self._soft.owner, worst.T)
        return by_head.T
