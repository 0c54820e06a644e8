"""A stock GPT-2 as its folder holds it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.stock.checkpoint import Array, StockCheckpoint
from softhat.transformer.decoders import GPT2Block

Pairs = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GPT2Checkpoint(StockCheckpoint):
    """Everything that the proof reads."""

    CLASSIFIER = "classifier"

    activation: str

    def __post_init__(self) -> None:
        need = {"transformer.wte.weight", "transformer.wpe.weight", "transformer.ln_f.weight"}
        missing = need - set(self.tensors)
        if missing:
            raise VoidError(f"there is no tensor {min(missing)}")

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
        return self.blocks_of(GPT2Block)

    def block(self, at: int) -> GPT2Block:
        """The matrices of a block; what it writes has no bias."""
        d, name = self.d_model, f"transformer.h.{at}"
        for bias in ("attn.c_proj.bias", "mlp.c_proj.bias"):
            if self.tensor(f"{name}.{bias}", d).any():
                raise VoidError(f"{name}.{bias} is not 0")
        hidden = int(self.tensor(f"{name}.mlp.c_fc.bias").shape[0])
        return self.block_of(GPT2Block, at, GPT2Block.shapes(d, hidden))


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
