"""A circuit in the formats of others, and back.

The graph of edge attribution patching is read by the MIB circuit track too (`mib` has its tensors
and sizes). `agentic` is a case of AgenticInterpBench (Khan et al., 2026): components with a hook, a
role and a note. Of its five tags, two are published with examples, INDICATOR and AGGREGATOR, and
those two are used: heads aggregate, feed-forwards indicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softhat.circuits.exam.subject import Subject
from softhat.circuits.graph import Circuit, Node
from softhat.io.errors import SofthatError

EXAMPLES = 5


def agentic(subject: Subject) -> dict[str, Any]:
    """The question as a case: what is asked, examples, and what every component does."""
    question, circuit = subject.question, subject.circuit
    pairs, symbols = subject.pairs, subject.network.symbols
    _, margins = subject.network.run(pairs.clean[:EXAMPLES])
    examples = [
        {"input": [symbols[code] for code in word], "output": (row[:, 0] > 0).tolist()}
        for word, row in zip(pairs.clean[:EXAMPLES].tolist(), margins, strict=True)
    ]
    return {
        "id": subject.id,
        "task": {
            "summary": f"At every symbol: is {question['formula']} true there?",
            "examples": examples,
        },
        "program": question["formula"],
        "model": subject.id,
        "components": [_component(node) for node in circuit.nodes if node.name[0] in "am"],
        "edges": [edge.name for edge in circuit.edges if edge.carries == "input"],
    }


def edges_of_case(case: Mapping[str, Any]) -> list[str]:
    """The edges that a case names, for `softhat.score`."""
    if not isinstance(case.get("edges"), list):
        raise SofthatError("this case names components and no edges: score its nodes")
    return [str(name) for name in case["edges"]]


def nodes_of_case(case: Mapping[str, Any]) -> list[str]:
    """The components by our names: `L1H2_ATTN` is `a1.h2`."""
    return [_node_name(str(component["id"])) for component in case["components"]]


def _component(node: Node) -> dict[str, Any]:
    head = node.name.startswith("a")
    layer, _, number = node.name[1:].partition(".h")
    meanings = [meaning for meaning in node.computes if meaning.formula]
    formulas = "; ".join(dict.fromkeys(str(meaning.formula) for meaning in meanings))
    roles = ", ".join(dict.fromkeys(meaning.role for meaning in node.computes))
    hook = f"blocks.{layer}.attn.hook_result[{number}]" if head else f"blocks.{layer}.mlp.hook_post"
    return {
        "id": f"L{layer}H{number}_ATTN" if head else f"L{layer}_MLP",
        "hook": hook,
        "role": {
            "tag": "AGGREGATOR" if head else "INDICATOR",
            "note": f"Computes {formulas}." if formulas else f"Holds {roles or 'nothing'}.",
        },
        "labels": [meaning.role for meaning in node.computes],
    }


def _node_name(component: str) -> str:
    layer, _, kind = component[1:].partition("_")
    if kind == "MLP":
        return f"m{layer}"
    number, _, head = layer.partition("H")
    return f"a{number}.h{head}"


def from_eap(document: Mapping[str, Any], circuit: Circuit) -> list[str]:
    """The edges of an EAP graph that are `in_graph`, of a model of the circuit's size."""
    own = {name: circuit.config[name] for name in ("n_layers", "n_heads", "d_model")}
    stated = {name: document["cfg"].get(name) for name in own}
    if stated != own:
        raise SofthatError(f"this graph is of another model: {stated}, expected {own}")
    return [name for name, edge in document["edges"].items() if edge["in_graph"]]
