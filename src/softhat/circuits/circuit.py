"""`softhat.circuit` and `softhat.score`: the ground-truth circuit of a model or of an exported
folder, and how good one is that somebody found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from softhat.circuits.graph import Circuit
from softhat.circuits.native import circuit_of
from softhat.circuits.network import NativeNetwork, Network
from softhat.circuits.score import Score
from softhat.circuits.score import score as compared
from softhat.circuits.stock import circuit_of_folder
from softhat.circuits.stock_network import StockNetwork
from softhat.export.kinds import STOCK
from softhat.io.argument_types import shown, whole_number
from softhat.io.errors import SofthatError
from softhat.io.files import as_path, is_file, read_as_a_whole, read_json
from softhat.models.folders import load
from softhat.models.loop_model import LoopModel
from softhat.runtime.answers import Answers

MOST_WORDS = 1 << 20
"""Of pairs that are searched for witnesses: they are held in memory."""


def circuit(
    model: Answers | str | Path, seed: int = 0, words: int = 256, id: int | None = None
) -> Circuit:
    """What each part of a model computes, and which edges carry it.

    `model` is a model, a model folder or a GPT-2 or Llama export; or, with the number `id` of one
    of its models, a corpus. An edge that carries `input`
    comes with a witness: a clean and a corrupt word on which patching that edge alone moves an
    answer, found among `words` pairs drawn from `seed`; a node with one on which patching it
    changes an answer.
    """
    whole_number("seed", seed)
    whole_number("words", words, least=1, most=MOST_WORDS)
    if id is not None:
        if isinstance(model, Answers):
            raise SofthatError("id is the number of a model of a corpus: give the corpus's folder")
        from softhat.circuits.corpus.extract import extracted

        with extracted(model, id) as place:
            return circuit(place, seed, words)
    held = _held(model)
    if isinstance(held, Answers):
        return circuit_of(held, seed, words)
    return circuit_of_folder(held, seed, words)


def score(
    circuit: Circuit,
    predicted: Iterable[str] | Mapping[str, Any],
    constants: bool = False,
    model: Answers | str | Path | None = None,
) -> Score:
    """Compare predicted edges with the true ones: precision, recall, F1 and AUROC.

    `predicted` is a collection of edge names, a score for each edge (those above 0 are the
    predicted circuit), or an EAP graph (those `in_graph` are). Edges that carry constants cannot
    be found by resampling: they count only with `constants`. With the `model` (or folder) that the
    circuit is of, also completeness and minimality, by ablation.
    """
    if not isinstance(circuit, Circuit):
        raise SofthatError(f"expected a circuit, as softhat.circuit gives it, not {shown(circuit)}")
    return compared(circuit, predicted, constants, None if model is None else network_of(model))


def network_of(model: Answers | str | Path) -> Network:
    """A model, a model folder or a GPT-2 or Llama export as something to patch."""
    held = _held(model)
    return (
        NativeNetwork(held.transformer)
        if isinstance(held, Answers)
        else read_as_a_whole(held, lambda: StockNetwork(held))
    )


def _held(model: Answers | str | Path) -> Answers | Path:
    """A model, or the folder of a stock checkpoint."""
    if isinstance(model, LoopModel):
        raise SofthatError(
            "a circuit has a node for every layer, and a loop runs its one block as often as the "
            "word asks: compile the language with max_length=16 (--depth log@16), or another length"
        )
    if isinstance(model, Answers):
        return model
    folder = as_path(model)
    if not folder.is_dir():
        raise SofthatError(f"no such folder: {folder}")
    if is_file(folder / "corpus.json"):
        raise SofthatError(f"{folder} is a corpus: say which of its models with id (--id)")
    if read_json(folder / "config.json").get("model_type") in STOCK:
        return folder
    return _held(load(folder))
