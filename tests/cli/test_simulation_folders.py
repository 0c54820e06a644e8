"""A simulation's folder is a model folder like any other: the generic commands work on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from softhat.ahat import load
from tests.cli.run import softhat as call

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ahat"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulations") / "previous"
    example = str(EXAMPLES / "previous-token.json")
    done = call("simulate", example, "--max-length", "12", "-o", str(folder))
    assert done.code == 0, done.err
    return folder


def test_run(folder: Path) -> None:
    exact = load(EXAMPLES / "previous-token.json")
    documents = json.loads(call("run", str(folder), "abab", "bba", "--json").out)
    for document in documents:
        assert document["truth"] == [bool(x) for x in exact.truth(document["word"])]


def test_certify(folder: Path) -> None:
    done = call("certify", str(folder))
    assert done.code == 0, done.err
    assert "re-checked" in done.out
    assert json.loads(call("certify", str(folder), "--json").out)["recheck"]["failures"] == []


def test_a_refuted_certificate(folder: Path, tmp_path: Path) -> None:
    import shutil

    from safetensors.numpy import load_file, save_file

    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    tensors = load_file(damaged / "model.safetensors")
    name = next(name for name in sorted(tensors) if name.endswith("query"))
    save_file({**tensors, name: tensors[name] / 8}, damaged / "model.safetensors")
    assert call("certify", str(damaged)).code != 0


def test_verify_and_trace(folder: Path) -> None:
    done = call("verify", str(folder), "--exhaustive", "4", "--random", "5", "--json")
    assert json.loads(done.out)["ok"] is True
    assert len(json.loads(call("trace", str(folder), "abab", "--json").out)["tokens"]) == 4


def test_it_is_exported(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = call("export", str(folder), "--to", "torch", "-o", str(tmp_path / "t"))
    assert done.code == 0 and "certified, float64" in done.out
    done = call("export", str(folder), "--to", "gpt2", "-o", str(tmp_path / "g"))
    assert done.code == 2 and "simulates hard attention" in done.err
    done = call("verify", str(tmp_path / "t"))
    assert done.code == 0 and "simulation and AHAT agree" in done.out
