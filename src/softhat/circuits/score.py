"""How good is a circuit that somebody found? Precision, recall, F1 and AUROC against the true one.

A prediction is a collection of edges, or scores for edges. Edges are named as in the graph
(`a0.h1->a1.h0<q>`), or without the slot, which then stands for all of a head's inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from softhat.circuits.ablation import Ablation, ablate
from softhat.circuits.graph import Circuit, ends_of, possible_edges, possible_nodes
from softhat.circuits.network import Network
from softhat.io.errors import SofthatError


@dataclass(frozen=True, slots=True)
class Measures:
    """How well a set of edges or nodes was predicted. `auroc` is 1/2 where the order of scores says
    nothing."""

    precision: float
    recall: float
    f1: float
    auroc: float
    true: int
    predicted: int


@dataclass(frozen=True, slots=True)
class Score(Measures):
    """How well edges were predicted, with edges that carry constants in or out of the truth, and
    how well the nodes at their ends."""

    nodes: Measures
    constants: bool
    ablation: Ablation | None = None
    """What the model itself says of the predicted edges, if it was given."""

    def __repr__(self) -> str:
        return (
            f"<softhat.Score of {self.predicted} edges, {self.true} true: precision "
            f"{self.precision:.3g}, recall {self.recall:.3g}, f1 {self.f1:.3g}, "
            f"auroc {self.auroc:.3g}>"
        )

    @property
    def completeness(self) -> float | None:
        return None if self.ablation is None else self.ablation.completeness

    @property
    def minimality(self) -> float | None:
        return None if self.ablation is None else self.ablation.minimality

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        return {"edges": {field.name: data.pop(field.name) for field in fields(Measures)}, **data}


def score(
    circuit: Circuit,
    predicted: Iterable[str] | Mapping[str, float] | Mapping[str, Any],
    constants: bool = False,
    network: Network | None = None,
) -> Score:
    """Compare predicted edges with the true ones.

    `predicted` is a collection of edge names, a score for each edge (those above 0 are the
    predicted circuit), or an EAP graph (those `in_graph` are). Edges that carry constants cannot
    be found by resampling: they count only with `constants`; without, they are neither right nor
    wrong. With the `network` the prediction is also tried by ablation.
    """
    scores, chosen = _predicted(predicted)
    every = possible_edges(circuit.config)
    unslotted = {name: name.partition("<")[0] for name in every}
    known = set(every) | set(unslotted.values())
    for name in scores:
        if name not in known:
            raise SofthatError(
                f"{name!r} is no edge of this model: edges are named like a0.h1->a1.h0<q>"
            )
    score_of = {name: scores.get(name, scores.get(unslotted[name], -math.inf)) for name in every}
    inside = {name for name in every if name in chosen or unslotted[name] in chosen}
    ignored = {e.name for e in circuit.edges if e.carries == "constant" and not constants}
    true = {edge.name for edge in circuit.edges} - ignored
    counted = [name for name in every if name not in ignored]
    inside -= ignored
    nodes = possible_nodes(circuit.config)
    edges = _measures({name: score_of[name] for name in counted}, inside, true)
    return Score(
        **asdict(edges),
        nodes=_measures(
            _best_of_ends(score_of, counted, nodes), _all_ends(inside), _all_ends(true)
        ),
        constants=constants,
        ablation=None if network is None else ablate(network, circuit, inside),
    )


def _measures(score_of: Mapping[str, float], predicted: set[str], true: set[str]) -> Measures:
    hits = len(predicted & true)
    precision = hits / len(predicted) if predicted else 0.0
    recall = hits / len(true) if true else 1.0
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return Measures(precision, recall, f1, _auroc(score_of, true), len(true), len(predicted))


def _auroc(score_of: Mapping[str, float], true: set[str]) -> float:
    """The chance that a true one scores higher than a false one; equal scores count half."""
    inside = np.array([value for name, value in score_of.items() if name in true])
    outside = np.sort(np.array([value for name, value in score_of.items() if name not in true]))
    if not len(inside) or not len(outside):
        return 0.5
    below = np.searchsorted(outside, inside, "left")
    equal = np.searchsorted(outside, inside, "right") - below
    return float((below + equal / 2).mean() / len(outside))


def _best_of_ends(
    score_of: Mapping[str, float], counted: list[str], nodes: list[str]
) -> dict[str, float]:
    best = dict.fromkeys(nodes, -math.inf)
    for name in counted:
        for end in ends_of(name)[:2]:
            best[end] = max(best[end], score_of[name])
    return best


def _all_ends(edges: Iterable[str]) -> set[str]:
    return {end for edge in edges for end in ends_of(edge)[:2]}


def _predicted(predicted: Any) -> tuple[dict[str, float], set[str]]:
    """A score for each edge that is named, and the edges of the predicted circuit."""
    if isinstance(predicted, Mapping) and "edges" in predicted:  # an EAP graph
        edges = predicted["edges"]
        if not isinstance(edges, Mapping) or not all(
            isinstance(edge, Mapping) and ("score" in edge or "in_graph" in edge)
            for edge in edges.values()
        ):
            raise SofthatError(
                "an EAP graph has an object `edges`: name -> {score, in_graph}, one of them at "
                "least"
            )
        scores = {
            str(name): _number(edge.get("score", edge.get("in_graph")))
            for name, edge in edges.items()
        }
        inside = {
            str(name) for name, edge in edges.items() if edge.get("in_graph", scores[name] > 0)
        }
        return scores, inside
    if isinstance(predicted, Mapping):
        scores = {str(name): _number(value) for name, value in predicted.items()}
    elif isinstance(predicted, str) or not isinstance(predicted, Iterable):
        raise SofthatError("predicted edges are a list of names, or a score for each name")
    else:
        scores = {str(getattr(edge, "name", edge)): 1.0 for edge in predicted}
    return scores, {name for name, value in scores.items() if value > 0}


def _number(value: Any) -> float:
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    raise SofthatError(f"an edge's score is a number, not {value!r}")
