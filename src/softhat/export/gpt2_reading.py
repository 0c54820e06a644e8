"""An exported GPT-2 read back: its weights, and what its configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from softhat.errors import SofthatError
from softhat.export.certificates import digest_of
from softhat.export.gpt2 import token_sets
from softhat.export.gpt2_disguise import DIRECTIONS
from softhat.export.reading import (
    WEIGHTS,
    Export,
    alphabet_of,
    bos_of,
    check_sizes,
    formulas_of,
    names_every_output,
    stated_in,
)
from softhat.files import read_bytes, read_tensors
from softhat.logic.sources import Weights, log_weights
from softhat.logic.syntax.nodes import Formula
from softhat.proof.gpt2.checkpoint import Checkpoint
from softhat.transformer.directions import Directions, directions_from
from softhat.transformer.weights import EOS

_STOCK = {
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "reorder_and_upcast_attn": False,
    "add_cross_attention": False,
}
"""What the proof takes for granted of a stock GPT-2's configuration."""


def read_gpt2(folder: Path, config: dict[str, Any]) -> Export:
    """The export in a folder whose configuration is a GPT-2's."""
    stated = stated_in(folder)
    symbols, propositional = alphabet_of(folder, stated)
    for name, wanted in _STOCK.items():
        if config.get(name, wanted) != wanted:
            raise SofthatError(f"{folder}/config.json: {name} is {config[name]!r}, not {wanted!r}")
    (architecture,) = config["architectures"]
    lm = architecture == "GPT2LMHeadModel"
    if not lm and architecture != "GPT2ForTokenClassification":
        raise SofthatError(f"{folder}: {architecture} is no model that softhat exports")
    formulas = formulas_of(folder, symbols, propositional)
    several = names_every_output(folder, config, tuple(formulas))
    if lm and config.get("tie_word_embeddings", True):
        raise SofthatError(f"{folder}: the lm head is tied to the embedding")
    tensors = read_tensors(folder / WEIGHTS, inside=folder)
    if any(array.dtype != np.float32 for array in tensors.values()):
        raise SofthatError(f"{folder}: the tensors are not float32")
    checkpoint = Checkpoint(
        symbols=symbols,
        propositional=propositional,
        tokens=token_sets(symbols, propositional),
        bos=bos_of(folder, config, symbols, propositional),
        n_head=int(config["n_head"]),
        activation=str(config["activation_function"]),
        epsilon=float(config["layer_norm_epsilon"]),
        head="lm" if lm else "multi-label" if several else "token-classification",
        tensors=tensors,
        weights=_weights(stated, symbols, formulas) if lm else None,
    )
    check_sizes(folder, config, {"n_layer": checkpoint.blocks, "n_embd": checkpoint.d_model})
    digest = digest_of(read_bytes(folder / WEIGHTS, inside=folder, most=1 << 33))
    directions = read_directions(folder, checkpoint.d_model, checkpoint.n_head, checkpoint.d_head)
    return Export("gpt2", folder, digest, stated, formulas, None, checkpoint, directions=directions)


def read_directions(folder: Path, d_model: int, n_head: int, d_head: int) -> Directions | None:
    """The directions of a disguised checkpoint; None if it is not disguised."""
    path = folder / DIRECTIONS
    if not path.exists():
        return None
    return directions_from(read_tensors(path, inside=folder), d_model, n_head, d_head)


def _weights(
    stated: dict[str, Any], symbols: tuple[str, ...], formulas: dict[str, Formula]
) -> Weights | None:
    """The log-weights that the export states: a claim, which the proof checks."""
    if "weights" not in stated:
        return None
    return log_weights(stated["weights"], (*symbols, EOS), (*formulas, EOS))
