"""An exported GPT-2 read back: its weights, and what its configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softhat.export.reading import Export
from softhat.export.stock.config import GPT2Shape, gpt2_config, gpt2_shapes
from softhat.export.stock.reading import read_stock
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint


def read_gpt2(folder: Path, config: dict[str, Any]) -> Export:
    """The export in a folder whose configuration is a GPT-2's."""
    stock = read_stock(folder, config, "gpt2")
    shape = GPT2Shape(
        context=stock.size("transformer.wpe.weight", 0),
        d_model=stock.size("transformer.wpe.weight", 1),
        d_ff=stock.size("transformer.h.0.mlp.c_fc.bias", 0),
        blocks=stock.blocks("transformer.h"),
        n_head=stock.whole("n_head"),
        epsilon=stock.number("layer_norm_epsilon"),
        activation=str(config.get("activation_function")),
        **stock.choices,
    )
    stock.check(gpt2_config(shape), gpt2_shapes(shape), shape.context)
    checkpoint = GPT2Checkpoint(
        n_head=shape.n_head,
        epsilon=shape.epsilon,
        activation=shape.activation,
        **stock.claims,
    )
    return stock.export(checkpoint, shape, shape.d_model // shape.n_head)
