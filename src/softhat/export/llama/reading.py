"""An exported Llama, Mistral or Qwen2 read back: its weights, and what its configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softhat.export.reading import Export
from softhat.export.stock.config import LlamaShape, llama_config, llama_shapes
from softhat.export.stock.reading import StockFolder, read_directions, read_stock
from softhat.io.errors import SofthatError
from softhat.proof.llama.checkpoint import LlamaCheckpoint


def read_llama(folder: Path, config: dict[str, Any], family: str) -> Export:
    """The export in a folder whose configuration is of this family."""
    found = read_stock(folder, config, family)
    shape = LlamaShape(
        family=family,
        tokens=found.texts,
        context=found.whole("max_position_embeddings"),
        d_model=found.size("model.embed_tokens.weight", 1),
        d_ff=found.size("model.layers.0.mlp.gate_proj.weight", 0),
        blocks=found.blocks("model.layers"),
        n_head=found.whole("num_attention_heads"),
        epsilon=found.number("rms_norm_eps"),
        kernel=found.kernel,
        head=found.head,
        outputs=tuple(found.formulas),
        n_kv=found.whole("num_key_value_heads"),
        head_dim=found.whole("head_dim"),
        theta=found.number("rope_theta"),
        factor=_factor(found),
    )
    found.check(llama_config(shape), llama_shapes(shape), shape.context)
    c = LlamaCheckpoint(
        symbols=found.symbols,
        propositional=found.propositional,
        tokens=found.tokens,
        bos=found.bos,
        family=family,
        context=shape.context,
        n_head=shape.n_head,
        n_kv=shape.n_kv,
        head_dim=shape.head_dim,
        theta=shape.theta,
        factor=shape.factor,
        epsilon=shape.epsilon,
        head=found.head,
        tensors=found.tensors,
        weights=found.weights,
        greedy=found.machine is not None,
    )
    directions = read_directions(folder, shape.d_model, shape.n_head, shape.head_dim)
    given = (found.digest, found.stated, found.formulas)
    return Export(
        family,
        folder,
        *given,
        None,
        c,
        directions=directions,
        kernel=found.kernel,
        machine=found.machine,
    )


def _factor(found: StockFolder) -> float:
    """Of linear scaling, if `rope_parameters` speaks of it; the rest of them is compared whole."""
    entry = found.config.get("rope_parameters")
    if not isinstance(entry, dict) or "factor" not in entry:
        return 1.0
    factor = entry["factor"]
    if type(factor) is not float or factor in (0.0, 1.0):
        raise SofthatError(
            f"{found.folder}/config.json: rope_parameters.factor is {factor!r}, no factor of "
            "softhat's"
        )
    return factor
