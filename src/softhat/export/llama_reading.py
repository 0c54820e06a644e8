"""An exported Llama, Mistral or Qwen2 read back: its weights, and what its configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softhat.errors import SofthatError
from softhat.export.llama import CLASSES
from softhat.export.reading import Export, check_sizes
from softhat.export.stock_reading import read_directions, read_stock
from softhat.proof.llama.checkpoint import LlamaCheckpoint

_STOCK = {
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "sliding_window": None,
    "use_sliding_window": False,
    "layer_types": None,
    "partial_rotary_factor": None,
    "pretraining_tp": 1,
    "tie_word_embeddings": False,
    "token_classification_bias": True,
}
"""What the proof takes for granted of the configuration of a stock Llama, Mistral or Qwen2."""


def read_llama(folder: Path, config: dict[str, Any], family: str) -> Export:
    """The export in a folder whose configuration is of this family."""
    name = CLASSES[family]
    classes = (f"{name}ForCausalLM", f"{name}ForTokenClassification")
    found = read_stock(folder, config, _STOCK, *classes)
    theta, factor = _rope(folder, config)
    heads = int(config["num_attention_heads"])
    c = LlamaCheckpoint(
        symbols=found.symbols,
        propositional=found.propositional,
        tokens=found.tokens,
        bos=found.bos,
        family=family,
        context=int(config["max_position_embeddings"]),
        n_head=heads,
        n_kv=int(config["num_key_value_heads"]),
        head_dim=int(config.get("head_dim") or int(config["hidden_size"]) // heads),
        theta=theta,
        factor=factor,
        epsilon=float(config["rms_norm_eps"]),
        head=found.head,
        tensors=found.tensors,
        weights=found.weights,
    )
    check_sizes(folder, config, {"num_hidden_layers": c.blocks, "hidden_size": c.d_model})
    directions = read_directions(folder, c.d_model, c.n_head, c.head_dim)
    given = (found.digest, found.stated, found.formulas)
    return Export(family, folder, *given, None, c, directions=directions)


def _rope(folder: Path, config: dict[str, Any]) -> tuple[float, float]:
    """θ and the factor of linear scaling. Different versions of transformers read different
    entries: all that are there must say the same."""
    found: set[tuple[float, float]] = set()
    for name in ("rope_parameters", "rope_scaling"):
        entry = config.get(name)
        if entry is None:
            continue
        kind = entry["rope_type"]
        known = {"default": {"rope_type", "rope_theta"}, "linear": {"factor"}}
        allowed = known["default"] | known.get(kind, set())
        if kind not in known or not set(entry) <= allowed:
            raise SofthatError(f"{folder}/config.json: {name} is no rotary embedding of softhat's")
        theta = float(entry.get("rope_theta", config["rope_theta"]))
        found.add((theta, float(entry["factor"]) if kind == "linear" else 1.0))
    if "rope_parameters" not in config or float(config["rope_theta"]) not in {t for t, _ in found}:
        raise SofthatError(f"{folder}/config.json: rope_theta and rope_parameters are not the same")
    if len(found) != 1 or ("rope_scaling" not in config and min(found)[1] != 1):
        raise SofthatError(f"{folder}/config.json: rope_parameters and rope_scaling differ")
    return min(found)
