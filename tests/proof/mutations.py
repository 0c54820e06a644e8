"""Models with one weight changed by hand, and where the fault then is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from softhat.models.model import Model
from softhat.transformer.weights import Layer, Sparse

SHARED = ("embedding", "position_embedding", "readout", "readout_bias")
PART = {
    "embedding": "embedding",
    "position_embedding": "position",
    "readout": "readout",
    "readout_bias": "readout",
}


@dataclass(frozen=True)
class Mutation:
    """Set one entry of a tensor to another value. `layer` is None for the shared tensors."""

    layer: int | None
    tensor: str
    index: tuple[int, ...]
    value: float

    @property
    def place(self) -> tuple[str, int | None, int | None]:
        """Part, layer and head that this entry belongs to."""
        if self.layer is None:
            return PART[self.tensor], None, None
        if self.tensor in ("query", "key", "value", "output"):
            return "head", self.layer, self.index[0]
        return "gate", self.layer, None

    def apply(self, model: Model) -> Model:
        t = model.transformer
        if self.layer is None:
            changed = replace(t, **{self.tensor: self._changed(getattr(t, self.tensor))})
            return Model(changed, model.formulas)
        layers = list(t.layers)
        layer = layers[self.layer]
        layers[self.layer] = replace(
            layer, **{self.tensor: self._changed(getattr(layer, self.tensor))}
        )
        return Model(replace(t, layers=tuple(layers)), model.formulas)

    def _changed(self, tensor: Any) -> Any:
        array = tensor.dense() if isinstance(tensor, Sparse) else tensor.copy()
        array[self.index] = self.value
        return Sparse.from_dense(array) if isinstance(tensor, Sparse) else array


def mutations(model: Model) -> Iterator[Mutation]:
    """Every nonzero weight removed, turned round, and made four times as large."""
    t = model.transformer
    tensors: list[tuple[int | None, str, Any]] = [(None, name, getattr(t, name)) for name in SHARED]
    for k, layer in enumerate(t.layers):
        tensors += [(k, name, getattr(layer, name)) for name in Layer.TENSORS]
    for layer_number, name, tensor in tensors:
        array = tensor.dense() if isinstance(tensor, Sparse) else tensor
        for at in np.argwhere(array != 0).tolist():
            index = tuple(at)
            for factor in (0.0, -1.0, 4.0):
                yield Mutation(layer_number, name, index, factor * float(array[index]))


def matters(model: Model, alphabet: str, longest: int) -> bool:
    """Whether the model is wrong on some word of at most `longest` symbols."""
    (formula,) = model.formulas.values()
    for n in range(1, longest + 1):
        words = ["".join(word) for word in product(alphabet, repeat=n)]
        says = model.run_batch(np.stack([model.encode(word) for word in words]))[..., 0] > 0
        if (says != np.stack(formula.truth_many(words))).any():
            return True
    return False
