"""`softhat.circuit`: the ground-truth circuit of a model or of an exported folder."""

from __future__ import annotations

from pathlib import Path

from softhat.errors import SofthatError
from softhat.export.circuits.gpt2 import circuit_of_folder
from softhat.export.circuits.graph import Circuit
from softhat.export.circuits.native import circuit_of
from softhat.files import read_json
from softhat.folders import load
from softhat.model import Model


def circuit(model: Model | str | Path, seed: int = 0, words: int = 256) -> Circuit:
    """What each part of a model computes, and which edges carry it.

    `model` is a model, a model folder or a GPT-2 export. An edge that carries `input` comes with a
    witness: a clean and a corrupt word on which patching that edge alone moves an answer, found
    among `words` pairs drawn from `seed`.
    """
    if isinstance(model, Model):
        return circuit_of(model, seed, words)
    folder = Path(model)
    if not folder.is_dir():
        raise SofthatError(f"no such folder: {folder}")
    config = read_json(folder / "config.json")
    if config.get("model_type") == "gpt2":
        return circuit_of_folder(folder, seed, words)
    loaded = load(folder)
    if not isinstance(loaded, Model):
        raise SofthatError(f"{folder} holds no compiled model")
    return circuit_of(loaded, seed, words)
