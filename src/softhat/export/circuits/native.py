"""The circuit of a model in softhat's own architecture, read off its weights.

An edge is there where the reader has a weight other than 0 on a coordinate that the writer has
ever written. Coordinates are used again once dead, and what is dead is cleared: a reader of the
new content then also has an edge from the old writer and from the layer that cleared it, which
cancel. Patching sees such edges, so they are part of the truth.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softhat.export.circuits.graph import Circuit, Edge, Meaning, Node, hook_of
from softhat.export.circuits.network import NativeNetwork
from softhat.export.circuits.witness import Search
from softhat.transformer.weights import Layer, Sparse, Transformer


def circuit_of(t: Transformer, seed: int = 0, words: int = 256) -> Circuit:
    """Nodes with what they compute, and edges with what they carry and a witness each."""
    search = Search(NativeNetwork(t), seed, words)
    edges = tuple(
        Edge(source, target, slot, *search.judged(source, target, slot))
        for source, target, slot in structural_edges(t)
    )
    most = max((len(layer.masks) for layer in t.layers), default=0)
    config = {"n_layers": len(t.layers), "n_heads": most, "d_model": t.d_model}
    return Circuit("softhat", tuple(_nodes(t)), edges, config)


def structural_edges(t: Transformer) -> Iterator[tuple[str, str, str]]:
    """(source, target, slot) for every reader of a coordinate that the source writes."""
    written: list[tuple[str, set[int]]] = [("input", _embedded(t))]

    def readers(target: str, slot: str, read: set[int]) -> Iterator[tuple[str, str, str]]:
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


def _nodes(t: Transformer) -> Iterator[Node]:
    yield Node("input", hook_of("input"))
    for number, layer in enumerate(t.layers):
        for h, (kind, label) in enumerate(zip(layer.kinds, layer.labels, strict=True)):
            name = f"a{number}.h{h}"
            yield Node(name, hook_of(name), kind, _meanings(kind, label.partition(": ")[2]))
        stored = [
            Meaning("gate", *_signed(text))
            for coordinate in t.coordinates
            for since, text in coordinate.holds
            if since == number + 1 and not text.startswith("raw ")
        ]
        yield Node(f"m{number}", hook_of(f"m{number}"), "gates", tuple(stored))
    yield Node("logits", hook_of("logits"))


def _meanings(kind: str, label: str) -> tuple[Meaning, ...]:
    role = {"Average": "mean", "Sign": "comparison"}.get(kind, "lookup")
    return tuple(Meaning(role, *_signed(text)) for text in label.split("; "))


def _signed(text: str) -> tuple[str, int]:
    """A formula without its outermost negation, and the sign that took it away."""
    if text.startswith("!(") and _closes_at_end(text[1:]):
        return text[2:-1], -1
    return text, 1


def _closes_at_end(text: str) -> bool:
    """Does the parenthesis that opens the text close at its end?"""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return at == len(text) - 1
    return False


def _embedded(t: Transformer) -> set[int]:
    return set(t.embedding.where[1].tolist()) | set(t.position_embedding.where[0].tolist())


def _read_by(tensor: Sparse, head: int) -> set[int]:
    heads, _, columns = tensor.where
    return set(columns[heads == head].tolist())


def _written_by(layer: Layer, head: int) -> set[int]:
    heads, coordinates, _ = layer.output.where
    return set(coordinates[heads == head].tolist())
