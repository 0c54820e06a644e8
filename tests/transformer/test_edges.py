"""Edges: what is no edge changes nothing, and heads of one layer do not read each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import softhat
from softhat.numerics.formats import format_of
from softhat.runtime.dense import Ready
from softhat.runtime.trace import trace
from softhat.transformer.edges import columns, edges, texts
from softhat.transformer.weights import Layer, Sparse, Transformer

FORMULAS = ["Y a & O b", "#(a) > #(b) | Y (a & Y b)", "(a S b) & X (a U b)"]


def without_head(t: Transformer, number: int, head: int) -> Transformer:
    layer = t.layers[number]
    keep = layer.output.where[0] != head
    where = tuple(axis[keep] for axis in layer.output.where)
    output = Sparse(layer.output.shape, where, layer.output.values[keep])
    changed: Layer = replace(layer, output=output)
    return replace(t, layers=(*t.layers[:number], changed, *t.layers[number + 1 :]))


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_head_that_nobody_reads_changes_nothing_else(formula: str) -> None:
    """For every head: what has no edge from it (and from no one that reads it) stays the same."""
    t = softhat.compile(formula, alphabet="ab").transformer
    found = list(edges(t))
    form = format_of("float64")
    word = np.array([0, 1, 1, 0, 1, 0, 0])
    before = trace(Ready(t, form), word)
    for number, layer in enumerate(t.layers):
        for h in range(len(layer.masks)):
            reached = {f"a{number}.h{h}"}
            for source, target, _ in found:  # in the order of execution
                if source in reached:
                    reached.add(target)
            after = trace(Ready(without_head(t, number, h), form), word)
            for later in range(len(t.layers)):
                for other in range(len(t.layers[later].masks)):
                    if f"a{later}.h{other}" not in reached:
                        assert np.array_equal(
                            before.head_outputs[later][other], after.head_outputs[later][other]
                        )
            assert "logits" in reached  # no head is there for nothing


@pytest.mark.parametrize("formula", FORMULAS)
def test_edges_lead_onward(formula: str) -> None:
    t = softhat.compile(formula, alphabet="ab").transformer
    stage = {name: at for at, names in enumerate(columns(t)) for name in names}
    for source, target, slot in edges(t):
        assert stage[source] < stage[target]
        assert (slot != "") == target.startswith("a")
    names = texts(t)
    assert set(stage) <= set(names) and columns(t)[0] == ["input"] and columns(t)[-1] == ["logits"]
    for number, layer in enumerate(t.layers):
        for h, label in enumerate(layer.labels):
            assert names[f"a{number}.h{h}"] == f"{number}.{h} {label}"
