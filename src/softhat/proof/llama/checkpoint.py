"""A stock Llama, Mistral or Qwen2 as its folder holds it, read over coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.stock.activations import Silu
from softhat.proof.stock.checkpoint import (
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
from softhat.transformer.decoders import LlamaBlock

FAMILIES = ("llama", "mistral", "qwen2")
"""What one checkpoint describes, as configurations name it."""
LARGE = 256
"""Heads of this size have rows for the digits of a recall."""
MOST_CONTEXT = 1 << 20
"""Every distance is tabulated."""
LEAST_LOGIT = 1e-4
"""Logits stay far from 0 in every format."""


@dataclass(frozen=True, kw_only=True)
class LlamaCheckpoint(StockCheckpoint):
    """Everything that the proof reads."""

    CLASSIFIER = "score"
    NORM = "norm"
    ASSUMED = Assumed(
        sums="matrix products and softmax accumulate in float32, or float64 where that is stored "
        "(no TF32, no reduced-precision reductions); results are rounded once to the storage "
        "format",
        others=(
            "silu is accurate to four units in the last place",
            "RMSNorm computes in float32; its mean square has a relative error of at most "
            "min(d + 4, 256)·2^-24, its reciprocal root of two units in the last place; where all "
            "squares are integers of mean 1 the factor is exactly 1",
            "rotary frequencies and angles are computed in float32, frequencies within 8·2^-24 of "
            "1/θ^(2p/d)/factor, sines within one unit in the last place, and stored in the storage "
            "format: the checkpoint is loaded in its format by from_pretrained(dtype=…), because "
            "model.to(…) would round the frequencies themselves",
            "1/√head_dim is a power of two (head_dim is 16 or 64), so dividing scores by it is "
            "exact",
        ),
        not_left=("float16", "float64"),
    )

    family: str
    context: int
    n_kv: int
    head_dim: int
    theta: float
    factor: float
    """Of linear scaling of the frequencies; 1 for none."""

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

    @property
    def architecture(self) -> DecoderFacts:
        check_root(self.head_dim)
        if self.head_dim < 2:
            raise VoidError("heads of one dimension have no rotary pair")
        if self.n_kv < 1 or self.n_head % self.n_kv:
            raise VoidError(f"{self.n_head} heads do not share {self.n_kv} of keys and values")
        if self.family not in FAMILIES:
            raise VoidError(f"{self.family!r} is no family that is known: {', '.join(FAMILIES)}")
        if not 2 <= self.context <= MOST_CONTEXT or not self.blocks:
            size = f"{self.context} positions or {self.blocks} blocks"
            raise VoidError(f"{size} are too few or too many")
        if not 0 <= self.epsilon <= 1e-5:
            raise VoidError(f"rms_norm_eps is {self.epsilon:g}, more than 1e-5")
        return DecoderFacts(
            context=self.context,
            blocks=self.blocks,
            n_head=self.n_head,
            n_kv=self.n_kv,
            head_size=self.head_dim,
            frequencies=self.frequencies,
            activation=Silu(),
            coordinates=1,
            raw=False,
            least_logit=LEAST_LOGIT,
            has_recalls=self.head_dim >= LARGE,
            advice="positions='bits'" if self.factor == 1 else "",
        )

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """ω of each rotary pair, recomputed as the class computes them.

        The class takes 1/θ^(2p/head_dim) in float32, and divides it by the factor of linear
        scaling. Here the float32 numbers θ and factor are taken, and the rest in float64; what the
        class computes is within `stock.rotary.ERROR` of it, whatever its power function does in the
        last places.
        """
        with np.errstate(over="ignore"):
            theta, factor = float(np.float32(self.theta)), float(np.float32(self.factor))
        if not 1 <= theta < np.inf or not 0 < factor < np.inf:
            given = f"rope_theta {self.theta:g} or its factor {self.factor:g}"
            raise VoidError(f"{given} is beyond float32")
        exponents = np.arange(0, self.head_dim, 2) / self.head_dim
        return np.asarray(theta**-exponents / factor, np.float64)

    def tables(self) -> Embedding:
        """Positions turn, and add nothing."""
        return Embedding(
            self.tensor("model.embed_tokens.weight"), np.zeros((2, self.d_model), np.float32)
        )

    def over_coordinates(self, at: int) -> BlockMatrices:
        block = self.block(at)
        return BlockMatrices(
            query=Rows.of(block.query),
            key=Rows.of(block.key),
            value=Rows.of(block.value),
            output=block.output,
            gate=Rows.of(block.gate),
            up=Rows.of(block.up),
            down=block.down,
        )

    def norm(self, cells: list[Cell]) -> Norm:
        """Every RMSNorm has the weight 1, and the mean square of every residual vector is 1."""
        inner = ("input_layernorm", "post_attention_layernorm")
        names = [f"layers.{at}.{kind}" for at in range(self.blocks) for kind in inner]
        for name in [*names, "norm"]:
            if (self.tensor(f"model.{name}.weight", self.d_model) != 1).any():
                raise VoidError(f"the weight of {name} is not 1")
        if square_of(cells) != self.d_model:
            raise VoidError("the mean square of the residual is not 1 at every position")
        return Norm(
            name="RMSNorm",
            square=float(self.d_model),
            statistics=min(self.d_model + 4, 256) * U,
            epsilon=self.epsilon,
            weight=0.0,
            gain=1.0,
            centre=0.0,
            share=0.0,
        )

    def logit_rows(self) -> tuple[Rows, bool]:
        weight, biased = self.logits()
        return Rows.of(weight), biased
