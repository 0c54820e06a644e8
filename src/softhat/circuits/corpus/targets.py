"""One model of a corpus in the architecture that was asked for: tensors, and what is known of it.

The same entries for every target: the configuration that makes the architecture, labels,
the circuit's edges with what they carry, a pair of words for each head, certified lengths.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.circuits.graph import Circuit, Witness
from softhat.circuits.native import circuit_of
from softhat.circuits.stock import circuit_of_folder
from softhat.export.gpt2.to_gpt2 import gpt2_export
from softhat.export.llama.to_llama import checkpoint, to_llama
from softhat.export.native.labels import labels_of
from softhat.export.stock.folder import DIRECTIONS
from softhat.export.stock.options import StockOptions
from softhat.io.errors import SofthatError
from softhat.io.files import read_json, read_tensors
from softhat.models.model import Model
from softhat.runtime.answers import Answers

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
    """`config`, `labels`, `size`, `max_length`, `edges`, `witnesses`, `answers`; of a RASP program
    also `rasp`, how outputs are read as values."""


def check_target(to: str, disguise: int | None, context: int, bounded: bool) -> None:
    """Is there such a target, can it be disguised, and do sample words fit where words are
    `bounded`, as those of stock models always are?"""
    if to not in ("torch", "gpt2", "llama"):
        raise SofthatError(f"unknown target {to!r}: choose torch, gpt2 or llama")
    if disguise is not None and to == "torch":
        raise SofthatError("--to torch has no disguise: choose --to gpt2 or --to llama")
    if disguise is not None and disguise < 0:
        raise SofthatError(f"a disguise's seed is a whole number from 0 up, not {disguise}")
    if (bounded or to != "torch") and not 10 <= context <= 1 << 17:
        raise SofthatError(
            f"the context is {context:,}: choose from 10, so that sample words fit, to {1 << 17:,}"
        )


def build(model: Answers, to: Target, context: int, disguise: int | None) -> Built:
    match to:
        case "torch":
            return _torch(model)
        case "gpt2" | "llama":
            with exported(model, to, context, disguise) as folder:
                return _stock(folder)


@contextmanager
def exported(
    model: Answers,
    to: Literal["gpt2", "llama"],
    context: int,
    disguise: int | None = None,
    proved: bool = True,
) -> Iterator[Path]:
    """The folder of a stock checkpoint, for a while; its certificate too, if `proved`."""
    assert isinstance(model, Model)  # others are for torch alone
    options = StockOptions(context, disguise=disguise)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "m"
        if to == "llama" and proved:
            to_llama(model, folder, context, disguise=disguise)
        else:
            if to == "llama":
                stock = checkpoint(model, to, None, options).export()
            else:
                stock = gpt2_export(model, options)
            folder.mkdir()
            for name, data in (stock.files() if proved else stock.unproved()).items():
                (folder / name).write_bytes(data)
        yield folder


def _torch(model: Answers) -> Built:
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
        **({"rasp": json.loads(files["rasp.json"])} if "rasp.json" in files else {}),
    }
    return Built(weights, {}, entries)


def _stock(folder: Path) -> Built:
    tensors = read_tensors(folder / "model.safetensors")
    config, labels = read_json(folder / "config.json"), read_json(folder / "labels.json")
    layers, d_model, d_ff = _SIZES[config["model_type"]]
    entries = {
        "config": config,
        "labels": labels,
        "size": {
            "layers": config[layers],
            "heads": sum(not head.get("distractor", False) for head in labels["heads"]),
            "d_model": config[d_model],
            "d_ff": config[d_ff],
            "parameters": sum(tensor.size for tensor in tensors.values()),
        },
        "max_length": read_json(folder / "certificate.json")["max_length"],
        **_circuit(circuit_of_folder(folder, words=PAIRS)),
    }
    hidden = read_tensors(folder / DIRECTIONS) if (folder / DIRECTIONS).exists() else {}
    return Built(tensors, hidden, entries)


_SIZES = {
    "gpt2": ("n_layer", "n_embd", "n_inner"),
    "llama": ("num_hidden_layers", "hidden_size", "intermediate_size"),
}
"""What configurations call layers, d_model and d_ff."""


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
    """The tensors as float32, where that loses nothing."""
    with np.errstate(over="ignore"):
        small = array.astype(np.float32)
    return small if np.array_equal(small, array) else array
