"""`softhat certify`."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.models.model import Model
from softhat.proof.certificate import Certificate
from tests.cli.run import softhat as run


def test_a_formula_prints_heads_and_lengths() -> None:
    done = run("certify", "!c S a", "--alphabet", "abc")
    assert done.code == 0 and done.err == ""
    assert "Latest" in done.out and "16,777,216" in done.out and "2,048" in done.out
    assert "proved: output computes !c S a" in done.out


def test_json_is_the_certificate() -> None:
    done = run("certify", "a S b", "--json", "--attention", "temperature")
    found = Certificate.from_json(json.loads(done.out))
    assert found == softhat.compile("a S b", attention="temperature").certificate


def test_explain() -> None:
    done = run("certify", "#(a) > #(b)", "--explain")
    assert done.code == 0
    assert "compares counts" in done.out and "It assumes:" in done.out


def test_a_folder_and_a_sabotaged_one(tmp_path: Path) -> None:
    model = softhat.compile("a S b", alphabet="ab")
    model.save(tmp_path / "good")
    done = run("certify", str(tmp_path / "good"))
    assert done.code == 0 and "proved: output" in done.out
    saved = json.loads((tmp_path / "good" / "certificate.json").read_text())
    assert Certificate.from_json(saved) == model.certificate

    weights = replace(model.transformer, readout_bias=np.array([0.5]))
    Model(weights, model.formulas).save(tmp_path / "bad")
    done = run("certify", str(tmp_path / "bad"))
    assert done.code == 1 and "void: the read-out" in done.out
    assert json.loads(run("certify", str(tmp_path / "bad"), "--json").out)["void"]


def test_bad_input() -> None:
    done = run("certify", "a S")
    assert done.code == 2 and done.out == ""


def test_a_formula_longer_than_any_file_name() -> None:
    done = run("certify", " & ".join(["(a S b)"] * 100))
    assert done.code == 0, done.err
    assert "proved: output computes" in done.out


def test_a_gguf_file_has_no_certificate_and_is_not_called_missing(tmp_path: Path) -> None:
    softhat.to_gguf("Y b | a", tmp_path / "m.gguf", 16)
    done = run("certify", str(tmp_path / "m.gguf"))
    assert done.code == 2 and done.out == ""
    assert "llama.cpp's kernels are not proved" in done.err and "no such" not in done.err
    assert "no such" in run("certify", str(tmp_path / "n.gguf")).err


@pytest.mark.parametrize(
    ("name", "theorem"),
    [("bb4", "turing_step"), ("rule-110", "ring_step"), ("brackets", "stack_run")],
)
def test_of_a_machine_coq_knows_the_steps(name: str, theorem: str) -> None:
    done = run("certify", f"zoo:{name}", "--coq")
    assert done.code == 2 and done.out == "" and done.err.count("\n") == 1
    assert theorem in done.err and "softhat generate" in done.err


def test_of_an_exported_machine_coq_knows_the_steps(tmp_path: Path) -> None:
    softhat.to_llama(softhat.machine("l: dec a l h\nh: halt"), tmp_path / "m", context=16)
    done = run("certify", str(tmp_path / "m"), "--coq")
    assert done.code == 2 and "counter_step" in done.err
    softhat.to_llama("Y b | a", tmp_path / "f", 16)
    assert "its folder" in run("certify", str(tmp_path / "f"), "--coq").err
