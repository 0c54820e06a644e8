"""The ledger: a weight is read by the step that accounts for it, or nothing is proved.

**The invariant of this room.** A checker that looks for what it knows passes over what it does not
know. So all weights are in the ledger before anything is derived, and there is no other way to
them: a step of the walk takes what it loads out of the ledger, the whole of it. Nothing is taken
twice, and what is left when all is derived voids the certificate. No number is outside its tensor,
or at a place where there is another, and tensors are as large as the model says. No name
means two outputs, or two tokens.

Three more rules hold in all of the room. What is known is known of a *coordinate*, never of what a
coordinate holds: two coordinates may hold the same. A limit only ever shrinks. A tolerance is read
from the weights, never taken from those who made them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.cells import Form, Rows
from softhat.transformer.weights import BOS, EOS, Layer, Sparse, Transformer

Entry = tuple[int, str, int]
"""(layer, tensor, head), both counted from 0; -1 for none."""


class Ledger:
    """The weights of a transformer that no step has taken yet."""

    def __init__(self, t: Transformer) -> None:
        if not t.is_finite:
            raise VoidError("a weight is not a finite number")
        if t.sinks not in ((BOS,), (BOS, EOS)):
            raise VoidError(f"the sinks are {' '.join(t.sinks)}, not {BOS} and perhaps {EOS}")
        for names in (t.outputs, t.tokens):
            if len(set(names)) < len(names):
                raise VoidError(f"of {' '.join(names)} two have the same name")
        self._left: dict[Entry, Form | Rows] = {}
        width = t.d_model
        self._enter(-1, "embedding", t.embedding, len(t.tokens), width)
        self._enter(-1, "position_embedding", t.position_embedding, width, len(t.positions))
        self._enter(-1, "readout", t.readout, len(t.outputs), width)
        self._enter(-1, "readout_bias", t.readout_bias, len(t.outputs))
        for number, layer in enumerate(t.layers):
            heads, units = len(layer.masks), len(layer.into_bias)
            if {len(layer.laws), len(layer.labels)} != {heads}:
                raise VoidError(f"layer {number}: masks and laws of different numbers of heads")
            products, values = layer.query.shape[1], layer.value.shape[1]
            self._enter(number, "query", layer.query, heads, products, width)
            self._enter(number, "key", layer.key, heads, products, width)
            self._enter(number, "value", layer.value, heads, values, width)
            self._enter(number, "output", layer.output, heads, width, values)
            self._enter(number, "into", layer.into, units, width)
            self._enter(number, "into_bias", layer.into_bias, units)
            self._enter(number, "out", layer.out, width, units)
            self._enter(number, "out_bias", layer.out_bias, width)
        self.layers = [Loaded(self, layer, k) for k, layer in enumerate(t.layers)]

    def _enter(self, layer: int, name: str, tensor: Sparse | np.ndarray, *shape: int) -> None:
        if tensor.shape != shape:
            raise VoidError(f"{_text((layer, name, -1))} is {tensor.shape} and not {shape}")
        if not isinstance(tensor, Sparse):
            (at,) = tensor.nonzero()
            self._left[layer, name, -1] = dict(zip(at.tolist(), tensor[at].tolist(), strict=True))
            return
        axes = [axis.tolist() for axis in tensor.where]
        for axis, size in zip(axes, shape, strict=True):
            if axis and not (min(axis) >= 0 and max(axis) < size):
                raise VoidError(f"{_text((layer, name, -1))} has a number outside {shape}")
        heads = range(shape[0]) if len(shape) == 3 else (-1,)
        blocks: dict[int, Rows] = {head: {} for head in heads}
        block = axes[0] if len(shape) == 3 else repeat(-1)
        for head, row, at, weight in zip(block, *axes[-2:], tensor.values.tolist(), strict=False):
            form = blocks[head].setdefault(row, {})
            if at in form:
                raise VoidError(f"{_text((layer, name, head))} is written twice at one place")
            form[at] = weight
        self._left |= {(layer, name, head): rows for head, rows in blocks.items()}

    def take(self, tensor: str, layer: int = -1, head: int = -1) -> Any:
        """These weights, accounted for by whoever takes them: nobody else can."""
        entry = (layer, tensor, head)
        if entry not in self._left:
            raise VoidError(f"{_text(entry)} is accounted for twice")
        return self._left.pop(entry)

    def close(self) -> None:
        """All is derived: no number may be left."""
        for entry, weights in self._left.items():
            if weights:
                raise VoidError(f"{_text(entry)} is accounted for by nothing")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A layer, or a head of it, for the steps of the walk: its tensors come out of the ledger."""

    ledger: Ledger
    of: Layer
    layer: int
    head: int = -1

    @property
    def heads(self) -> list[Loaded]:
        """Those of a layer."""
        return [replace(self, head=h) for h in range(len(self.of.masks))]

    def __getattr__(self, tensor: str) -> Any:
        return self.ledger.take(tensor, self.layer, self.head)

    def __str__(self) -> str:
        return f"layer {self.layer}, head {self.head}"


def _text(entry: Entry) -> str:
    layer, tensor, head = entry
    of_head = f", head {head}" if head >= 0 else ""
    return f"layer {layer}{of_head}: {tensor}" if layer >= 0 else tensor
