"""The ledger: every number of a transformer is accounted for once, or nothing is proved.

**The invariant of this room.** A checker that looks for what it knows passes over what it does not
know. So here every row with a number in it (a coordinate of the embeddings, a head's queries, keys,
values and outputs, a hidden unit and its bias, what is written to a coordinate, a read-out) is
entered before anything is read. It is taken out by the step that says what the row means, and only
there: a step reads *all* of a row, or raises `VoidError`. A row that is taken twice, or left when
all is derived, voids the certificate.

Three more rules hold in all of the room. What is known is known of a *coordinate*, never of what a
coordinate holds: two coordinates may hold the same. A limit only ever shrinks. A tolerance is read
from the weights, never taken from those who made them.
"""

from __future__ import annotations

import numpy as np

from softhat.io.errors import VoidError
from softhat.transformer.weights import Layer, Sparse, Transformer

Row = tuple[int | None, str, int]
"""(layer from 0, or None; tensor; row)."""

_BY_COLUMN = ("embedding",)
"""A token embedding is read by coordinates, which are its columns."""
SHARED = ("embedding", "position_embedding", "readout", "readout_bias")


class Ledger:
    """The rows of a transformer that nothing accounts for yet."""

    def __init__(self, t: Transformer) -> None:
        self._open: set[Row] = set()
        self._accounted: set[Row] = set()
        for name in SHARED:
            self._enter(None, name, getattr(t, name))
        for number, layer in enumerate(t.layers):
            for name in Layer.TENSORS:
                self._enter(number, name, getattr(layer, name))
            heads = {layer.query.shape[0], layer.key.shape[0], layer.value.shape[0]}
            heads |= {layer.output.shape[0], len(layer.masks), len(layer.laws)}
            if len(heads) != 1:
                raise VoidError(f"layer {number}: its tensors have different numbers of heads")

    def _enter(self, layer: int | None, name: str, tensor: Sparse | np.ndarray) -> None:
        if not isinstance(tensor, Sparse):
            self._open |= {(layer, name, int(row)) for row in np.flatnonzero(tensor)}
            return
        where = [axis.tolist() for axis in tensor.where]
        places = list(zip(*where, strict=True))
        if len(set(places)) < len(places):
            raise VoidError(f"{_text((layer, name, 0))} is written twice at one place")
        rows = where[1 if name in _BY_COLUMN else 0]
        values = tensor.values.tolist()
        self._open |= {(layer, name, row) for row, w in zip(rows, values, strict=True) if w}

    def take(self, layer: int | None, name: str, row: int) -> None:
        """This row is accounted for, here and nowhere else."""
        entry = (layer, name, row)
        if entry in self._accounted:
            raise VoidError(f"{_text(entry)} is accounted for twice")
        self._accounted.add(entry)
        self._open.discard(entry)

    def close(self) -> None:
        """All is derived: nothing may be left."""
        if self._open:
            left = min(self._open, key=lambda row: (row[0] is None, row[0] or 0, *row[1:]))
            raise VoidError(f"{_text(left)} is accounted for by nothing")


def _text(row: Row) -> str:
    layer, name, number = row
    where = "" if layer is None else f"layer {layer}: "
    return f"{where}row {number} of {name}"
