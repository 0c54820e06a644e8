"""labels.json of stock GPT-2 exports says what is true of the weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.export.labels import Labels, circuit
from softhat.logic.syntax.parse import parse
from softhat.transformer.edges import CircuitNode

FORMULA = "(!c S a) & #(b) > #(Y c)"


def read(folder: Path) -> dict[str, Any]:
    labels: dict[str, Any] = json.loads((folder / "labels.json").read_text())
    return labels


def test_circuit_edges_follow_the_order_of_execution() -> None:
    first = CircuitNode("embed", (), frozenset({0, 1}))
    left = CircuitNode("L0.H0", (("q", frozenset({0})), ("v", frozenset({5}))), frozenset({5}))
    right = CircuitNode("L0.H1", (("k", frozenset({5})),), frozenset({6}))
    mlp = CircuitNode("L0.MLP", (("", frozenset({5, 6, 1})),), frozenset({1}))
    last = CircuitNode("output:o", (("", frozenset({1})),), frozenset())
    # Heads of one block run together: neither reads what the other writes.
    assert circuit([[first], [left, right], [mlp], [last]]) == (
        ("embed", "L0.H0.q"),
        ("L0.H0", "L0.MLP"),
        ("L0.H1", "L0.MLP"),
        ("embed", "L0.MLP"),
        ("L0.MLP", "output:o"),
        ("embed", "output:o"),
    )


def test_json_is_plain() -> None:
    empty = Labels("gpt2", (), (), (), (("embed", "output:o"),))
    assert json.loads(json.dumps(empty.to_json())) == {
        "format": "softhat-labels/1",
        "model": "gpt2",
        "definitions": [],
        "heads": [],
        "neurons": [],
        "coordinates": [],
        "outputs": [],
        "edges": [["embed", "output:o"]],
    }


def test_names_of_heads_neurons_and_coordinates(tmp_path: Path) -> None:
    softhat.to_gpt2(softhat.compile(FORMULA, "abc"), tmp_path / "out", context=32)
    labels = read(tmp_path / "out")
    kinds = {head["kind"]: head for head in labels["heads"]}
    assert set(kinds) == {"Latest", "Previous", "Average", "Sign"}
    assert kinds["Latest"]["label"] == "!c S a"
    assert kinds["Previous"]["label"] == "Y c"
    assert kinds["Previous"]["reads"] == ["the position", "c"]
    assert kinds["Previous"]["writes"] == ["raw Y c"]
    assert kinds["Average"]["layer"] < kinds["Sign"]["layer"]
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert [c["index"] for c in labels["coordinates"]] == list(range(config["n_embd"]))
    assert all(c["holds"] for c in labels["coordinates"])
    named = {unit for n in labels["neurons"] for unit in [(n["layer"], u) for u in n["units"]]}
    assert len(named) == sum(len(n["units"]) for n in labels["neurons"])
    ends = {end.rsplit(".", 1)[0] if end[-2:] in (".q", ".k", ".v") else end
            for edge in labels["edges"] for end in edge}  # fmt: skip
    heads = {f"L{h['layer']}.H{h['head']}" for h in labels["heads"]}
    assert (
        heads
        <= ends
        <= heads
        | {"embed", "positions", "output:output"}
        | {f"L{n}.MLP" for n in range(config["n_layer"])}
    )


def test_labelled_heads_are_the_circuit(tmp_path: Path) -> None:
    """Knocking out any head that is labelled changes the answer to some word; all the others have
    no effect, whatever is put in their place."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    softhat.to_gpt2(softhat.compile(FORMULA, "abc"), tmp_path / "out", context=32)
    labels = read(tmp_path / "out")
    model = transformers.GPT2ForTokenClassification.from_pretrained(tmp_path / "out").eval()
    width = model.config.n_embd // model.config.n_head
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (200, 20))
    words = ["".join("abc"[c] for c in row) for row in codes]
    truth = np.stack([parse(FORMULA).truth(word) for word in words])
    tokens = torch.tensor(np.concatenate([np.full((200, 1), 3), codes], axis=1))

    def answers(layer: int, head: int, put: float) -> Any:
        def hook(_: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            changed = inputs[0].clone()
            changed[..., head * width : (head + 1) * width] = put
            return (changed,)

        handle = model.transformer.h[layer].attn.c_proj.register_forward_pre_hook(hook)
        with torch.no_grad():
            logits = model(tokens).logits[:, 1:].numpy()
        handle.remove()
        return logits[..., 1] > logits[..., 0]

    circuit_heads = {(h["layer"], h["head"]) for h in labels["heads"]}
    for layer in range(model.config.n_layer):
        for head in range(model.config.n_head):
            changed = any((answers(layer, head, put) != truth).any() for put in (0.0, 1.0))
            assert changed == ((layer, head) in circuit_heads), (layer, head)
