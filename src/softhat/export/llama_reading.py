"""An exported Llama, Mistral or Qwen2 read back: its weights, and what its configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from softhat.errors import SofthatError
from softhat.export.certificates import digest_of
from softhat.export.gpt2 import token_sets
from softhat.export.gpt2_reading import read_directions
from softhat.export.reading import (
    WEIGHTS,
    Export,
    alphabet_of,
    bos_of,
    check_sizes,
    formulas_of,
    stated_in,
)
from softhat.files import read_bytes, read_tensors
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
    stated = stated_in(folder)
    symbols, propositional = alphabet_of(folder, stated)
    for name, wanted in _STOCK.items():
        if config.get(name, wanted) != wanted:
            raise SofthatError(f"{folder}/config.json: {name} is {config[name]!r}, not {wanted!r}")
    (architecture,) = config["architectures"]
    lm = architecture.endswith("ForCausalLM")
    if not lm and not architecture.endswith("ForTokenClassification"):
        raise SofthatError(f"{folder}: {architecture} is no model that softhat exports")
    theta, factor = _rope(folder, config)
    heads = int(config["num_attention_heads"])
    tensors = read_tensors(folder / WEIGHTS, inside=folder)
    if any(array.dtype != np.float32 for array in tensors.values()):
        raise SofthatError(f"{folder}: the tensors are not float32")
    checkpoint = LlamaCheckpoint(
        symbols=symbols,
        propositional=propositional,
        tokens=token_sets(symbols, propositional),
        bos=bos_of(folder, config, symbols, propositional),
        family=family,
        context=int(config["max_position_embeddings"]),
        n_head=heads,
        n_kv=int(config["num_key_value_heads"]),
        head_dim=int(config.get("head_dim") or int(config["hidden_size"]) // heads),
        theta=theta,
        factor=factor,
        epsilon=float(config["rms_norm_eps"]),
        head="lm" if lm else "token-classification",
        tensors=tensors,
    )
    numbers = {"num_hidden_layers": checkpoint.blocks, "hidden_size": checkpoint.d_model}
    check_sizes(folder, config, numbers)
    formulas = formulas_of(folder, symbols, propositional)
    digest = digest_of(read_bytes(folder / WEIGHTS, inside=folder, most=1 << 33))
    sizes = (checkpoint.d_model, checkpoint.n_head, checkpoint.head_dim)
    directions = read_directions(folder, *sizes)
    return Export(family, folder, digest, stated, formulas, None, checkpoint, directions=directions)


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
