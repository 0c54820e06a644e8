"""Padding: what a certificate names is right, on either side, in every format and kernel."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.logic.random import random_formula
from softhat.logic.syntax.parse import parse

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
os.environ["HF_HUB_OFFLINE"] = "1"


def check(formula: Any, kernel: Any, folder: Path, seed: int) -> None:
    """Batches of words of different lengths, padded on each side that is certified."""
    transformers.utils.logging.disable_progress_bar()
    softhat.to_gpt2(softhat.compile(formula, "abc"), folder, 48, kernel=kernel)
    stated = json.loads((folder / "certificate.json").read_text())
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abc"), n)) for n in (1, 3, 9, 20, 47)]
    truth = [formula.truth(word) for word in words]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for dtype, found in stated["formats"].items():
        limit = found["max_length"]
        model = transformers.GPT2ForTokenClassification.from_pretrained(
            folder, dtype=getattr(torch, dtype), attn_implementation=kernel
        ).eval()
        for side in found["padding"]:
            tokenizer.padding_side = side
            chosen = [k for k, word in enumerate(words) if len(word) <= limit]
            texts = [" ".join(words[k]) for k in chosen]
            batch = tokenizer(texts, return_tensors="pt", padding=True)
            mask = batch["attention_mask"]
            places = (mask.cumsum(1) - 1).clamp(min=0)
            with torch.no_grad():
                logits = model(**batch, position_ids=places).logits.float().numpy()
            for row, k in enumerate(chosen):
                own = logits[row][mask[row].bool().numpy()][1:]
                assert ((own[:, 1] > own[:, 0]) == truth[k]).all(), (str(formula), dtype, side)
                assert not np.isnan(own).any()


@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
@pytest.mark.parametrize("text", ["!c S a", "(a S (b & Y a)) & O c", "#(a) > #(b) | Y c"])
def test_both_sides(text: str, kernel: str, tmp_path: Path) -> None:
    check(parse(text), kernel, tmp_path / "out", 0)


def test_float16_eager_is_not_certified_on_the_left(tmp_path: Path) -> None:
    model = softhat.compile("!c S a", "abc")
    softhat.to_gpt2(model, tmp_path / "out", 48, kernel="eager")
    stated = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert stated["formats"]["float16"]["padding"] == ["right"]
    assert stated["formats"]["bfloat16"]["padding"] == ["left", "right"]
    assert any("not in float16" in text for text in stated["assumptions"])


@pytest.mark.full
@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
@pytest.mark.parametrize("seed", range(150))
def test_many_exports(seed: int, kernel: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    formula = random_formula(rng, 10, list("abc"), ("past", "past-counting")[seed % 2])
    check(formula, kernel, tmp_path / "out", seed)
