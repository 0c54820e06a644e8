"""The circuit and the labels of Llama exports, against the formulas and against GPT-2's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.circuits.network import reading
from softhat.circuits.stock_network import StockNetwork
from tests.export.test_meanings import expected, said, words_of

os.environ["HF_HUB_OFFLINE"] = "1"
FORMULAS = [
    "a S (b & Y a)",
    "#(a) > #(b)",
    "Y (a S Y (b S Y a))",
    "(#(a) >= 3) & Y b",
    "first | (a S b) & i >= 4",
]


def found_edges(folder: Path) -> list[str]:
    return sorted(edge.name for edge in softhat.circuit(folder).edges if edge.carries == "input")


@pytest.mark.parametrize("text", FORMULAS[:2])
def test_what_carries_input_is_what_carries_it_in_gpt2(text: str, tmp_path: Path) -> None:
    model = softhat.compile(text, "ab")
    softhat.to_llama(model, tmp_path / "llama", 32)
    softhat.to_gpt2(model, tmp_path / "gpt2", 32)
    assert found_edges(tmp_path / "llama") == found_edges(tmp_path / "gpt2")


def test_the_true_circuit_scores_one(tmp_path: Path) -> None:
    softhat.to_llama(softhat.compile("a S Y b", "ab"), tmp_path / "out", 16, positions="bits")
    circuit = softhat.circuit(tmp_path / "out")
    assert circuit.model == "llama"
    true = [edge.name for edge in circuit.edges if edge.carries == "input"]
    score = softhat.score(circuit, true, model=tmp_path / "out")
    assert score.f1 == 1.0 and score.ablation is not None
    assert score.ablation.completeness == 1.0 and score.ablation.minimality == 1.0


@pytest.mark.parametrize("positions", ["rope", "bits"])
@pytest.mark.parametrize("text", [*FORMULAS, "mod(3, 1) S a"])
def test_every_label_is_what_its_formula_says(text: str, positions: Any, tmp_path: Path) -> None:
    if "mod" in text and positions == "rope":
        pytest.skip("rope has no digits of the position")
    softhat.to_llama(softhat.compile(text, "ab"), tmp_path / "out", 64, positions=positions)
    labels = json.loads((tmp_path / "out" / "labels.json").read_text())
    network = StockNetwork(tmp_path / "out")
    checked = 0
    for word in words_of(np.random.default_rng(3), "ab", (1, 6, 40)):
        seen: dict[str, Any] = {}
        network.run(np.array([["ab".index(s) for s in word]]), seen=seen)
        for meaning in said(labels):
            read = reading(meaning, seen)[0, 1 : len(word) + 1]
            want = expected(meaning, labels["definitions"], word)
            assert np.abs(read - want).max() < 1e-2, (text, meaning, word)
            checked += 1
    assert checked > 20


def test_the_network_is_what_transformers_runs(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    for family, positions in (("llama", "rope"), ("qwen2", "bits")):
        folder = tmp_path / family
        model = softhat.compile("#(a & Y b) > 1 & (a S b)", "ab")
        softhat.to_llama(model, folder, 32, family, positions=positions)
        tokens = np.random.default_rng(0).integers(0, 2, (8, 20))
        _, margins = StockNetwork(folder).run(tokens)
        stock = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
        first = np.full((8, 1), stock.config.bos_token_id)
        with torch.no_grad():
            logits = stock(torch.from_numpy(np.concatenate([first, tokens], axis=1))).logits.numpy()
        found = (logits[..., 1] - logits[..., 0])[:, 1:]
        assert np.abs(found - margins[..., 0]).max() < 1e-3
