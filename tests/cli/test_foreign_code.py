"""A checkpoint may bring code of its own: softhat never runs it, and never asks whether it may."""

from __future__ import annotations

import builtins
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import softhat as package
from tests.cli.run import softhat

pytest.importorskip("torch")
pytest.importorskip("transformers")

EVIL = """
from pathlib import Path
Path({marker!r}).write_text("it was run")

class Config:
    pass

class Model:
    pass

class Tokenizer:
    pass
"""
AUTO = {
    "AutoConfig": "evil.Config",
    "AutoModel": "evil.Model",
    "AutoModelForCausalLM": "evil.Model",
    "AutoModelForTokenClassification": "evil.Model",
    "AutoTokenizer": ["evil.Tokenizer", "evil.Tokenizer"],
}


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the foreign code leaves its trace; a question on the terminal is one too."""

    def asked(*_: object) -> str:
        (tmp_path / "it-was-run").write_text("it asked")
        return "n"

    monkeypatch.setattr(builtins, "input", asked)
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "it-was-run"


def poisoned(folder: Path, marker: Path, **more: Any) -> None:
    """The folder with a module, named wherever transformers looks for one."""
    for name in ("evil.py", "modeling_softhat.py", "configuration_softhat.py", "module_softhat.py"):
        (folder / name).write_text(EVIL.format(marker=str(marker)))
    for name in ("config.json", "tokenizer_config.json"):
        path = folder / name
        data = json.loads(path.read_text()) if path.is_file() else {}
        path.write_text(json.dumps({**data, "auto_map": AUTO, **more}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model_type", ["gpt2", "evil", None])
def test_analyze(model_type: str | None, marker: Path, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    package.to_gpt2(package.compile("a S b", alphabet="ab"), folder, context=8)
    config = json.loads((folder / "config.json").read_text())
    config = {**config, "model_type": model_type} if model_type else {}
    (folder / "config.json").write_text(json.dumps(config))
    poisoned(folder, marker, trust_remote_code=True)
    done = softhat("analyze", str(folder), "--text", "a b a", stdin="y\ny\ny\n")
    assert not marker.exists()
    assert done.code in (0, 2) and "Traceback" not in done.err
    if model_type != "gpt2":
        assert done.code == 2 and done.err.startswith("error: cannot load the checkpoint")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("to", ["gpt2", "huggingface"])
def test_exports(to: str, marker: Path, tmp_path: Path) -> None:
    folder = tmp_path / to
    model = package.compile("a S b", alphabet="ab")
    if to == "gpt2":
        package.to_gpt2(model, folder, context=8)
    else:
        package.to_huggingface(model, folder)
    poisoned(folder, marker)
    small = ["--exhaustive", "2", "--random", "2", "--adversarial", "1", "--max-length", "6"]
    for command in (["certify"], ["verify", *small, "-j", "1"], ["run"], ["analyze"]):
        words = {"run": ["ab"], "analyze": ["--text", "a b a"]}.get(command[0], [])
        done = softhat(command[0], str(folder), *words, *command[1:], stdin="y\ny\n")
        assert not marker.exists(), command
        assert done.code in (0, 1, 2) and "Traceback" not in done.err, done.err
    shutil.rmtree(folder)
