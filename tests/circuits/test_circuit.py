"""Circuits are causally true: every labelled edge is found by patching, no other edge is."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.circuits.graph import possible_edges
from softhat.circuits.network import NativeNetwork, Patch
from softhat.circuits.stock_network import StockNetwork
from tests.cli.run import softhat as run
from tests.slices import every

FORMULAS = [
    "!c S a", "O (b & Y a)", "#(a) >= #(b)", "H (a -> O b)", "(a S b) S c", "Y Y a & !c S b",
    "#(a) = 2", "H (#(a) >= #(b)) & #(a) = #(b)",
]  # fmt: skip


def found_by_patching(network: Any, name: str, words: int = 120) -> bool:
    """Does replacing what the edge carries by what it carries on another word move an answer?"""
    source, _, rest = name.partition("->")
    target, _, slot = rest.rstrip(">").partition("<")
    rng = np.random.default_rng(7)
    for n in (2, 4, 7):
        clean, corrupt = rng.integers(0, len(network.symbols), (2, words, n))
        added, _ = network.run(corrupt)
        if source not in added:
            return False
        _, before = network.run(clean)
        _, after = network.run(clean, Patch(source, (target, slot), added[source]))
        if np.abs(after - before).max() > 1e-3:
            return True
    return False


def replay(network: Any, edge: Any) -> tuple[float, float]:
    """The margins of an edge's witness, before and after patching."""
    codes = [
        np.array([[network.symbols.index(s) for s in word]])
        for word in (edge.witness.clean, edge.witness.corrupt)
    ]
    added, _ = network.run(codes[1])
    output = network.outputs.index(edge.witness.output)
    _, before = network.run(codes[0])
    _, after = network.run(
        codes[0], Patch(edge.source, (edge.target, edge.slot), added[edge.source])
    )
    place = (0, edge.witness.position, output)
    return float(before[place]), float(after[place])


@pytest.mark.parametrize("formula", every(2, FORMULAS))
def test_native_circuits_are_causally_true(formula: str) -> None:
    model = softhat.compile(formula, alphabet="abc")
    circuit = softhat.circuit(model)
    network = NativeNetwork(model.transformer)
    labelled = {edge.name for edge in circuit.edges}
    for name in possible_edges(circuit.config):
        if name not in labelled:
            assert not found_by_patching(network, name), name
    for edge in circuit.edges:
        if edge.witness is not None:
            assert replay(network, edge) == pytest.approx(edge.witness.margins)
        else:
            assert not found_by_patching(network, edge.name), edge.name


def test_recalls_have_circuits() -> None:
    """Of a recall the weights compute one look back for each code: those are the nodes."""
    model = softhat.compile("last[a | b = Y c]", alphabet="abc")
    circuit = softhat.circuit(model)
    network = NativeNetwork(model.transformer)
    assert {node.kind for node in circuit.nodes} >= {"Previous", "Latest"}
    for edge in circuit.edges:
        if edge.witness is not None:
            assert replay(network, edge) == pytest.approx(edge.witness.margins)


def test_every_head_of_a_simplified_formula_matters() -> None:
    for formula in FORMULAS:
        circuit = softhat.circuit(softhat.compile(formula, alphabet="abc"))
        heads = {node.name for node in circuit.nodes if node.name.startswith("a")}
        moving = {edge.source for edge in circuit.edges if edge.carries == "input"}
        assert heads <= moving


@pytest.mark.parametrize("formula", every(2, FORMULAS[:5]))
def test_gpt2_circuits_are_causally_true(formula: str, tmp_path: Path) -> None:
    softhat.to_gpt2(softhat.compile(formula, alphabet="abc"), tmp_path / "m", context=16)
    circuit = softhat.circuit(tmp_path / "m")
    network = StockNetwork(tmp_path / "m")
    labelled = {edge.name for edge in circuit.edges}
    for name in possible_edges(circuit.config):
        if name not in labelled:
            assert not found_by_patching(network, name, 40), name
    for edge in circuit.edges:
        if edge.carries == "input":
            before, after = replay(network, edge)
            assert abs(after - before) > 1e-3


