"""A stock GPT-2 as its folder holds it, read over pairs of coordinates.

Coordinates come in pairs (+v, -v), so that LayerNorm's mean is 0: a weight w on the first and -w on
the second is 2w on v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.stock.activations import ACTIVATIONS
from softhat.proof.stock.checkpoint import (
    Array,
    Assumed,
    BlockMatrices,
    DecoderFacts,
    Embedding,
    StockCheckpoint,
    check_root,
)
from softhat.proof.stock.norms import Norm, square_of
from softhat.proof.stock.storage import U
from softhat.proof.stock.variables import Cell, Rows
from softhat.transformer.decoders import GPT2Block, norm_names


@dataclass(frozen=True, kw_only=True)
class GPT2Checkpoint(StockCheckpoint):
    """Everything that the proof reads."""

    CLASSIFIER = "classifier"
    NORM = ".ln_"
    ASSUMED = Assumed(
        sums="matrix products, LayerNorm and softmax accumulate in float32, or float64 where that "
        "is stored (no TF32, no reduced-precision reductions); results are rounded once to the "
        "storage format",
        others=(
            "tanh is accurate to one unit in the last place (gelu_new)",
            "LayerNorm's mean and variance have a relative error of at most min(d + 64, 256)·2^-24",
            "1/√d_head is a power of two (d_head is 16 or 64), so dividing scores by it is exact",
        ),
        not_left=("float16",),
    )

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

    @property
    def architecture(self) -> DecoderFacts:
        if self.d_model % 2 or self.d_model % self.n_head:
            raise VoidError(f"{self.d_model} coordinates are not pairs, or not of all heads")
        check_root(self.d_head)
        if self.activation not in ACTIVATIONS:
            raise VoidError(f"the activation is {self.activation!r}, not relu or gelu_new")
        if self.context < 2 or not self.blocks:
            raise VoidError("there is no position, or no block")
        if not 0 <= self.epsilon <= 1e-11:
            raise VoidError(f"layer_norm_epsilon is {self.epsilon:g}, more than 1e-11")
        return DecoderFacts(
            context=self.context,
            blocks=self.blocks,
            n_head=self.n_head,
            n_kv=self.n_head,
            head_size=self.d_head,
            frequencies=np.zeros(self.d_head),
            activation=ACTIVATIONS[self.activation],
            coordinates=2,
            raw=True,
        )

    def tables(self) -> Embedding:
        tables = []
        for name in ("wte", "wpe"):
            table = self.tensor(f"transformer.{name}.weight")
            if table.shape[1:] != (self.d_model,):
                raise VoidError("the embeddings do not fit the tokenizer")
            tables.append(table)
        return Embedding(*tables)

    def embedding(self) -> Embedding:
        tables = self.tables()
        return Embedding(
            _written(tables.tokens, "transformer.wte"),
            _written(tables.positions, "transformer.wpe"),
        )

    def over_coordinates(self, at: int) -> BlockMatrices:
        block = self.block(at)
        parts = zip(np.split(block.c_attn.T, 3), np.split(block.c_attn_bias, 3), strict=True)
        query, key, value = (Rows(*part) for part in parts)
        return BlockMatrices(
            query=query,
            key=key,
            value=value,
            output=block.attn_proj.T,
            gate=Rows(block.c_fc.T, block.c_fc_bias),
            up=None,
            down=block.mlp_proj.T,
        )

    def over_variables(self, at: int) -> BlockMatrices:
        block = self.over_coordinates(at)
        where, hidden = f"block {at}: attention", f"block {at}: the feed-forward"
        query, key, value = (_read(rows, where) for rows in (block.query, block.key, block.value))
        return BlockMatrices(
            query=query,
            key=key,
            value=value,
            output=_written(block.output.T, where).T,
            gate=_read(block.gate, hidden),
            up=None,
            down=_written(block.down.T, hidden).T,
        )

    def norm(self, cells: list[Cell]) -> Norm:
        square, gain = float(square_of(cells)), norm_weight(self)
        variance = 2 * square / self.d_model
        rounding = min(self.d_model + 64, 256) * U
        return Norm(
            name="LayerNorm",
            square=square,
            statistics=rounding,
            epsilon=self.epsilon / variance,
            weight=abs(gain / variance**0.5 - 1),
            gain=gain,
            centre=rounding * variance**0.5,
            share=2 / self.d_model,
        )

    def logit_rows(self) -> tuple[Rows, bool]:
        weight, biased = self.logits()
        return _read(Rows.of(weight), "the read-out"), biased


def norm_weight(c: GPT2Checkpoint) -> float:
    """The one weight of all LayerNorms."""
    weights = {
        float(w) for name in norm_names(c.blocks) for w in c.tensor(f"{name}.weight", c.d_model)
    }
    if len(weights) != 1 or min(weights) <= 0:
        raise VoidError("LayerNorm's weights are not one positive number")
    if any(c.tensor(f"{name}.bias", c.d_model).any() for name in norm_names(c.blocks)):
        raise VoidError("a LayerNorm has a bias")
    return weights.pop()


def _written(matrix: Array, where: str) -> Array:
    """(rows, d_model) as what is held or added on v of each pair."""
    if not np.array_equal(matrix[:, 0::2], -matrix[:, 1::2]):
        raise VoidError(f"{where} has rows that are not made of pairs of opposite sign")
    return matrix[:, 0::2]


def _read(rows: Rows, where: str) -> Rows:
    """Rows over d_model coordinates as weights on v of each pair."""
    with np.errstate(over="ignore"):  # no proof reads what is not finite
        return Rows(_written(rows.weights, where) * np.float32(2), rows.constants)
