"""The formats and measures of the MIB circuit track (Mueller et al., 2025).

A graph is JSON as EAP stores it (`Circuit.to_eap`), or the same as tensors in a `.pt` file; a
submission is one graph with scores, or a graph for each of the track's sizes. *Faithfulness* of a
size: the highest scores, pruned to what is connected from the input to the logits, keep what they
carry, all other edges carry what they carry on the corrupt word; how much of the metric stays, 1
being all of it and 0 that of the empty graph. CPR is the area under the curve of faithfulness over
the share of edges, CMD that between the curve and 1. Computed as the track's own evaluation does,
in float64 by softhat's own patching.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softhat.circuits.exam.subject import Subject
from softhat.circuits.graph import eap_graph, ends_of, possible_edges, possible_nodes
from softhat.circuits.network import Only
from softhat.io.errors import SofthatError

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Of the edges, as in the track's evaluation."""


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """The faithfulness of circuits of each size, and the two areas under it."""

    curve: tuple[float, ...]
    cpr: float
    cmd: float


def faithfulness(subject: Subject, scores: Mapping[str, float]) -> Faithfulness:
    """CPR and CMD of scores for edges, by their absolute values."""
    names = possible_edges(subject.circuit.config)
    order = sorted(names, key=lambda name: -abs(scores[name]))
    whole, empty = _metric(subject, names), _metric(subject, ())
    curve = tuple(
        (_metric(subject, connected(order[: int(share * len(names))])) - empty) / (whole - empty)
        for share in SHARES
    )
    steps = np.diff(SHARES)
    values = np.array(curve)
    under = (values[1:] + values[:-1]) / 2
    off = (np.abs(1 - values[1:]) + np.abs(1 - values[:-1])) / 2
    return Faithfulness(curve, float((steps * under).sum()), float((steps * off).sum()))


def _metric(subject: Subject, edges: Collection[str]) -> float:
    """The mean over pairs of the margin, by the sign of the answer, where only these edges carry
    what they carry on the clean word."""
    network, pairs = subject.network, subject.pairs
    others, _ = network.run(pairs.corrupt)
    _, margins = network.run(pairs.clean, Only(frozenset(edges), others))
    own = margins[np.arange(len(pairs.position)), pairs.position, 0]
    return float((np.where(pairs.answer, 1.0, -1.0) * own).mean())


def connected(edges: Collection[str]) -> set[str]:
    """The edges without those that come from no input or lead to no logits, until none is left to
    drop."""
    left = set(edges)
    while True:
        ends = [ends_of(name)[:2] for name in left]
        written = {source for source, _ in ends}
        read = {target for _, target in ends} | {"input"}
        inner = written & read
        fewer = {
            name
            for name, (source, target) in zip(left, ends, strict=True)
            if source in inner and (target in inner or target == "logits")
        }
        if fewer == left:
            return left
        left = fewer


def graph(
    config: Mapping[str, Any], scores: Mapping[str, float], chosen: Collection[str]
) -> dict[str, Any]:
    """A graph as the track stores it: every possible node and edge, those chosen `in_graph`."""
    sizes = {"n_layers": config["n_layers"], "n_heads": config["n_heads"]}
    sizes |= {"parallel_attn_mlp": False, "d_model": config["d_model"]}
    return eap_graph(sizes, scores, chosen)


def thresholded(
    config: Mapping[str, Any], scores: Mapping[str, float]
) -> dict[float, dict[str, Any]]:
    """A graph for each of the track's sizes below the whole: the highest scores, and no more."""
    order = sorted(possible_edges(config), key=lambda name: -abs(scores[name]))
    return {
        share: graph(config, scores, set(order[: int(share * len(order))])) for share in SHARES[:-1]
    }


def to_pt(document: Mapping[str, Any], file: Path) -> None:
    """The same graph as tensors, as the track's `.pt` files hold it."""
    import torch

    rows, columns = _places(document["cfg"])
    scores = torch.zeros(len(rows), len(columns))
    inside = torch.zeros(len(rows), len(columns), dtype=torch.bool)
    for name, edge in document["edges"].items():
        source, _, target = name.partition("->")
        at = rows[source], columns[target]
        scores[at], inside[at] = edge["score"], edge["in_graph"]
    nodes = torch.tensor([document["nodes"][name]["in_graph"] for name in rows])
    torch.save(
        {
            "cfg": dict(document["cfg"]),
            "src_nodes": list(rows),
            "dst_nodes": list(columns),
            "edges_scores": scores,
            "edges_in_graph": inside,
            "nodes_in_graph": nodes,
        },
        file,
    )


def from_pt(file: Path) -> dict[str, Any]:
    """The graph of a `.pt` file. Nothing in it is run: only tensors and plain data are read."""
    import torch

    held = torch.load(file, weights_only=True)
    wanted = {"cfg", "edges_scores", "edges_in_graph"}
    if not isinstance(held, Mapping) or not wanted <= held.keys():
        raise SofthatError(f"{file} is no circuit of the MIB track: it has no {', '.join(wanted)}")
    rows, columns = _places(held["cfg"])
    scores, chosen = {}, set()
    for name in possible_edges(held["cfg"]):
        source, _, target = name.partition("->")
        at = rows[source], columns[target]
        scores[name] = float(held["edges_scores"][at])
        if bool(held["edges_in_graph"][at]):
            chosen.add(name)
    return graph(held["cfg"], scores, chosen)


def _places(config: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """The rows of sources and the columns of readers in the track's tensors."""
    readers = []
    for layer in range(config["n_layers"]):
        heads = range(config["n_heads"])
        readers += [f"a{layer}.h{head}<{slot}>" for slot in "qkv" for head in heads]
        readers.append(f"m{layer}")
    sources = possible_nodes(config)[:-1]
    rows = {name: at for at, name in enumerate(sources)}
    return rows, {name: at for at, name in enumerate([*readers, "logits"])}
