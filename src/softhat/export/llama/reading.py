"""An exported Llama, Mistral or Qwen2 read back: its weights, and what its configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softhat.export.reading import Export
from softhat.export.stock.config import LlamaShape, llama_config, llama_shapes
from softhat.export.stock.reading import StockFolder, read_stock
from softhat.io.errors import SofthatError
from softhat.proof.llama.checkpoint import LlamaCheckpoint


def read_llama(folder: Path, config: dict[str, Any], family: str) -> Export:
    """The export in a folder whose configuration is of this family."""
    stock = read_stock(folder, config, family)
    attention: dict[str, Any] = {
        "n_head": stock.whole("num_attention_heads"),
        "n_kv": stock.whole("num_key_value_heads"),
        "head_dim": stock.whole("head_dim"),
        "theta": stock.number("rope_theta"),
        "factor": _factor(stock),
        "epsilon": stock.number("rms_norm_eps"),
        "context": stock.whole("max_position_embeddings"),
    }
    shape = LlamaShape(
        d_model=stock.size("model.embed_tokens.weight", 1),
        d_ff=stock.size("model.layers.0.mlp.gate_proj.weight", 0),
        blocks=stock.blocks("model.layers"),
        **attention,
        **stock.choices,
    )
    stock.check(llama_config(shape), llama_shapes(shape), shape.context)
    checkpoint = LlamaCheckpoint(family=family, **attention, **stock.claims)
    return stock.export(checkpoint, shape, shape.head_dim)


def _factor(stock: StockFolder) -> float:
    """Of linear scaling, if `rope_parameters` speaks of it; the rest of them is compared whole."""
    entry = stock.config.get("rope_parameters")
    if not isinstance(entry, dict) or "factor" not in entry:
        return 1.0
    factor = entry["factor"]
    if type(factor) is not float or factor in (0.0, 1.0):
        raise SofthatError(
            f"{stock.folder}/config.json: rope_parameters.factor is {factor!r}, no factor of "
            "softhat's"
        )
    return factor
