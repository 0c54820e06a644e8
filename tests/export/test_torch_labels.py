"""`labels.json` of native exports is true: coordinates hold what they say, edges carry signals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.export.native.labels import native_labels
from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import Formula
from tests.export.suite import chosen

torch = pytest.importorskip("torch")

WORD = "abbabaabbbabaaba"


def formula_of(text: str) -> Formula | None:
    """The formula that a label states, if it states one."""
    try:
        return softhat.parse(text, alphabet="ab")
    except SofthatError:
        return None


def test_coordinates_hold_the_truth_of_the_formula_they_name() -> None:
    seen = 0
    for formula, target in chosen(60):
        model = softhat.compile(formula, alphabet="ab", attention=target)
        residual = model.run(WORD, dtype="float64").residual
        for coordinate in native_labels(model.transformer).coordinates:
            for since, text in coordinate.holds:
                stated = None if text.startswith("raw ") else formula_of(text)
                if stated is None or text in ("i", "r"):
                    continue
                values = residual[since][1 : len(WORD) + 1, coordinate.index]
                assert (values == stated.truth(WORD)).all(), (str(formula), text)
                seen += 1
    assert seen > 100


def test_every_head_and_layer_leads_to_an_output() -> None:
    for formula, target in chosen(60):
        labels = native_labels(softhat.compile(formula, "ab", target).transformer)
        reaches = {"output:output"}
        for source, reader in reversed(labels.edges):  # readers stand in order of execution
            if reader.rsplit(".", 1)[0] in reaches or reader in reaches:
                reaches.add(source)
        assert {f"L{head.layer}.H{head.head}" for head in labels.heads} <= reaches, str(formula)
        gates = [neuron for neuron in labels.neurons if not neuron.label.startswith("clear ")]
        assert {f"L{neuron.layer}.MLP" for neuron in gates} <= reaches, str(formula)
        stages = [_stage(reader) for _, reader in labels.edges]
        assert all(a <= b for a, b in pairwise(stages))
        assert all(_stage(source) < _stage(reader) for source, reader in labels.edges)


def test_what_has_no_edge_has_no_effect() -> None:
    """Noise on a coordinate changes the output only if something on the way reads it."""
    model = softhat.compile("(b S Y a) & X b", alphabet="ab")
    labels = native_labels(model.transformer)
    module = softhat.to_torch(model, "float64")
    tokens = torch.tensor([["ab".index(symbol) for symbol in WORD]])
    clean = module(tokens)
    for at, _ in enumerate(module.layers):
        readers = {reader for source, reader in labels.edges if source == f"L{at}.MLP"}

        def drop(part: object, inputs: object, output: Any) -> Any:
            return torch.zeros_like(output)

        hook = module.layers[at].feed_forward.register_forward_hook(drop)
        changed = not torch.equal(module(tokens), clean)
        hook.remove()
        assert changed == bool(readers), at


def _stage(node: str) -> float:
    """embed, positions: -1; heads of block k: k; its MLP: k + 1/2; outputs: infinity."""
    if node.startswith("output:"):
        return np.inf
    if not node.startswith("L"):
        return -1
    block, part = node.split(".")[:2]
    return int(block[1:]) + (0.5 if part == "MLP" else 0)
