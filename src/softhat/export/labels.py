"""`labels.json`: what every head, neuron and residual coordinate of an export computes.

The circuit of a compiled model is known, so circuit-discovery methods can be scored against it.
The same format serves every export. Layers, heads, units and coordinates count from 0.

Nodes of the circuit are named `embed` (tokens), `positions`, `L0.H2` (head 2 of block 0; as the
end of an edge `L0.H2.q`, `.k` or `.v`, the input that reads), `L0.MLP` and `output:NAME`. An edge
[from, to] says that `to` reads, with a weight other than 0, a coordinate into which `from` wrote
something that varies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

FORMAT = "softhat-labels/1"


@dataclass(frozen=True, slots=True)
class HeadLabel:
    """One attention head: its kind (Latest, Previous, …), formula, and what it reads and writes."""

    layer: int
    head: int
    kind: str
    label: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NeuronLabel:
    """Hidden units that together compute (a term of) one gate."""

    layer: int
    units: tuple[int, ...]
    label: str


@dataclass(frozen=True, slots=True)
class CoordinateLabel:
    """What a residual coordinate holds: (0, …) from the embedding, (k, …) from block k-1 on."""

    index: int
    holds: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Labels:
    """Everything that `labels.json` says."""

    model: str
    heads: tuple[HeadLabel, ...]
    neurons: tuple[NeuronLabel, ...]
    coordinates: tuple[CoordinateLabel, ...]
    edges: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "model": self.model,
            "heads": [
                {
                    "layer": head.layer,
                    "head": head.head,
                    "kind": head.kind,
                    "label": head.label,
                    "reads": list(head.reads),
                    "writes": list(head.writes),
                }
                for head in self.heads
            ],
            "neurons": [
                {"layer": neuron.layer, "units": list(neuron.units), "label": neuron.label}
                for neuron in self.neurons
            ],
            "coordinates": [
                {
                    "index": coordinate.index,
                    "holds": [{"from": since, "what": text} for since, text in coordinate.holds],
                }
                for coordinate in self.coordinates
            ],
            "edges": [list(edge) for edge in self.edges],
        }


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the circuit: which coordinates each of its inputs reads, and where it writes.

    `reads` maps the suffix of an input (`.q`, `.k`, `.v`, or nothing) to coordinates.
    """

    name: str
    reads: tuple[tuple[str, frozenset[int]], ...]
    writes: frozenset[int]


def circuit(stages: Sequence[Iterable[Node]]) -> tuple[tuple[str, str], ...]:
    """The edges between nodes given in the order of execution; those of a stage run together."""
    writers: dict[int, list[str]] = {}
    edges: list[tuple[str, str]] = []
    for stage in stages:
        nodes = list(stage)
        for node in nodes:
            for suffix, coordinates in node.reads:
                sources = {name for at in coordinates for name in writers.get(at, ())}
                edges += [(source, node.name + suffix) for source in sorted(sources)]
        for node in nodes:
            for at in node.writes:
                writers.setdefault(at, []).append(node.name)
    return tuple(edges)
