"""Who reads whom in a transformer: the edges between its nodes, from the weights alone.

Nodes are `input` (tokens and positions), `a0.h1` (head 1 of layer 0), `m0` (its feed-forward) and
`logits`. An edge is there where the reader has a weight other than 0 on a coordinate that the
writer has ever written. Coordinates are used again once dead, and what is dead is cleared: a
reader of the new content then also has an edge from the old writer and from the layer that cleared
it, which cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from softhat.transformer.weights import Layer, Sparse, Transformer

ReadBy = tuple[str, str, str]
"""Source, target, and the target's input: q, k, v of a head, else nothing."""


@dataclass(frozen=True, slots=True)
class CircuitNode:
    """A node: which coordinates each of its inputs reads, by the input's name, and where it
    writes."""

    name: str
    reads: tuple[tuple[str, frozenset[int]], ...]
    writes: frozenset[int]


Stages = Iterable[Iterable[CircuitNode]]
"""Nodes in the order of execution. Those of a stage run together."""


def places(marked: Any) -> frozenset[int]:
    """The places of an array that are not 0."""
    return frozenset(np.flatnonzero(marked).tolist())


def edges_of(stages: Stages, replaced: bool = False) -> Iterator[ReadBy]:
    """The edges between nodes, in the order of execution. Where contents are `replaced`, only the
    last writer of a coordinate counts, else all that ever wrote there."""
    rank: dict[str, int] = {}
    writers: dict[int, list[str]] = {}
    for stage in stages:
        nodes = list(stage)
        for node in nodes:
            for slot, coordinates in node.reads:
                sources = {name for at in coordinates for name in writers.get(at, ())}
                for source in sorted(sources, key=rank.__getitem__):
                    yield source, node.name, slot
        for node in nodes:
            rank[node.name] = len(rank)
            for at in node.writes:
                if replaced:
                    writers[at] = [node.name]
                else:
                    writers.setdefault(at, []).append(node.name)


def edges(t: Transformer) -> Iterator[ReadBy]:
    """All edges of a transformer."""
    return edges_of(_stages(t))


def _stages(t: Transformer) -> Iterator[list[CircuitNode]]:
    embedded = t.embedding.where[1].tolist() + t.position_embedding.where[0].tolist()
    yield [CircuitNode("input", (), frozenset(embedded))]
    for number, layer in enumerate(t.layers):
        parts = {"q": layer.query, "k": layer.key, "v": layer.value}
        yield [
            CircuitNode(
                f"a{number}.h{h}",
                tuple((slot, read_by(tensor, h)) for slot, tensor in parts.items()),
                written_by(layer, h),
            )
            for h in range(len(layer.masks))
        ]
        written = places(layer.out_bias) | frozenset(layer.out.where[0].tolist())
        read = frozenset(layer.into.where[1].tolist())
        yield [CircuitNode(f"m{number}", (("", read),), written)]
    read = frozenset(t.readout.where[1].tolist())
    yield [CircuitNode("logits", (("", read),), frozenset())]


def read_by(tensor: Sparse, head: int) -> frozenset[int]:
    """The coordinates that one head's matrix reads."""
    heads, _, columns = tensor.where
    return frozenset(columns[heads == head].tolist())


def written_by(layer: Layer, head: int) -> frozenset[int]:
    """The coordinates that a head writes."""
    heads, coordinates, _ = layer.output.where
    return frozenset(coordinates[heads == head].tolist())


def columns(t: Transformer) -> list[list[str]]:
    """The nodes that take part, by stage: `input`, each layer's heads and gates, `logits`."""
    used = {end for source, target, _ in edges(t) for end in (source, target)}
    used |= {"input", "logits"}
    stages = [[node.name for node in stage if node.name in used] for stage in _stages(t)]
    return [stage for stage in stages if stage]


def texts(t: Transformer) -> dict[str, str]:
    """What each node is called in a diagram."""
    named = {"input": "tokens and positions", "logits": ", ".join(t.outputs)}
    for number, layer in enumerate(t.layers):
        for h, label in enumerate(layer.labels):
            named[f"a{number}.h{h}"] = f"{number}.{h} {label}"
        stored = [
            text
            for coordinate in t.coordinates
            for since, text in coordinate.holds
            if since == number + 1 and not text.startswith("raw ")
        ]
        named[f"m{number}"] = f"gates {number}: {'; '.join(stored)}"
    return named
