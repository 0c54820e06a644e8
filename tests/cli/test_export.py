"""`softhat export`: stock GPT-2 from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import softhat


def test_formula_to_gpt2(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = softhat(
        "export", "!c S a", "--alphabet", "abc", "--to", "gpt2", "--context", "64", "-o", str(out),
        "--activation", "gelu_new", "--kernel", "eager", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    printed = json.loads(done.out)
    assert printed["written"] == str(out)
    assert printed["max_length"]["float32"] == 63
    config = json.loads((out / "config.json").read_text())
    assert config["n_positions"] == 64
    assert config["activation_function"] == "gelu_new"
    assert config["architectures"] == ["GPT2ForTokenClassification"]


def test_folder_to_a_language_model(tmp_path: Path) -> None:
    model = tmp_path / "model"
    done = softhat(
        "compile", "!a", "--name", "a", "--also", "b=a", "--also", "<eos>=!a",
        "--alphabet", "ab", "-o", str(model),
    )  # fmt: skip
    assert done.code == 0, done.err
    out = tmp_path / "lm"
    done = softhat("export", str(model), "--to", "gpt2", "--head", "lm", "-o", str(out))
    assert done.code == 0, done.err
    assert "certified, bfloat16" in done.out
    assert json.loads((out / "certificate.json").read_text())["margin"] == 20.0
    assert (out / "formula.txt").read_text().splitlines()[1] == "b: a"


def test_errors_are_one_line(tmp_path: Path) -> None:
    cases = {
        ("F a", "--to", "gpt2"): "uses F",
        ("a", "--to", "gpt2", "--context", "1"): "counts <bos>",
        ("a", "--to", "gpt2", "--head", "lm", "--alphabet", "ab"): "one output for each symbol",
        ("a", "--to", "torch", "--context", "64"): "--context is an option of --to gpt2",
        ("a", "--to", "huggingface", "--head", "lm"): "--head is an option of --to gpt2",
        ("a", "--to", "torch", "--output", "x"): "leave --output out",
        ("a", "--to", "onnx", "--output", "x"): "leave --output out",
        ("a",): "Choose from: gpt2, llama, gguf,",
    }
    for arguments, message in cases.items():
        done = softhat("export", *arguments, "-o", str(tmp_path / "out"))
        assert done.code == 2
        assert message in done.err
        assert done.err.count("\n") == 1


def test_a_model_is_not_replaced_by_its_own_export(tmp_path: Path) -> None:
    model = tmp_path / "model"
    assert softhat("compile", "O a", "-o", str(model)).code == 0
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    done = softhat("export", str(model), "--to", "gpt2", "-o", str(model))
    assert done.code == 2
    assert "is the model itself" in done.err
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before


def test_formula_to_llama(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = softhat(
        "export", "!c S a", "--alphabet", "abc", "--to", "llama", "--context", "64",
        "--positions", "bits", "--json", "-o", str(out),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert json.loads(done.out)["max_length"]["bfloat16"] == 63
    assert json.loads((out / "config.json").read_text())["model_type"] == "llama"
    again = softhat("certify", str(out), "--json")
    assert again.code == 0 and json.loads(again.out)["max_length"]["bfloat16"] == 63
    refused = softhat("export", "a", "--to", "llama", "--family", "gemma2", "-o", str(out))
    assert refused.code == 2 and "gemma2" in refused.err
    refused = softhat("export", "a", "--to", "gpt2", "--positions", "bits", "-o", str(out))
    assert refused.code == 2 and "--positions is an option of --to llama" in refused.err


def test_a_gguf_file_does_not_claim_the_certificate_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    (tmp_path / "m.certificate.json").write_text('{"max_length": {"float32": 1000}}')
    out = str(tmp_path / "m.gguf")
    done = softhat("export", "!c S a", "--to", "gguf", "--context", "32", "-o", out, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["max_length"] is None
