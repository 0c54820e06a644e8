"""Circuits of stock exports, tried in transformers itself: what patching finds is what is said."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.circuits.graph import possible_edges
from softhat.circuits.network import LEAK
from tests.slices import every

os.environ["HF_HUB_OFFLINE"] = "1"
FORMULAS = ["a S (b & Y a)", "(#(a) >= 2) & Y b", "!(a S Y b) | #(a) > #(b)"]
MOVED = 0.5
"""Of a margin: what an edge of the circuit moves on its pair, at least."""


def check_in_transformers(folder: Path, words: int, seed: int = 0) -> None:
    """Edges that carry input move an answer on their pair, heads change one, and no other edge
    moves anything on random words."""
    from tests.circuits.stock_patching import Pairs, Stock

    circuit = softhat.circuit(folder)
    stock = Stock(folder)
    symbols = sorted({s for pair in circuit.answers for s in pair.clean})

    def codes(word: tuple[str, ...]) -> Any:
        return np.array([[symbols.index(s) for s in word]])

    carries = {edge.name: edge.carries for edge in circuit.edges}
    for edge in circuit.edges:
        if edge.witness is not None:
            pair = Pairs(stock, codes(edge.witness.clean), codes(edge.witness.corrupt))
            moved = pair.effect(edge.name)[0, edge.witness.position]
            assert moved > MOVED * abs(edge.witness.margins[0]), edge.name
    rng = np.random.default_rng(seed)
    clean, corrupt = rng.integers(0, len(symbols), (2, words, 6))
    pairs = Pairs(stock, clean, corrupt)
    most = np.abs(pairs.margins).max()
    for name in possible_edges(circuit.config):
        if carries.get(name) != "input":
            assert pairs.effect(name).max() < LEAK * most, name
    for node in circuit.nodes:
        if node.name.startswith("a"):
            assert node.witness is not None, node.name
            check_flip(stock, node.name, codes, node.witness)


def check_flip(stock: Any, name: str, codes: Any, witness: Any) -> None:
    """A head that says what it says on the corrupt word changes the answer."""
    number, h = (int(part) for part in name[1:].split(".h"))
    output, width = stock.blocks[number].output, stock.width
    other = kept_inputs(stock, output, codes(witness.corrupt))

    def hook(_: Any, inputs: Any) -> Any:
        z = inputs[0].clone()
        z[..., h * width : (h + 1) * width] = other[..., h * width : (h + 1) * width]
        return (z,)

    before = stock.margins(codes(witness.clean))[0, witness.position]
    handle = output.register_forward_pre_hook(hook)
    after = stock.margins(codes(witness.clean))[0, witness.position]
    handle.remove()
    assert (before > 0) != (after > 0), name


def kept_inputs(stock: Any, module: Any, codes: Any) -> Any:
    seen = []
    handle = module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    stock.margins(codes)
    handle.remove()
    return seen[0]


@pytest.mark.parametrize("architecture", every(2, ["llama", "gpt2"]))
def test_what_patching_finds_in_transformers_is_what_is_said(
    architecture: str, tmp_path: Path
) -> None:
    export = softhat.to_gpt2 if architecture == "gpt2" else softhat.to_llama
    for k, text in enumerate(FORMULAS):
        disguise = None if k < 2 else k
        export(softhat.compile(text, "ab"), tmp_path / f"{k}", 16, disguise=disguise)
        check_in_transformers(tmp_path / f"{k}", 12)
