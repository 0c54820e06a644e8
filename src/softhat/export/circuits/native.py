"""The circuit of a model in softhat's own architecture: edges from its weights, judged by patching.

Edges over coordinates that are used again cancel in a run, but patching one of them alone shows:
they are part of the truth.
"""

from __future__ import annotations

from collections.abc import Iterator

from softhat.export.circuits.graph import Circuit, Edge, Meaning, Node, hook_of
from softhat.export.circuits.network import NativeNetwork
from softhat.export.circuits.witness import Search
from softhat.transformer.edges import edges
from softhat.transformer.weights import Transformer


def circuit_of(t: Transformer, seed: int = 0, words: int = 256) -> Circuit:
    """Nodes with what they compute, and edges with what they carry and a witness each."""
    search = Search(NativeNetwork(t), seed, words)
    found = tuple(
        Edge(source, target, slot, *search.judged(source, target, slot))
        for source, target, slot in edges(t)
    )
    most = max((len(layer.masks) for layer in t.layers), default=0)
    config = {"n_layers": len(t.layers), "n_heads": most, "d_model": t.d_model}
    return Circuit("softhat", tuple(_nodes(t)), found, config)


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
