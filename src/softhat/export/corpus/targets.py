"""One model of a corpus in the architecture that was asked for: tensors, and what is known of it.

The same entries for every target: the configuration that makes the architecture, labels,
the circuit's edges with what they carry, a pair of words for each head, certified lengths.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.errors import SofthatError
from softhat.export.circuits.gpt2 import circuit_of_folder
from softhat.export.circuits.graph import Circuit, Witness
from softhat.export.circuits.native import circuit_of
from softhat.export.gpt2 import gpt2_files
from softhat.export.gpt2_disguise import DIRECTIONS
from softhat.export.native_labels import labels_of
from softhat.model import Model

Target = Literal["torch", "gpt2", "llama"]
PAIRS = 64
"""Pairs of words on which the edges of a circuit are judged."""


@dataclass(frozen=True)
class Built:
    """A model of the corpus."""

    tensors: dict[str, NDArray[Any]]
    directions: dict[str, NDArray[Any]]
    """Of a disguised model; else empty."""
    entries: dict[str, Any]
    """`config`, `labels`, `size`, `max_length`, `edges`, `witnesses`, `answers`."""


def check_target(to: str, disguise: int | None, context: int) -> None:
    """Is there such a target, and can it be disguised?"""
    if to not in ("torch", "gpt2", "llama"):
        raise SofthatError(f"unknown target {to!r}: choose torch, gpt2 or llama")
    if disguise is not None and to == "torch":
        raise SofthatError("--to torch has no disguise: choose --to gpt2 or --to llama")
    if disguise is not None and disguise < 0:
        raise SofthatError(f"a disguise's seed is a whole number from 0 up, not {disguise}")
    if to != "torch" and not 10 <= context <= 1 << 17:
        raise SofthatError(
            f"the context is {context:,}: choose from 10, so that sample words fit, to {1 << 17:,}"
        )


def build(model: Model, to: Target, context: int, disguise: int | None) -> Built:
    match to:
        case "torch":
            return _torch(model)
        case "gpt2":
            return _gpt2(gpt2_files(model, context, disguise=disguise))
        case "llama":
            return _llama(model, context, disguise)


def _torch(model: Model) -> Built:
    from safetensors.numpy import load

    files = model.contents()
    weights = {name: _narrow(array) for name, array in load(files["model.safetensors"]).items()}
    config = json.loads(files["config.json"])
    entries = {
        "config": config,
        "labels": labels_of(model).to_json(),
        "size": config["size"],
        "max_length": dict(model.certificate.max_length),
        **_circuit(circuit_of(model, words=PAIRS)),
    }
    return Built(weights, {}, entries)


def _gpt2(files: Mapping[str, bytes]) -> Built:
    from safetensors.numpy import load

    tensors = load(files["model.safetensors"])
    config, labels = json.loads(files["config.json"]), json.loads(files["labels.json"])
    with tempfile.TemporaryDirectory() as scratch:
        for name, data in files.items():
            (Path(scratch) / name).write_bytes(data)
        circuit = circuit_of_folder(Path(scratch), words=PAIRS)
    entries = {
        "config": config,
        "labels": labels,
        "size": {
            "layers": config["n_layer"],
            "heads": sum(not head.get("distractor", False) for head in labels["heads"]),
            "d_model": config["n_embd"],
            "d_ff": config["n_inner"],
            "parameters": sum(tensor.size for tensor in tensors.values()),
        },
        "max_length": json.loads(files["certificate.json"])["max_length"],
        **_circuit(circuit),
    }
    hidden = load(files[DIRECTIONS]) if DIRECTIONS in files else {}
    return Built(tensors, hidden, entries)


def _llama(model: Model, context: int, disguise: int | None) -> Built:
    """A stock Llama: its folder, read back. `softhat.circuit` does not patch Llamas, so nothing is
    said of what edges carry, nor of pairs of words for heads; the labels have its edges."""
    from safetensors.numpy import load

    from softhat.export.llama import to_llama

    with tempfile.TemporaryDirectory() as scratch:
        to_llama(model, Path(scratch) / "m", context=context, disguise=disguise)
        files = {path.name: path.read_bytes() for path in (Path(scratch) / "m").iterdir()}
    tensors = load(files["model.safetensors"])
    config, labels = json.loads(files["config.json"]), json.loads(files["labels.json"])
    entries = {
        "config": config,
        "labels": labels,
        "size": {
            "layers": config["num_hidden_layers"],
            "heads": sum(not head.get("distractor", False) for head in labels["heads"]),
            "d_model": config["hidden_size"],
            "d_ff": config["intermediate_size"],
            "parameters": sum(tensor.size for tensor in tensors.values()),
        },
        "max_length": json.loads(files["certificate.json"])["max_length"],
        "edges": [],
        "witnesses": [],
        "answers": _circuit(circuit_of(model, words=PAIRS))["answers"],
    }
    hidden = load(files[DIRECTIONS]) if DIRECTIONS in files else {}
    return Built(tensors, hidden, entries)


def _circuit(circuit: Circuit) -> dict[str, Any]:
    """Edges with what they carry; for each node, and for the outputs, pairs of words."""
    return {
        "edges": [{"name": edge.name, "carries": edge.carries} for edge in circuit.edges],
        "witnesses": [
            {"node": node.name, **_pair(node.witness)}
            for node in circuit.nodes
            if node.witness is not None
        ],
        "answers": [_pair(witness) for witness in circuit.answers],
    }


def _pair(witness: Witness) -> dict[str, Any]:
    """The last digits of margins depend on the number of threads: they are left out."""
    return {**asdict(witness), "margins": [float(f"{x:.5g}") for x in witness.margins]}


def _narrow(array: NDArray[np.float64]) -> NDArray[Any]:
    """As float32 where that loses nothing."""
    with np.errstate(over="ignore"):
        small = array.astype(np.float32)
    return small if np.array_equal(small, array) else array
