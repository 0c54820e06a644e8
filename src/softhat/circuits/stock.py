"""The circuit of a stock checkpoint, GPT-2 or Llama, read off its folder: weights and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from softhat.circuits.graph import Circuit, Edge, Node, hook_of
from softhat.circuits.stock_network import StockNetwork
from softhat.circuits.structure import edges
from softhat.circuits.witness import WitnessSearch
from softhat.export.labels import Meaning
from softhat.io.errors import SofthatError
from softhat.io.files import read_as_a_whole, read_json
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse


def circuit_of_folder(folder: Path, seed: int = 0, words: int = 256) -> Circuit:
    """Nodes as the folder's labels name them, edges from its weights."""
    network, labels = read_as_a_whole(
        folder, lambda: (StockNetwork(folder), read_json(folder / "labels.json"))
    )
    search = WitnessSearch(network, seed, words, _decided(labels))
    judged_edges = tuple(
        Edge(source, target, slot, *search.judged(source, target, slot))
        for source, target, slot in edges(network.structure())
    )
    config = {"n_layers": network.layers, "n_heads": network.heads, "d_model": network.d_model}
    if not network.is_gpt2:
        config["n_key_value_heads"] = network.heads // network.decoder.shared
    definitions = tuple(labels.get("definitions", ()))
    nodes = tuple(search.witnessed(_nodes(network.layers, network.heads, labels)))
    model = str(network.config["model_type"])
    return Circuit(model, nodes, judged_edges, config, search.answers(), definitions)


def _decided(labels: Mapping[str, Any]) -> tuple[Formula, ...]:
    """What the outputs decide, where the labels say all that is needed to read it."""
    definitions = labels.get("definitions", ())
    formulas = []
    for output in labels.get("outputs", ()):
        try:
            formulas.append(parse("; ".join([*definitions, output["formula"]])))
        except SofthatError:  # a numerical predicate of the user's own
            continue
    return tuple(formulas)


def _nodes(layers: int, n_head: int, labels: Mapping[str, Any]) -> Iterator[Node]:
    """The nodes that the labels name, without distractors."""
    heads = {(head["layer"], head["head"]): head for head in labels["heads"]}
    stored: list[list[Meaning]] = [[] for _ in range(layers + 1)]
    # Of a pair of GPT-2's coordinates the second holds the negative of the first.
    step = 2 if labels["model"] == "gpt2" else 1
    firsts = [entry for entry in labels["coordinates"] if entry["index"] % step == 0]
    for place in (*firsts, *labels.get("directions", ())):
        for held in place["holds"]:
            meaning = _meaning({k: v for k, v in held.items() if k not in ("from", "what")})
            if meaning.role in ("input", "gate"):
                stored[held["from"]].append(meaning)
    yield Node("input", hook_of("input"), "", tuple(stored[0]))
    for number in range(layers):
        for h in range(n_head):
            labelled = heads.get((number, h))
            if labelled is not None and not labelled.get("distractor"):
                name = f"a{number}.h{h}"
                meanings = tuple(map(_meaning, labelled["computes"]))
                yield Node(name, hook_of(name), labelled["kind"], meanings)
        yield Node(f"m{number}", hook_of(f"m{number}"), "gates", tuple(stored[number + 1]))
    meanings = tuple(map(_meaning, labels.get("outputs", ())))
    yield Node("logits", hook_of("logits"), "", meanings)


def _meaning(data: Mapping[str, Any]) -> Meaning:
    try:
        return Meaning.from_json(dict(data))
    except TypeError:
        raise SofthatError("labels.json was written by another version: export again") from None
