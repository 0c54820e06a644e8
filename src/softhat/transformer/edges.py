"""Who reads whom in a transformer: the edges between its nodes, from the weights alone.

Nodes are `input` (tokens and positions), `a0.h1` (head 1 of layer 0), `m0` (its feed-forward) and
`logits`. An edge is there where the reader has a weight other than 0 on a coordinate that the
writer has ever written. Coordinates are used again once dead, and what is dead is cleared: a
reader of the new content then also has an edge from the old writer and from the layer that cleared
it, which cancel.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softhat.transformer.weights import Layer, Sparse, Transformer

ReadBy = tuple[str, str, str]
"""Source, target, and the target's input: q, k, v of a head, else nothing."""


def edges(t: Transformer) -> Iterator[ReadBy]:
    """All edges, in the order of execution."""
    embedded = set(t.embedding.where[1].tolist()) | set(t.position_embedding.where[0].tolist())
    written: list[tuple[str, set[int]]] = [("input", embedded)]

    def readers(target: str, slot: str, read: set[int]) -> Iterator[ReadBy]:
        yield from ((source, target, slot) for source, wrote in written if wrote & read)

    for number, layer in enumerate(t.layers):
        heads = [f"a{number}.h{h}" for h in range(len(layer.masks))]
        for h, name in enumerate(heads):
            for slot, tensor in (("q", layer.query), ("k", layer.key), ("v", layer.value)):
                yield from readers(name, slot, _read_by(tensor, h))
        written += [(name, _written_by(layer, h)) for h, name in enumerate(heads)]
        yield from readers(f"m{number}", "", set(layer.into.where[1].tolist()))
        biased = set(np.flatnonzero(layer.out_bias).tolist())
        written.append((f"m{number}", set(layer.out.where[0].tolist()) | biased))
    yield from readers("logits", "", set(t.readout.where[1].tolist()))


def _read_by(tensor: Sparse, head: int) -> set[int]:
    heads, _, columns = tensor.where
    return set(columns[heads == head].tolist())


def _written_by(layer: Layer, head: int) -> set[int]:
    heads, coordinates, _ = layer.output.where
    return set(coordinates[heads == head].tolist())


def columns(t: Transformer) -> list[list[str]]:
    """The nodes that take part, by stage: `input`, each layer's heads and gates, `logits`."""
    used = {end for source, target, _ in edges(t) for end in (source, target)}
    stages = [["input"]]
    for number, layer in enumerate(t.layers):
        stages.append([f"a{number}.h{h}" for h in range(len(layer.masks))])
        stages.append([f"m{number}"])
    taking_part = [[name for name in stage if name in used or name == "input"] for stage in stages]
    return [*(stage for stage in taking_part if stage), ["logits"]]


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
