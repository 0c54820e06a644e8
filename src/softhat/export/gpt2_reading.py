"""An exported GPT-2 read back: its weights, and what its configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softhat.export.reading import Export, check_sizes
from softhat.export.stock_reading import read_directions, read_stock
from softhat.proof.gpt2.checkpoint import Checkpoint

_STOCK = {
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "reorder_and_upcast_attn": False,
    "add_cross_attention": False,
}
"""What the proof takes for granted of a stock GPT-2's configuration."""


def read_gpt2(folder: Path, config: dict[str, Any]) -> Export:
    """The export in a folder whose configuration is a GPT-2's."""
    found = read_stock(folder, config, _STOCK, "GPT2LMHeadModel", "GPT2ForTokenClassification")
    c = Checkpoint(
        symbols=found.symbols,
        propositional=found.propositional,
        tokens=found.tokens,
        bos=found.bos,
        n_head=int(config["n_head"]),
        activation=str(config["activation_function"]),
        epsilon=float(config["layer_norm_epsilon"]),
        head=found.head,
        tensors=found.tensors,
        weights=found.weights,
    )
    check_sizes(folder, config, {"n_layer": c.blocks, "n_embd": c.d_model})
    directions = read_directions(folder, c.d_model, c.n_head, c.d_head)
    given = (found.digest, found.stated, found.formulas)
    return Export("gpt2", folder, *given, None, c, directions=directions)
