"""The blocks of stock decoders: their matrices, and the names and shapes that transformers gives
them.

The pass that makes a checkpoint and the proof that reads it share no step. What tensors are called
is a fact about the library that runs them, so it is written once, here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class DecoderBlock:
    """The matrices of one block."""

    PREFIX: ClassVar[str]
    """What the names of all blocks begin with."""

    @classmethod
    def names(cls) -> dict[str, str]:
        """The matrices, and what each is called within a block."""
        return {part.name: part.metadata["name"] for part in fields(cls) if part.metadata}

    def tensors(self, at: int) -> dict[str, Array]:
        """The matrices as tensors of block `at`."""
        return {f"{self.PREFIX}.{at}.{n}": getattr(self, part) for part, n in self.names().items()}

    def cast(self, dtype: type[np.floating[Any]]) -> Self:
        """The same matrices in a number format."""
        return replace(self, **{part: getattr(self, part).astype(dtype) for part in self.names()})


@dataclass(frozen=True)
class GPT2Block(DecoderBlock):
    """The matrices of a GPT-2's block, inputs first, as its Conv1D stores them."""

    PREFIX = "transformer.h"

    c_attn: Array = field(metadata={"name": "attn.c_attn.weight"})
    c_attn_bias: Array = field(metadata={"name": "attn.c_attn.bias"})
    attn_proj: Array = field(metadata={"name": "attn.c_proj.weight"})
    c_fc: Array = field(metadata={"name": "mlp.c_fc.weight"})
    c_fc_bias: Array = field(metadata={"name": "mlp.c_fc.bias"})
    mlp_proj: Array = field(metadata={"name": "mlp.c_proj.weight"})

    @staticmethod
    def shapes(d: int, hidden: int) -> dict[str, Shape]:
        """Every tensor of a block, with its shape."""
        shapes: dict[str, Shape] = {f"ln_{k}.weight": (d,) for k in (1, 2)}
        shapes |= {"attn.c_attn.weight": (d, 3 * d), "attn.c_proj.weight": (d, d)}
        shapes |= {"mlp.c_fc.weight": (d, hidden), "mlp.c_proj.weight": (hidden, d)}
        biases = {name.replace("weight", "bias"): shape[-1:] for name, shape in shapes.items()}
        return shapes | biases


def norm_names(blocks: int) -> list[str]:
    """All LayerNorms of a GPT-2."""
    inner = [f"{GPT2Block.PREFIX}.{at}.ln_{k}" for at in range(blocks) for k in (1, 2)]
    return [*inner, "transformer.ln_f"]


@dataclass(frozen=True)
class LlamaBlock(DecoderBlock):
    """The matrices of a Llama's block, outputs first."""

    PREFIX = "model.layers"

    query: Array = field(metadata={"name": "self_attn.q_proj.weight"})
    key: Array = field(metadata={"name": "self_attn.k_proj.weight"})
    value: Array = field(metadata={"name": "self_attn.v_proj.weight"})
    output: Array = field(metadata={"name": "self_attn.o_proj.weight"})
    gate: Array = field(metadata={"name": "mlp.gate_proj.weight"})
    up: Array = field(metadata={"name": "mlp.up_proj.weight"})
    down: Array = field(metadata={"name": "mlp.down_proj.weight"})

    @staticmethod
    def shapes(d: int, queries: int, keys: int, hidden: int) -> dict[str, Shape]:
        """Every tensor of a block without biases, with its shape; `queries` and `keys` count the
        rows of all heads."""
        rows = {"q": queries, "k": keys, "v": keys}
        return {
            **{f"self_attn.{kind}_proj.weight": (size, d) for kind, size in rows.items()},
            "self_attn.o_proj.weight": (d, queries),
            "mlp.gate_proj.weight": (hidden, d),
            "mlp.up_proj.weight": (hidden, d),
            "mlp.down_proj.weight": (d, hidden),
            "input_layernorm.weight": (d,),
            "post_attention_layernorm.weight": (d,),
        }