def test_the_network_is_the_stock_gpt2(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    softhat.to_gpt2(
        softhat.compile("H (a -> O b) & #(a) > 1", alphabet="abc"), tmp_path / "m", context=16
    )
    network = StockNetwork(tmp_path / "m")
    stock = (
        transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "m").double().eval()
    )
    codes = np.random.default_rng(0).integers(0, 3, (20, 9))
    _, margins = network.run(codes)
    ids = np.concatenate([np.full((20, 1), 3), codes], axis=1)
    with torch.no_grad():
        logits = stock(torch.from_numpy(ids)).logits.numpy()[:, 1:]
    np.testing.assert_allclose(margins[..., 0], logits[..., 1] - logits[..., 0], atol=1e-8)


def test_scores() -> None:
    circuit = softhat.circuit(softhat.compile("H (a -> O b) & #(a) > 1", alphabet="abc"))
    true = [edge.name for edge in circuit.edges if edge.carries == "input"]
    exact = softhat.score(circuit, true)
    assert (exact.precision, exact.recall, exact.f1, exact.auroc) == (1, 1, 1, 1)
    assert softhat.score(circuit, circuit.to_eap(constants=False)).f1 == 1
    assert softhat.score(circuit, circuit.to_eap(), constants=True).f1 == 1
    half = softhat.score(circuit, true[: len(true) // 2])
    assert half.precision == 1
    assert half.recall == pytest.approx((len(true) // 2) / len(true))
    rng = random.Random(1)
    chance = [
        softhat.score(circuit, {e: rng.random() for e in possible_edges(circuit.config)}).auroc
        for _ in range(60)
    ]
    assert abs(float(np.mean(chance)) - 0.5) < 0.05
    with pytest.raises(softhat.SofthatError, match="no edge of this model"):
        softhat.score(circuit, ["a9.h0->logits"])
    with pytest.raises(softhat.SofthatError, match="number"):
        softhat.score(circuit, {true[0]: "high"})


def test_folders_and_the_command(tmp_path: Path) -> None:
    model = softhat.compile("O (b & Y a)", alphabet="abc")
    model.save(tmp_path / "m")
    circuit = softhat.circuit(tmp_path / "m")
    circuit.save(tmp_path / "circuit.json")
    saved = json.loads((tmp_path / "circuit.json").read_text())
    assert [edge["name"] for edge in saved["edges"]] == [edge.name for edge in circuit.edges]
    (tmp_path / "p.json").write_text(json.dumps([e.name for e in circuit.edges]))
    done = run("score", str(tmp_path / "m"), str(tmp_path / "p.json"), "--constants", "--json")
    assert json.loads(done.out)["edges"]["f1"] == 1
    assert run("score", str(tmp_path / "no"), str(tmp_path / "p.json")).code == 2


def test_eap_graphs_choose_by_in_graph() -> None:
    circuit = softhat.circuit(softhat.compile("O (b & Y a)", alphabet="abc"))
    graph = circuit.to_eap(constants=False)
    for edge in graph["edges"].values():  # scores of any size: the order counts, not the sign
        edge["score"] -= 5.0
    found = softhat.score(circuit, graph)
    assert (found.f1, found.auroc) == (1, 1)
    with pytest.raises(softhat.SofthatError, match="in_graph"):
        softhat.score(circuit, {"edges": {"input->m0": {}}})


def test_rasp_programs_and_simulations_have_circuits_too() -> None:
    from softhat import rasp
    from softhat.ahat.gallery import GALLERY

    before = rasp.Select(rasp.indices, rasp.indices, lambda k, q: k == q - 1)
    program = rasp.Aggregate(before, rasp.tokens)
    for model in (
        softhat.compile(program, alphabet=["a", "b"], max_length=12),
        softhat.simulate(GALLERY["previous-token"](), max_length=12, epsilon=1e-2),
    ):
        circuit = softhat.circuit(model)
        network = NativeNetwork(model.transformer)
        labelled = {edge.name for edge in circuit.edges}
        assert any(edge.carries == "input" for edge in circuit.edges)
        for name in possible_edges(circuit.config):
            if name not in labelled:
                assert not found_by_patching(network, name), name
        true = [edge.name for edge in circuit.edges if edge.carries == "input"]
        assert softhat.score(circuit, true, model=model).completeness == 1.0


def test_a_looped_model_has_a_circuit_to_a_length(tmp_path: Path) -> None:
    language = softhat.from_regex("(aa)*", depth="log")
    loop = softhat.compile(language)
    loop.save(tmp_path / "m")
    for held in (loop, tmp_path / "m"):
        with pytest.raises(softhat.SofthatError, match="max_length=16"):
            softhat.circuit(held)
    assert softhat.circuit(softhat.compile(language, max_length=4)).edges
