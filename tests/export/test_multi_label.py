"""Several outputs in one export: a logit each, named, proved and tried like one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import SofthatError
from softhat.circuits.stock_network import StockNetwork
from softhat.export.checking import certify, verify
from softhat.models.verification.report import Verification
from tests.cli.run import softhat as run

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

FORMULAS = {"safe": "!c S a", "often": "#(a) > #(b)", "never": "false", "fresh": "Y (a xor b)"}


def logits_of(folder: Path, words: list[str], auto: Any) -> Any:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = auto.from_pretrained(folder, trust_remote_code=False).eval()
    batch = tokenizer([" ".join(word) for word in words], return_tensors="pt")
    with torch.no_grad():
        return model(**batch).logits.numpy(), model.config


TARGETS = ["gpt2", "disguised gpt2", "llama", "bits llama", "disguised llama", "huggingface"]


@pytest.mark.parametrize("target", TARGETS)
def test_every_output_has_its_logit(target: str, tmp_path: Path) -> None:
    from transformers import AutoModelForTokenClassification

    import softhat.export.huggingface  # registers the Auto classes

    formulas = dict(FORMULAS)
    if target == "huggingface":
        formulas["soon"] = "F (b & X c)"
    model = softhat.compile(formulas, alphabet="abc")
    folder = tmp_path / "m"
    seed = 3 if target.startswith("disguised") else None
    if target.endswith("gpt2"):
        softhat.to_gpt2(model, folder, context=32, head="multi-label", disguise=seed)
    elif target.endswith("llama"):
        by: Any = "bits" if target.startswith("bits") else "rope"
        softhat.to_llama(model, folder, 32, head="multi-label", positions=by, disguise=seed)
    else:
        softhat.to_huggingface(model, folder, head="multi-label")
    rng = np.random.default_rng(4)
    words = ["".join(rng.choice(list("abc"), 12)) for _ in range(60)]
    logits, config = logits_of(folder, words, AutoModelForTokenClassification)
    assert list(config.id2label.values()) == list(formulas)
    for k, formula in enumerate(formulas.values()):
        truth = np.stack([softhat.parse(formula).truth(word) for word in words])
        assert ((logits[:, 1:13, k] > 0) == truth).all(), formula
    found = certify(folder)
    assert found.ok
    assert found.max_length["float32"] >= 31
    result = verify(folder, exhaustive=4, random=20, adversarial=4, max_length=31)
    assert isinstance(result, Verification)
    assert result.ok
    assert set(result.margins) == set(formulas)
    labels = json.loads((folder / "labels.json").read_text())
    assert [said["output"] for said in labels["outputs"]] == list(formulas)
    ends = {reader for _, reader in labels["edges"]}
    assert {f"output:{name}" for name in formulas if name != "never"} <= ends


def test_a_changed_logit_is_not_proved(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    softhat.to_gpt2(
        softhat.compile(FORMULAS, alphabet="abc"), tmp_path / "m", context=32, head="multi-label"
    )
    file = tmp_path / "m" / "model.safetensors"
    tensors = load_file(file)
    tensors["classifier.weight"][[0, 3]] = tensors["classifier.weight"][[3, 0]]
    save_file(tensors, file, metadata={"format": "pt"})
    found = certify(tmp_path / "m")
    assert not found.ok
    assert "'safe' does not compute its formula" in found.void[0]


def test_other_names_are_refused(tmp_path: Path) -> None:
    softhat.to_gpt2(
        softhat.compile(FORMULAS, alphabet="abc"), tmp_path / "m", context=32, head="multi-label"
    )
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["id2label"]["0"] = "unsafe"
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    with pytest.raises(SofthatError, match="different outputs"):
        certify(tmp_path / "m")


@pytest.mark.parametrize(
    ("to", "kind"), [(softhat.to_gpt2, StockNetwork), (softhat.to_llama, StockNetwork)]
)
def test_circuits_name_all_outputs(to: Any, kind: Any, tmp_path: Path) -> None:
    model = softhat.compile(FORMULAS, alphabet="abc")
    to(model, tmp_path / "m", context=32, head="multi-label")
    network = kind(tmp_path / "m")
    assert network.outputs == tuple(FORMULAS)
    circuit = softhat.circuit(tmp_path / "m")
    (logits,) = [node for node in circuit.nodes if node.name == "logits"]
    assert [said.output for said in logits.computes] == list(FORMULAS)
    seen = {edge.witness.output for edge in circuit.edges if edge.witness is not None}
    assert seen <= set(FORMULAS) - {"never"}
    assert len(seen) > 1


def test_refusals_and_the_command(tmp_path: Path) -> None:
    model = softhat.compile(FORMULAS, alphabet="abc")
    for export in (softhat.to_gpt2, softhat.to_llama, softhat.to_huggingface):
        with pytest.raises(SofthatError, match="leave output out"):
            export(model, tmp_path / "x", head="multi-label", output="safe")
        with pytest.raises(SofthatError, match="choose output= one of"):
            export(model, tmp_path / "x")
    with pytest.raises(SofthatError, match="unknown head"):
        softhat.to_huggingface(model, tmp_path / "x", head="lm")
    model.save(tmp_path / "model")
    for target in ("gpt2", "llama", "huggingface"):
        out = str(tmp_path / target)
        done = run(
            "export", str(tmp_path / "model"), "--to", target, "--head", "multi-label", "-o", out
        )
        assert done.code == 0, done.err
    done = run(
        "export", str(tmp_path / "model"), "--to", "torch", "--head", "multi-label", "-o", "y"
    )
    assert done.code == 2
