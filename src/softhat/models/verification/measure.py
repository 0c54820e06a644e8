"""How far soft attention is from hard attention, measured head by head.

The *leak* of a head at a position is the largest |soft output - hard output| over its value
coordinates, where the hard output is that of the same head in the model that the formulas
compile to with `attention="hard"`, in float64. It is at most the attention weight outside the
argmax set (values lie in [0, 1]), and it is what a gate sees. The *margin* of a head whose
output is a bit is its distance from 1/2 on the right side, 1/2 minus the leak. Only the word's
own positions count: at the sinks every gate gives 0 whatever the heads say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.models.compiler import compile
from softhat.models.model import Model
from softhat.numerics.formats import format_of
from softhat.runtime.dense import Ready
from softhat.runtime.heard import Heard, listen
from softhat.transformer.weights import Attention, Layer, Transformer

Array = NDArray[Any]


Taps = tuple[NDArray[np.int64], ...]
"""For each layer the (head, value coordinate) pairs to listen to."""


def taps_of(t: Transformer) -> Taps:
    """The value coordinates that are written anywhere; others are padding."""
    return tuple(
        np.unique(np.stack([layer.output.where[0], layer.output.where[2]], axis=1), axis=0)
        for layer in t.layers
    )


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
    """Measures a model's heads: what they read beside what hard attention reads."""

    def __init__(self, model: Model) -> None:
        self.heads = model.size.heads
        hard = pristine(model, "hard")
        self.able = hard is not None and self.heads > 0
        if hard is not None and self.able:
            self._taps = taps_of(hard)
            self._hard = Ready(hard, format_of("float64"))
            counts = [len(layer.labels) for layer in hard.layers]
            firsts = np.cumsum(counts) - counts
            taps = zip(firsts, self._taps, strict=True)
            self._owner = np.concatenate([first + tap[:, 0] for first, tap in taps])
            """The head, counted over all layers, of each tap."""

    def hard(self, groups: Sequence[Array]) -> Array:
        """What hard attention reads in words, those of each group of one length."""
        return self._tapped(listen(self._hard, groups))

    def leaks(self, heard: Heard, hard: Array) -> Array:
        """(words, heads): each head's largest leak in each word, the longest words first."""
        off = np.abs(self._tapped(heard) - hard).max(axis=1)
        # NaN (an overflow in a narrow format) is as wrong as can be.
        off = np.where(np.isnan(off), np.inf, off)
        by_head = np.zeros((self.heads, off.shape[1]))
        np.maximum.at(by_head, self._owner, off)
        return by_head.T

    def _tapped(self, heard: Heard) -> Array:
        """(taps, positions, words)"""
        taps = zip(heard.reads, self._taps, strict=True)
        return np.concatenate([read[tap[:, 0], tap[:, 1]] for read, tap in taps], dtype=np.float64)
