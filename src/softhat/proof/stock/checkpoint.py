"""A stock checkpoint as its folder holds it: tensors, vocabulary and head, whatever runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.logic.sources import Weights

Array = NDArray[np.float32]
HeadName = Literal["token-classification", "lm", "multi-label"]


@dataclass(frozen=True, kw_only=True)
class StockCheckpoint:
    """What the proofs of all architectures read. Token t < len(tokens) is an ordinary token."""

    symbols: tuple[str, ...]
    propositional: bool
    tokens: tuple[frozenset[str], ...]
    """Which symbols (or propositions) hold at each ordinary token."""
    bos: int
    n_head: int
    epsilon: float
    head: HeadName
    tensors: Mapping[str, Array]
    weights: Weights | None = None
    """The log-weights that a language model is claimed to have, where it states any."""
    greedy: bool = False
    """Is a language model claimed to allow exactly one token after every history?"""

    def tensor(self, name: str, *shape: int) -> Array:
        """A tensor of that shape (any shape if none is given)."""
        tensor = self.tensors.get(name)
        if tensor is None:
            raise VoidError(f"there is no tensor {name}")
        if shape and tensor.shape != shape:
            raise VoidError(f"{name} has the shape {tensor.shape}, not {shape}")
        if not np.isfinite(tensor).all():
            raise VoidError(f"{name} has an entry that is not a finite number")
        return tensor

    def blocks_under(self, prefix: str) -> int:
        """How many blocks have tensors named `prefix.number.…`."""
        start = f"{prefix}."
        names = [name.removeprefix(start) for name in self.tensors if name.startswith(start)]
        return max((int(name.split(".")[0]) for name in names), default=-1) + 1
