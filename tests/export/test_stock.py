"""What all stock exports do alike."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import softhat


@pytest.mark.parametrize("disguise", [None, 3])
@pytest.mark.parametrize("to", [softhat.to_gpt2, softhat.to_llama])
def test_bytes_are_the_same_each_time(to: Any, disguise: int | None, tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        model = softhat.compile("#(a & Y b) > 2 | (a S b)", "ab")
        to(model, tmp_path / name, context=64, disguise=disguise)
        files = sorted((tmp_path / name).iterdir())
        digests.append([(f.name, hashlib.sha256(f.read_bytes()).hexdigest()) for f in files])
    assert digests[0] == digests[1]
    names = {name for name, _ in digests[0]}
    written = ["config.json", "model.safetensors", "tokenizer.json", "labels.json"]
    assert names >= {*written, "certificate.json", "formula.txt", "README.md"}
    assert ("directions.safetensors" in names) == (disguise is not None)
