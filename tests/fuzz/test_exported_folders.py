"""Damaged exports: certify, verify and analyze refuse them or answer."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import softhat
from tests.fuzz.mutations import damage_folder
from tests.fuzz.running import call, cases, copy

pytest.importorskip("transformers")
pytest.importorskip("onnx")

pytestmark = pytest.mark.usefixtures("nobody_saves")


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    home = tmp_path_factory.mktemp("exports")
    model = softhat.compile("!c S a & Y b", alphabet="abc")
    softhat.to_gpt2(model, home / "gpt2", context=16)
    softhat.to_huggingface(model, home / "huggingface")
    from softhat.export.torch import to_torch_file

    to_torch_file(model, home / "torch")
    (home / "onnx").mkdir()
    softhat.to_onnx(model, home / "onnx" / "model.onnx")
    for folder in home.iterdir():
        assert call("certify", str(folder)).code in (0, 2)
    return sorted(home.iterdir())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seeds", cases(4, count=60))
def test_damaged_exports(seeds: list[int], exports: list[Path], tmp_path: Path) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        source = rng.choice(exports)
        folder = copy(source, tmp_path / f"{source.name}-{seed}")
        damage_folder(folder, rng)
        match rng.randrange(4):
            case 0 if source.name == "gpt2":
                call("analyze", str(folder), "--text", rng.choice(("a b c a", "x y", "", "a")))
            case 1:
                small = ["--exhaustive", "2", "--random", "2", "--adversarial", "1"]
                call("verify", str(folder), *small, "--max-length", "8", "-j", "1")
            case 2:
                call("run", str(folder), "abab")
            case _:
                call("certify", str(folder))
