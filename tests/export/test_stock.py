"""What all stock exports do alike."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from tests.export.stock_models import answers, stock
from tests.logic.test_windows import meaning, random_formula


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


def check_bounds(seed: int, target: str, folder: Path) -> None:
    """A random formula with bounds: certified to the whole context, and right by the definition."""
    dice = random.Random(seed)
    formula = random_formula(dice, 1 + seed % 3, past=True)
    model = softhat.compile(formula, alphabet="abc")
    if target == "gpt2":
        softhat.to_gpt2(model, folder, context=41)
    else:
        softhat.to_llama(model, folder, context=41, positions="bits")
    certified = softhat.certify(folder).max_length
    assert certified["float32"] == certified["bfloat16"] == 40, formula
    tried = [*("".join(dice.choices("abc", k=40)) for _ in range(6)), "a" * 40, "b" * 40]
    codes = np.array([["abc".index(symbol) for symbol in word] for word in tried])
    for dtype in ("float32", "bfloat16"):
        expected = [meaning(formula, word) for word in tried]
        assert answers(stock(folder, dtype), codes).tolist() == expected, formula


@pytest.mark.parametrize("target", ["gpt2", "llama"])
def test_a_formula_with_bounds(target: str, tmp_path: Path) -> None:
    check_bounds(4, target, tmp_path / "m")


@pytest.mark.full
@pytest.mark.parametrize("target", ["gpt2", "llama"])
@pytest.mark.parametrize("seed", range(5, 155))
def test_formulas_with_bounds(seed: int, target: str, tmp_path: Path) -> None:
    check_bounds(seed, target, tmp_path / "m")
