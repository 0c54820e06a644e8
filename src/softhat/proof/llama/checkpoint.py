"""A stock Llama as its folder holds it: tensors, and the few facts of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.logic.sources import Weights
from softhat.proof.cells import VoidError

Array = NDArray[np.float32]
HeadName = Literal["token-classification", "lm", "multi-label"]


@dataclass(frozen=True)
class LlamaCheckpoint:
    """Everything that the proof reads. Token t < len(tokens) is an ordinary token."""

    symbols: tuple[str, ...]
    propositional: bool
    tokens: tuple[frozenset[str], ...]
    """Which symbols (or propositions) hold at each ordinary token."""
    bos: int
    family: str
    context: int
    n_head: int
    n_kv: int
    head_dim: int
    theta: float
    factor: float
    """Of linear scaling of the frequencies; 1 for none."""
    epsilon: float
    head: HeadName
    tensors: Mapping[str, Array]
    weights: Weights | None = None
    """The log-weights that a language model is claimed to have, where it states any."""

    def tensor(self, name: str, *shape: int) -> Array:
        """A tensor of that shape (any shape if none is given)."""
        found = self.tensors.get(name)
        if found is None:
            raise VoidError(f"there is no tensor {name}")
        if shape and found.shape != shape:
            raise VoidError(f"{name} has the shape {found.shape}, not {shape}")
        if not np.isfinite(found).all():
            raise VoidError(f"{name} has an entry that is not a finite number")
        return found

    def stored_as(self, dtype: Any) -> LlamaCheckpoint:
        """The checkpoint as it is loaded in a number format: every weight rounded to it."""
        with np.errstate(over="ignore"):
            cast = {n: t.astype(dtype).astype(np.float32) for n, t in self.tensors.items()}
        return replace(self, tensors=cast)

    @property
    def d_model(self) -> int:
        return int(self.tensor("model.embed_tokens.weight").shape[1])

    @property
    def blocks(self) -> int:
        names = [name for name in self.tensors if name.startswith("model.layers.")]
        return max((int(name.split(".")[2]) for name in names), default=-1) + 1
