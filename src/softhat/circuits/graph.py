"""A circuit as data: nodes that compute, edges that carry, and the formats others read.

Nodes are named as in edge attribution patching (`input`, `a0.h1`, `m0`, `logits`); an edge into a
head says which of its inputs reads (`a0.h1->a1.h0<q>`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from softhat.export.labels import Meaning
from softhat.io.errors import SofthatError
from softhat.io.files import write_file

FORMAT = "softhat-circuit/1"
Carries = Literal["input", "constant"]
ABLATIONS: dict[Carries, tuple[str, ...]] = {
    "input": ("resample", "mean", "zero"),
    "constant": ("zero",),
}
"""Under which ablations an edge can be found. One that carries the same at every word of a length
(positions, `<bos>`) is invisible to words that are resampled, and to their mean."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Two words of one length, and a position at which the answer moves when something is taken
    from the corrupt word: the clean margin and the patched one."""

    clean: tuple[str, ...]
    corrupt: tuple[str, ...]
    output: str
    position: int
    margins: tuple[float, float]

    @property
    def flips(self) -> bool:
        """Is the answer another one, and not only less sure?"""
        return (self.margins[0] > 0) != (self.margins[1] > 0)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the circuit. `hook` is where TransformerLens shows its output."""

    name: str
    hook: str
    kind: str = ""
    computes: tuple[Meaning, ...] = ()
    witness: Witness | None = field(default=None, repr=False)
    """A pair of words whose answers part through this node: taken from the corrupt word, what it
    adds changes an answer of the clean one."""


@dataclass(frozen=True, slots=True)
class Edge:
    """`target` reads, by `slot` (q, k, v or nothing), what `source` wrote."""

    source: str
    target: str
    slot: str
    carries: Carries
    witness: Witness | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return edge_name(self.source, self.target, self.slot)

    @property
    def ablations(self) -> tuple[str, ...]:
        return ABLATIONS[self.carries]


