"""Of every family: labelled edges are found on their witnesses, no others are, heads flip answers.

The formulas are drawn at random and kept if they are worth it: not constant, and no head of theirs
is inert (which the search of witnesses tells).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.export.circuits.gpt2 import GPT2Network
from softhat.export.circuits.graph import Circuit, possible_edges
from softhat.export.circuits.network import NativeNetwork, NodePatch, Patch
from softhat.logic.random import FAMILIES, random_formula
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from tests.export.test_circuit import replay
from tests.frontends.rasp.random_programs import random_program

DRAWN = ("n-gram", "past", "future", "two-way", "counting", "past-counting", "rasp")
DECODERS = ("n-gram", "past", "past-counting")


def n_gram(rng: np.random.Generator) -> Formula:
    """Some windows of two to four symbols."""
    windows: list[Formula] = []
    for _ in range(int(rng.integers(1, 4))):
        window: Formula | None = None
        for symbol in rng.choice(["a", "b"], int(rng.integers(2, 5))):
            here: Formula = nodes.Symbol(str(symbol))
            window = here if window is None else nodes.And(here, nodes.Yesterday(window))
        assert window is not None
        windows.append(window)
    result = windows[0]
    for window in windows[1:]:
        result = nodes.Or(result, window)
    return result


def drawn(family: str, seed: int) -> Iterator[tuple[Any, Circuit]]:
    """Models without inert heads, and their circuits."""
    rng = np.random.default_rng([seed, DRAWN.index(family)])
    while True:
        model = model_of(family, rng)
        if model is None or not model.transformer.layers:
            continue
        circuit = softhat.circuit(model)
        heads = [node for node in circuit.nodes if node.name.startswith("a")]
        if all(matters(circuit, node, family) for node in heads):
            yield model, circuit


def model_of(family: str, rng: np.random.Generator) -> Any:
    if family == "rasp":
        program = random_program(random.Random(int(rng.integers(1 << 30))), int(rng.integers(3, 7)))
        try:
            model = softhat.compile(program, alphabet=[0, 1], max_length=9)
        except softhat.SofthatError:
            return None  # softhat says why; there are others
        return model if model.size.heads <= 6 else None  # every possible edge is patched
    if family == "n-gram":
        return softhat.compile(n_gram(rng), alphabet="ab")
    formula = random_formula(rng, int(rng.integers(3, 9)), ("a", "b"), family)
    return softhat.compile(formula, alphabet="ab")


def matters(circuit: Circuit, node: Any, family: str) -> bool:
    """Does the head change an answer, or (of a RASP program) a value?"""
    if family != "rasp":
        return node.witness is not None
    return any(e.source == node.name and e.carries == "input" for e in circuit.edges)


class Resampling:
    """Pairs of random words, run once; then any edge is patched on all of them."""

    def __init__(self, network: Any, words: int) -> None:
        self.network = network
        rng = np.random.default_rng(7)
        self.batches = []
        for n in (2, 4, 7):
            clean, corrupt = rng.integers(0, len(network.symbols), (2, words, n))
            added, _ = network.run(corrupt)
            _, margins = network.run(clean)
            self.batches.append((clean, added, margins))

    def finds(self, name: str) -> bool:
        """Does replacing what the edge carries by what it carries on another word move anything?"""
        source, _, rest = name.partition("->")
        target, _, slot = rest.rstrip(">").partition("<")
        for clean, added, before in self.batches:
            if source not in added:
                return False
            _, after = self.network.run(clean, Patch(source, (target, slot), added[source]))
            if np.abs(after - before).max() > 1e-3:
                return True
        return False


def check(circuit: Circuit, network: Any, words: int, answers: bool = True) -> None:
    found = Resampling(network, words)
    labelled = {edge.name for edge in circuit.edges}
    for name in possible_edges(circuit.config):
        if name not in labelled:
            assert not found.finds(name), name
    for edge in circuit.edges:
        if edge.carries == "input":
            before, after = replay(network, edge)
            assert abs(after - before) > 1e-3, edge.name
        else:
            assert not found.finds(edge.name), edge.name
    for node in circuit.nodes if answers else ():
        if node.name.startswith("a"):
            assert flips(network, node), node.name


def flips(network: Any, node: Any) -> bool:
    """Does the head, taken from the corrupt word of its pair, change the answer?"""
    if node.witness is None:
        return False
    clean, corrupt = (
        np.array([[network.symbols.index(s) for s in word]])
        for word in (node.witness.clean, node.witness.corrupt)
    )
    added, _ = network.run(corrupt)
    _, before = network.run(clean)
    _, after = network.run(clean, NodePatch(node.name, added[node.name]))
    place = (0, node.witness.position, network.outputs.index(node.witness.output))
    return bool((before[place] > 0) != (after[place] > 0))


def check_family(family: str, count: int, words: int, folder: Path) -> None:
    assert family in ("n-gram", "rasp") or family in FAMILIES
    for made, (model, circuit) in enumerate(islice(drawn(family, 16), count)):
        check(circuit, NativeNetwork(model.transformer), words, answers=family != "rasp")
        if family in DECODERS:
            softhat.to_gpt2(model, folder / f"{made}", context=16)
            exported = softhat.circuit(folder / f"{made}")
            check(exported, GPT2Network(folder / f"{made}"), words)


@pytest.mark.parametrize("family", DRAWN)
def test_a_few_models_of_every_family(family: str, tmp_path: Path) -> None:
    check_family(family, 1, 12, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("family", DRAWN)
def test_a_hundred_models_of_every_family(family: str, tmp_path: Path) -> None:
    check_family(family, 100, 32, tmp_path)


def test_patches_of_nodes_and_edges_agree() -> None:
    """Patching all edges of a node is patching the node."""
    model = softhat.compile("O (b & Y a)", alphabet="ab")
    network = NativeNetwork(model.transformer)
    rng = np.random.default_rng(0)
    clean, corrupt = rng.integers(0, 2, (2, 50, 6))
    added, _ = network.run(corrupt)
    _, whole = network.run(clean, NodePatch("a1.h0", added["a1.h0"]))
    (reader,) = [e for e in softhat.circuit(model).edges if e.source == "a1.h0"]
    _, one = network.run(clean, Patch("a1.h0", (reader.target, reader.slot), added["a1.h0"]))
    assert np.allclose(whole, one)


def test_pairs_for_the_output() -> None:
    """Words that differ in one place and in the answer, as many true as false."""
    formula = softhat.parse("H (a -> O b) & #(a) > 1")
    circuit = softhat.circuit(softhat.compile(formula, alphabet="abc"))
    assert circuit.answers
    values = []
    for pair in circuit.answers:
        assert sum(x != y for x, y in zip(pair.clean, pair.corrupt, strict=True)) == 1
        before = bool(formula.truth(list(pair.clean))[pair.position])
        after = bool(formula.truth(list(pair.corrupt))[pair.position])
        assert before != after
        assert (before, after) == tuple(margin > 0 for margin in pair.margins)
        values.append(before)
    assert values.count(True) == values.count(False)
