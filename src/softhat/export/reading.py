"""An exported folder read back: its weights, and the formulas that it is claimed to compute.

Nothing that the export says of itself is believed: the transformer (or checkpoint) is made from
the exported tensors, and `softhat.export.checking` proves its certificate anew. What
`certificate.json` says is kept apart, as a statement to compare with, with the digest of the
weights that it was made for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from softhat.ahat.simulation.simulation import Simulation
from softhat.export.kinds import config_in, kind_of
from softhat.export.tokenizer import vocabulary
from softhat.frontends.machines.machine import Machine
from softhat.io.errors import SofthatError
from softhat.io.files import as_path, read_as_a_whole, read_json, read_text
from softhat.logic.sources import Weights
from softhat.logic.syntax.nodes import Formula
from softhat.models.folders import formulas_in, predicates_in
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.stock.automata import Acceptor, Claimed, formulas_alone, next_symbols
from softhat.transformer.directions import Directions
from softhat.transformer.lowering.language_model import lm_formulas
from softhat.transformer.stored import STUMBLES, said_of
from softhat.transformer.weights import RESERVED

Tensors = dict[str, NDArray[Any]]
WEIGHTS = "model.safetensors"
RASP = "rasp.json"
"""What the weights are claimed to compute, for a RASP program."""


@dataclass(frozen=True)
class Export:
    """What stands in an exported folder (for ONNX: in a file and those beside it)."""

    kind: str
    """torch, huggingface, onnx, gpt2, llama, mistral or qwen2."""
    path: Path
    digest: str
    """Of the weights, as they stand in the file."""
    stated: dict[str, Any]
    """`certificate.json`: a claim, not a proof."""
    formulas: Mapping[str, Claimed]
    model: Model | ValueModel | Simulation | None
    """What the tensors are, for softhat's own architecture."""
    checkpoint: GPT2Checkpoint | LlamaCheckpoint | None
    """What they are, for stock architectures."""
    stored: str = "float32"
    """The number format of the weights, for softhat's own architecture."""
    directions: Directions | None = None
    """Of a disguised checkpoint: claims, which the proof checks against the weights."""
    kernel: str | None = None
    """The attention that a stock checkpoint's configuration chooses."""
    machine: Machine | None = None
    """The machine that a language model is claimed to run."""

    def next_tokens(self) -> Mapping[str, Claimed]:
        """Of a language model: a formula or an automaton for each token, "this may come next"."""
        assert self.checkpoint is not None
        c = self.checkpoint
        for one in self.formulas.values():
            if isinstance(one, Acceptor):
                return next_symbols(one)
        closed = self.machine is not None
        return lm_formulas(
            formulas_alone(self.formulas), c.symbols, c.propositional, self.log_weights, closed
        )

    @property
    def log_weights(self) -> Weights | None:
        """Of a language model's tokens, as it states them: a claim."""
        return None if self.checkpoint is None else self.checkpoint.weights


def read_export(path: str | Path) -> Export:
    """The export in a folder, of one moment, though others may be saving there; or in an ONNX
    file."""
    place = as_path(path)
    return read_as_a_whole(place, lambda: _read(place)) if place.is_dir() else _read(place)


def _read(path: Path) -> Export:
    try:
        if path.suffix == ".onnx":
            from softhat.export.onnx.reading import read_onnx

            return read_onnx(path)
        config = config_in(path)
        match kind_of(config):
            case "torch":
                from softhat.export.native.reading import read_torch

                return read_torch(path, config)
            case "huggingface":
                from softhat.export.native.reading import read_huggingface

                return read_huggingface(path, config)
            case "gpt2":
                from softhat.export.gpt2.reading import read_gpt2

                return read_gpt2(path, config)
            case "llama" | "mistral" | "qwen2" as family:
                from softhat.export.llama.reading import read_llama

                return read_llama(path, config, family)
        raise SofthatError(f"{path} is no folder that `softhat export` wrote")
    except SofthatError:
        raise  # it names the file
    except STUMBLES as error:
        raise SofthatError(f"{path} is damaged: {said_of(error)}") from None


def formulas_of(folder: Path, symbols: tuple[str, ...], propositional: bool) -> dict[str, Formula]:
    path = folder / "predicates.json"
    predicates = read_json(path, inside=folder) if path.exists() else ()
    text = read_text(folder / "formula.txt", inside=folder)
    return formulas_in(text, symbols, propositional, predicates_in(predicates))


def stated_in(folder: Path) -> dict[str, Any]:
    path = folder / "certificate.json"
    stated = read_json(path, inside=folder) if path.exists() else {}
    if not isinstance(stated, dict):
        raise SofthatError(f"{path} is no JSON object")
    return stated


def check_symbols(symbols: tuple[str, ...]) -> tuple[str, ...]:
    """No symbol is a sink's or padding's token."""
    for symbol in symbols:
        if symbol in RESERVED:
            raise SofthatError(f"the alphabet has the reserved symbol {symbol}: rename it")
    return symbols


def alphabet_of(folder: Path, stated: dict[str, Any]) -> tuple[tuple[str, ...], bool]:
    """Alphabet and mode as `certificate.json` states them, if the tokenizer has their tokens."""
    symbols = check_symbols(tuple(map(str, stated["alphabet"])))
    propositional = bool(stated["propositional"])
    vocab = read_json(folder / "tokenizer.json", inside=folder)["model"]["vocab"]
    tokens = {token: at for at, token in enumerate(vocabulary(symbols, propositional))}
    if vocab != tokens:
        raise SofthatError(f"{folder}: the tokenizer's tokens are not those of the alphabet")
    return symbols, propositional


def check_named(folder: Path, config: dict[str, Any], outputs: Iterable[str]) -> None:
    """Where every output has a logit of its own, the configuration names them in order."""
    labels = config.get("id2label")
    if not isinstance(labels, dict) or list(labels.values()) != list(outputs):
        raise SofthatError(f"{folder}: config.json and formula.txt name different outputs")
