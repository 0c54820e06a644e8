"""Methods of the package EAP-IG, by its own code (github.com/hannamw/EAP-IG).

Edge attribution patching, its variants with integrated gradients, information flow routes, and
exact patching of every edge. The score of an edge is the absolute value of the package's, as the
MIB circuit track ranks edges.
"""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

from softhat.circuits.exam.hooked import HookedStock
from softhat.circuits.exam.packages import EAP, import_package, on_this_processor
from softhat.circuits.exam.subject import Subject
from softhat.circuits.graph import possible_edges

LEAST_HEADS = 2
"""The package's gradients do not fit layers with one head: these get one that adds nothing."""
IG_STEPS = 5
"""Of integrated gradients, as in the papers that use EAP-IG."""


def attribute(subject: Subject, repository: Path | None, method: str) -> dict[str, float]:
    """The package's `attribute` with this method on the subject's pairs."""
    graphs = import_package(EAP, "graph", repository)
    attribution = import_package(EAP, "attribute", repository)
    model = subject.fresh(LEAST_HEADS) if subject.hooked.cfg.n_heads == 1 else subject.hooked
    graph = graphs.Graph.from_model(graph_config(model))

    def metric(logits: Any, clean_logits: Any, lengths: Any, labels: Any) -> Any:
        return subject.metric(logits).mean()

    with on_this_processor():
        attribution.attribute(
            model, graph, loader(subject), metric, method=method, ig_steps=IG_STEPS, quiet=True
        )
    model.zero_grad(set_to_none=True)
    own = possible_edges(subject.circuit.config)
    scores = {name: abs(float(graph.edges[name].score)) for name in own}
    # Information flow routes divide by what a head adds, which may be nothing.
    return {name: 0.0 if isnan(value) else value for name, value in scores.items()}


def graph_config(model: HookedStock) -> dict[str, Any]:
    """What the package makes a graph from."""
    names = ("n_layers", "n_heads", "parallel_attn_mlp", "d_model")
    return {name: getattr(model.cfg, name) for name in names}


def loader(subject: Subject) -> list[tuple[list[str], list[str], list[int]]]:
    """All pairs as one batch, in the package's form: clean and corrupt texts, labels."""
    pairs, symbols = subject.pairs, subject.network.symbols
    texts = [
        [" ".join(symbols[code] for code in word) for word in words.tolist()]
        for words in (pairs.clean, pairs.corrupt)
    ]
    return [(texts[0], texts[1], [0] * len(texts[0]))]
