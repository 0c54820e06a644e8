"""The circuit of a model in softhat's own architecture: edges from its weights, judged by patching.

Edges over coordinates that are used again cancel in a run, but patching one of them alone shows:
they are part of the truth.
"""

from __future__ import annotations

from collections.abc import Iterator

from softhat.circuits.graph import Circuit, Edge, Node, hook_of
from softhat.circuits.network import NativeNetwork
from softhat.circuits.witness import WitnessSearch
from softhat.export.labels import outputs_said
from softhat.export.native.meanings import NativeMeanings, native_meanings
from softhat.models.model import Model
from softhat.runtime.answers import Answers
from softhat.transformer.edges import edges


def circuit_of(model: Answers, seed: int = 0, words: int = 256) -> Circuit:
    """Nodes with what they compute, and edges with what they carry and a witness each.

    Nodes of RASP programs and of simulations compute no formulas, so they have no meanings.
    """
    t = model.transformer
    decided = tuple(model.formulas.values()) if isinstance(model, Model) else ()
    search = WitnessSearch(NativeNetwork(t), seed, words, decided)
    judged_edges = tuple(
        Edge(source, target, slot, *search.judged(source, target, slot))
        for source, target, slot in edges(t)
    )
    most = max((len(layer.masks) for layer in t.layers), default=0)
    config = {"n_layers": len(t.layers), "n_heads": most, "d_model": t.d_model}
    part_meanings = native_meanings(t, model.program) if isinstance(model, Model) else None
    definitions = part_meanings.definitions if part_meanings else ()
    nodes = tuple(search.witnessed(_nodes(model, part_meanings)))
    return Circuit("softhat", nodes, judged_edges, config, search.answers(), definitions)


def _nodes(model: Answers, part_meanings: NativeMeanings | None) -> Iterator[Node]:
    t = model.transformer
    yield Node("input", hook_of("input"), "", part_meanings.inputs if part_meanings else ())
    for number, layer in enumerate(t.layers):
        for h, kind in enumerate(layer.kinds):
            name = f"a{number}.h{h}"
            yield Node(
                name, hook_of(name), kind, part_meanings.heads[number][h] if part_meanings else ()
            )
        stored = part_meanings.gates[number] if part_meanings else ()
        yield Node(f"m{number}", hook_of(f"m{number}"), "gates", stored)
    outputs = outputs_said(model.formulas) if isinstance(model, Model) else ()
    yield Node("logits", hook_of("logits"), "", outputs)
