"""Completeness and minimality are what they say: 1 for the true circuit, less for others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.circuits.ablation import ablate
from softhat.circuits.graph import possible_edges
from softhat.circuits.network import NativeNetwork
from softhat.circuits.stock_network import StockNetwork
from tests.cli.run import softhat as run
from tests.slices import every, sizes

FORMULAS = ["!c S a", "H (a -> O b) & #(a) > 1", "(a S b) S c", "Y Y a & !c S b", "#(a) = #(b)"]


@pytest.mark.parametrize("formula", every(4, FORMULAS))
def test_the_true_circuit_is_complete_and_minimal(formula: str, tmp_path: Path) -> None:
    model = softhat.compile(formula, alphabet="abc")
    softhat.to_gpt2(model, tmp_path / "m", context=16)
    for held in (model, tmp_path / "m"):
        circuit = softhat.circuit(held)
        true = [edge.name for edge in circuit.edges if edge.carries == "input"]
        exact = softhat.score(circuit, true, model=held)
        assert (exact.completeness, exact.minimality) == (1.0, 1.0)
        everything = [edge.name for edge in circuit.edges]
        assert softhat.score(circuit, everything, constants=True, model=held).completeness == 1.0
        assert exact.ablation is not None
        assert exact.ablation.empty < 0.95
        # Without its last step a circuit is no better than nothing.
        cut = [name for name in true if not name.endswith("->logits")]
        assert softhat.score(circuit, cut, model=held).completeness == exact.ablation.empty
        # All edges are complete, and far from minimal.
        full = softhat.score(circuit, possible_edges(circuit.config), model=held)
        assert full.completeness == 1.0
        assert full.minimality is not None
        assert full.minimality < 1.0


@pytest.mark.parametrize("count", sizes(10, 40))
def test_random_circuits_are_near_chance(count: int) -> None:
    model = softhat.compile("H (a -> O b) & #(a) > 1", alphabet="abc")
    circuit = softhat.circuit(model)
    every = possible_edges(circuit.config)
    rng = np.random.default_rng(3)
    found = []
    for _ in range(count):
        drawn = [name for name in every if rng.random() < 0.5]
        found.append(softhat.score(circuit, drawn, model=model))
    share = float(np.mean([one.minimality or 0.0 for one in found]))
    true = sum(edge.carries == "input" for edge in circuit.edges)
    constant = len(circuit.edges) - true
    assert abs(share - true / (len(every) - constant)) < 0.05
    assert found[0].ablation is not None
    assert np.mean([one.completeness or 0.0 for one in found]) < (1 + found[0].ablation.empty) / 2


def test_without_a_model_nothing_is_ablated() -> None:
    circuit = softhat.circuit(softhat.compile("O a", alphabet="ab"))
    assert softhat.score(circuit, []).completeness is None


def test_the_command_ablates(tmp_path: Path) -> None:
    softhat.compile("O (b & Y a)", alphabet="abc").save(tmp_path / "m")
    circuit = softhat.circuit(tmp_path / "m")
    true = [edge.name for edge in circuit.edges if edge.carries == "input"]
    (tmp_path / "p.json").write_text(json.dumps(true))
    done = run("score", str(tmp_path / "m"), str(tmp_path / "p.json"), "--json")
    assert json.loads(done.out)["ablation"]["completeness"] == 1.0
    shown = run("score", str(tmp_path / "m"), str(tmp_path / "p.json"))
    assert "minimality" in shown.out


def test_the_empty_circuit_of_a_long_count_is_not_complete() -> None:
    """No random short word has thirty `a`: the circuit's own pairs do."""
    model = softhat.compile("#(a) >= 30", alphabet="ab")
    circuit = softhat.circuit(model)
    all_edges = [edge.name for edge in circuit.edges]
    result = ablate(NativeNetwork(model.transformer), circuit, all_edges)
    assert result.completeness == 1.0
    assert result.empty < 1.0


def test_sets_of_propositions_and_short_contexts(tmp_path: Path) -> None:
    model = softhat.compile("Y (p & !q) | H q", propositions="pq")
    circuit = softhat.circuit(model)
    result = ablate(NativeNetwork(model.transformer), circuit, [e.name for e in circuit.edges])
    assert result.completeness == 1.0
    softhat.to_gpt2(softhat.compile("O (a & Y b)", alphabet="ab"), tmp_path / "g", context=5)
    network, found = StockNetwork(tmp_path / "g"), softhat.circuit(tmp_path / "g")
    assert ablate(network, found, [edge.name for edge in found.edges]).completeness == 1.0