@dataclass(frozen=True, slots=True)
class Circuit:
    """All nodes and edges of a model, in the order of execution."""

    model: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    """n_layers, n_heads, d_model: what a graph of all possible edges is made from; and
    n_key_value_heads, if heads share keys and values."""
    answers: tuple[Witness, ...] = ()
    """Words that differ in one place and in an answer, as many true as false: the margins are
    those of the clean word and of the corrupt one."""
    definitions: tuple[str, ...] = ()
    """`x1 := a S b`: what the names in formulas stand for, where formulas are long."""

    def __repr__(self) -> str:
        return f"<softhat.Circuit {len(self.nodes)} nodes, {len(self.edges)} edges>"

    def to_json(self) -> dict[str, Any]:
        """Everything, as `save` writes it."""
        return {
            "format": FORMAT,
            "model": self.model,
            "config": dict(self.config),
            "definitions": list(self.definitions),
            "nodes": [
                {
                    "name": node.name,
                    "hook": node.hook,
                    "kind": node.kind,
                    "computes": [meaning.to_json() for meaning in node.computes],
                    "witness": None if node.witness is None else asdict(node.witness),
                }
                for node in self.nodes
            ],
            "edges": [
                {"name": edge.name, **asdict(edge), "ablations": list(edge.ablations)}
                for edge in self.edges
            ],
            "answers": [asdict(witness) for witness in self.answers],
        }

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Circuit:
        """The circuit that `to_json` wrote."""
        if document.get("format") != FORMAT:
            raise SofthatError(f"a circuit has format {FORMAT!r}, not {document.get('format')!r}")
        return Circuit(
            document["model"],
            tuple(
                Node(
                    node["name"],
                    node["hook"],
                    node["kind"],
                    tuple(map(Meaning.from_json, node["computes"])),
                    _witness(node["witness"]),
                )
                for node in document["nodes"]
            ),
            tuple(
                Edge(
                    edge["source"],
                    edge["target"],
                    edge["slot"],
                    edge["carries"],
                    _witness(edge["witness"]),
                )
                for edge in document["edges"]
            ),
            document["config"],
            tuple(Witness(**_tuples(answer)) for answer in document["answers"]),
            tuple(document["definitions"]),
        )

    def to_eap(self, constants: bool = True) -> dict[str, Any]:
        """The graph as edge attribution patching and the MIB circuit track store it: every
        possible node and edge, those of the circuit `in_graph`."""
        chosen = {edge.name for edge in self.edges if constants or edge.carries == "input"}
        scores = {name: float(name in chosen) for name in possible_edges(self.config)}
        return eap_graph(self.config, scores, chosen)

    def hook_edges(self) -> list[tuple[str, str]]:
        """Edges between TransformerLens hook names."""
        hooks = {node.name: node.hook for node in self.nodes}
        return [(hooks[edge.source], _reading_hook(edge, self.config)) for edge in self.edges]

    def save(self, file: str | Path) -> None:
        """Write the circuit as JSON."""
        write_file(file, (json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n").encode())


def _witness(data: Mapping[str, Any] | None) -> Witness | None:
    return None if data is None else Witness(**_tuples(data))


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}


class EdgeEnds(NamedTuple):
    """What the name of an edge says; without a slot it is an edge into all of a head's inputs."""

    source: str
    target: str
    slot: str


def edge_name(source: str, target: str, slot: str) -> str:
    return f"{source}->{target}<{slot}>" if slot else f"{source}->{target}"


def ends_of(name: str) -> EdgeEnds:
    """The ends of the edge of this name."""
    source, _, reader = name.partition("->")
    target, _, slot = reader.rstrip(">").partition("<")
    return EdgeEnds(source, target, slot)


def eap_graph(
    config: Mapping[str, Any], scores: Mapping[str, float], chosen: Collection[str]
) -> dict[str, Any]:
    """A graph as edge attribution patching stores it: every possible node and edge, the edges
    chosen and the nodes at their ends `in_graph`."""
    ends = {end for name in chosen for end in ends_of(name)[:2]}
    return {
        "cfg": dict(config),
        "nodes": {name: {"in_graph": name in ends} for name in possible_nodes(config)},
        "edges": {
            name: {"score": float(scores[name]), "in_graph": name in chosen}
            for name in possible_edges(config)
        },
    }


def possible_nodes(config: Mapping[str, Any]) -> list[str]:
    """`input`, then each layer's heads and feed-forward, then `logits`."""
    names = ["input"]
    for layer in range(config["n_layers"]):
        names += [f"a{layer}.h{head}" for head in range(config["n_heads"])]
        names.append(f"m{layer}")
    return [*names, "logits"]


def possible_edges(config: Mapping[str, Any]) -> list[str]:
    """Every edge that a transformer of this size can have, by name."""
    names: list[str] = []
    before = ["input"]
    for layer in range(config["n_layers"]):
        heads = [f"a{layer}.h{head}" for head in range(config["n_heads"])]
        names += [f"{s}->{h}<{slot}>" for h in heads for slot in "qkv" for s in before]
        before += heads
        names += [f"{s}->m{layer}" for s in before]
        before.append(f"m{layer}")
    return [*names, *(f"{s}->logits" for s in before)]


def hook_of(name: str) -> str:
    """The TransformerLens hook that shows a node's output."""
    if name == "input":
        return "blocks.0.hook_resid_pre"
    if name == "logits":
        return "unembed.hook_out"
    if name.startswith("m"):
        return f"blocks.{name[1:]}.hook_mlp_out"
    layer, head = name[1:].split(".h")
    return f"blocks.{layer}.attn.hook_result.{head}"


def _reading_hook(edge: Edge, config: Mapping[str, Any]) -> str:
    """The TransformerLens hook by which an edge's target reads the residual stream. Heads that
    share keys and values share the hooks of these."""
    if edge.target == "logits":
        return f"blocks.{config['n_layers'] - 1}.hook_resid_post"
    if edge.target.startswith("m"):
        return f"blocks.{edge.target[1:]}.hook_mlp_in"
    layer, head = edge.target[1:].split(".h")
    if edge.slot != "q":
        head = str(
            int(head) * config.get("n_key_value_heads", config["n_heads"]) // config["n_heads"]
        )
    return f"blocks.{layer}.hook_{edge.slot}_input.{head}"
