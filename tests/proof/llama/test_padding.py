"""Padding: what a certificate names is right, on either side, in every format and kernel."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.logic.syntax.parse import parse

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
@pytest.mark.parametrize("positions", ["rope", "bits"])
@pytest.mark.parametrize("text", ["(a S (b & Y a)) & O c", "#(a) > #(b) | Y c"])
def test_both_sides(text: str, positions: Any, kernel: Any, tmp_path: Path) -> None:
    transformers.utils.logging.disable_progress_bar()
    formula, folder = parse(text), tmp_path / "out"
    softhat.to_llama(
        softhat.compile(formula, "abc"), folder, 48, positions=positions, kernel=kernel
    )
    stated = json.loads((folder / "certificate.json").read_text())
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), n)) for n in (1, 3, 9, 20, 47)]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tried = 0
    for dtype, found in stated["formats"].items():
        if not found["max_length"]:
            continue
        assert found["max_length"] == 47
        model = transformers.AutoModelForTokenClassification.from_pretrained(
            folder, dtype=getattr(torch, dtype), attn_implementation=kernel
        ).eval()
        for side in found["padding"]:
            tokenizer.padding_side = side
            batch = tokenizer([" ".join(w) for w in words], return_tensors="pt", padding=True)
            mask = batch["attention_mask"]
            places = (mask.cumsum(1) - 1).clamp(min=0)
            with torch.no_grad():
                logits = model(**batch, position_ids=places).logits.float().numpy()
            for row, word in enumerate(words):
                own = logits[row][mask[row].bool().numpy()][1:]
                assert ((own[:, 1] > own[:, 0]) == formula.truth(word)).all(), (dtype, side)
                tried += 1
    assert tried >= 15
