"""A stock Llama as its folder holds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.stock.checkpoint import StockCheckpoint
from softhat.transformer.decoders import LlamaBlock

FAMILIES = ("llama", "mistral", "qwen2")
"""What one checkpoint describes, as configurations name it."""


@dataclass(frozen=True, kw_only=True)
class LlamaCheckpoint(StockCheckpoint):
    """Everything that the proof reads."""

    CLASSIFIER = "score"

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
        return self.blocks_of(LlamaBlock)

    def block(self, at: int) -> LlamaBlock:
        """The matrices of a block, which has no biases."""
        name = f"model.layers.{at}"
        for kind in "qkvo":
            bias = self.tensors.get(f"{name}.self_attn.{kind}_proj.bias")
            if bias is not None and np.asarray(bias).any():
                raise VoidError(f"{name}.self_attn.{kind}_proj.bias is not 0")
        for kind in ("gate", "up", "down"):
            if f"{name}.mlp.{kind}_proj.bias" in self.tensors:
                raise VoidError(f"{name}.mlp.{kind}_proj has a bias")
        hidden = len(self.tensor(f"{name}.mlp.gate_proj.weight"))
        queries, keys = self.n_head * self.head_dim, self.n_kv * self.head_dim
        shapes = LlamaBlock.shapes(self.d_model, queries, keys, hidden)
        return self.block_of(LlamaBlock, at, shapes)
