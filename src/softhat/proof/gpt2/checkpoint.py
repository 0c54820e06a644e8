"""A stock GPT-2 as its folder holds it: tensors, and the few facts of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softhat.logic.sources import Weights
from softhat.proof.cells import VoidError

Array = NDArray[np.float32]
Pairs = NDArray[np.float64]
HeadName = Literal["token-classification", "lm", "multi-label"]


@dataclass(frozen=True)
class Checkpoint:
    """Everything that the proof reads. Token t < len(tokens) is an ordinary token."""

    symbols: tuple[str, ...]
    propositional: bool
    tokens: tuple[frozenset[str], ...]
    """Which symbols (or propositions) hold at each ordinary token."""
    bos: int
    n_head: int
    activation: str
    epsilon: float
    head: HeadName
    tensors: Mapping[str, Array]
    weights: Weights | None = None
    """The log-weights that a language model is claimed to have, where it states any."""

    def __post_init__(self) -> None:
        need = {"transformer.wte.weight", "transformer.wpe.weight", "transformer.ln_f.weight"}
        missing = need - set(self.tensors)
        if missing:
            raise VoidError(f"there is no tensor {min(missing)}")

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

    @property
    def context(self) -> int:
        return int(self.tensors["transformer.wpe.weight"].shape[0])

    @property
    def d_model(self) -> int:
        return int(self.tensors["transformer.wpe.weight"].shape[1])

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_head

    @property
    def blocks(self) -> int:
        numbers = [int(name.split(".")[2]) for name in self.tensors if ".h." in name]
        return max(numbers, default=-1) + 1


def read_pairs(matrix: Array, where: str) -> Pairs:
    """(d_model, columns) as weights on pairs v = (x₊ - x₋)/2: w on x₊, -w on x₋ is 2w on v."""
    if not np.array_equal(matrix[0::2], -matrix[1::2]):
        raise VoidError(f"{where} does not read pairs of opposite sign")
    weights: Pairs = matrix[0::2].astype(np.float64) * 2
    return weights


def written_pairs(matrix: Array, where: str) -> Pairs:
    """(rows, d_model) as what is added to v of each pair."""
    if not np.array_equal(matrix[:, 0::2], -matrix[:, 1::2]):
        raise VoidError(f"{where} does not write pairs of opposite sign")
    return matrix[:, 0::2].astype(np.float64)
