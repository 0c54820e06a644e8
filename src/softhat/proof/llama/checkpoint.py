"""A stock Llama as its folder holds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softhat.proof.stock.checkpoint import StockCheckpoint

FAMILIES = ("llama", "mistral", "qwen2")
"""What one checkpoint describes, as configurations name it."""


@dataclass(frozen=True, kw_only=True)
class LlamaCheckpoint(StockCheckpoint):
    """Everything that the proof reads."""

    family: str
    context: int
    n_kv: int
    head_dim: int
    theta: float
    factor: float
    """Of linear scaling of the frequencies; 1 for none."""

    def stored_as(self, dtype: Any) -> LlamaCheckpoint:
        """The checkpoint as it is loaded in a number format: every weight rounded to it."""
        with np.errstate(over="ignore"):
            cast = {n: t.astype(dtype).astype(np.float32) for n, t in self.tensors.items()}
        return replace(self, tensors=cast)

    def rows_of(self, head: int) -> tuple[slice, slice]:
        """Where a head's queries are, and the keys and values that it shares with others."""
        size, group = self.head_dim, head // (self.n_head // self.n_kv)
        return (
            slice(head * size, (head + 1) * size),
            slice(group * size, (group + 1) * size),
        )

    @property
    def d_model(self) -> int:
        return int(self.tensor("model.embed_tokens.weight").shape[1])

    @property
    def blocks(self) -> int:
        return self.blocks_under("model.layers")
