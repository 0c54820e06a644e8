"""A disguised Llama: the same answers, nothing on the axes, and directions that say where."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import softhat
from softhat.export.labels import Meaning
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from tests.export.test_gpt2_disguise import MARGIN, accuracies
from tests.export.test_llama import past_formulas
from tests.transformer.lowering.suite import all_codes, expected, long_words

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
os.environ["HF_HUB_OFFLINE"] = "1"
LISTED = ["a S (b & Y a)", "#(a) > #(b)", "(a S b) & #(Y a) >= 3"]
CERTIFIED = [1023, 1023, 1023]


def stock(folder: Path) -> Any:
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    kind = transformers.LlamaForTokenClassification
    return kind.from_pretrained(folder, attn_implementation="sdpa").eval()


def run(model: Any, codes: Any) -> tuple[Any, list[Any]]:
    """The distance of the logits, and the residual stream before each block and at the end."""
    first = np.full((len(codes), 1), model.config.bos_token_id)
    seen: list[Any] = []
    blocks = model.model.layers
    hooks = [b.register_forward_pre_hook(lambda _, x: seen.append(x[0].numpy())) for b in blocks]
    hooks.append(blocks[-1].register_forward_hook(lambda _, x, y: seen.append(_first(y).numpy())))
    with torch.no_grad():
        logits = model(torch.from_numpy(np.concatenate([first, codes], axis=1))).logits[:, 1:]
    for hook in hooks:
        hook.remove()
    return (logits[..., 1] - logits[..., 0]).numpy(), seen


def _first(given: Any) -> Any:
    return given[0] if isinstance(given, tuple) else given


def wrong(formula: Formula, folder: Path, seed: int, lengths: range) -> tuple[int, int]:
    """Wrong answers, and the length to which it is certified."""
    softhat.to_llama(softhat.compile(formula, "ab"), folder, disguise=seed)
    model = stock(folder)
    total = 0
    for codes in (*(all_codes(2, n) for n in lengths), long_words(1023, 2, seed)[[0, 4, 7, 9, 11]]):
        total += int(((run(model, codes)[0] > 0) != expected(formula, codes, "ab")).sum())
    stated = json.loads((folder / "certificate.json").read_text())
    return total, stated["max_length"]["float32"]


def test_stock_llama_agrees_at_1024(tmp_path: Path) -> None:
    for k, text in enumerate(LISTED):
        bad, certified = wrong(parse(text), tmp_path / f"{k}", k, range(1, 6))
        assert not bad and certified >= CERTIFIED[k], text
        tensors = load_file(tmp_path / f"{k}" / "model.safetensors")
        zeros = sum(int((t == 0).sum()) for t in tensors.values() if t.ndim == 2)
        assert not zeros


@pytest.mark.full
def test_all_formulas_at_1024(tmp_path: Path) -> None:
    every = past_formulas()[:110]
    assert len(every) >= 100
    found = [wrong(f, tmp_path / f"{k}", k, range(1, 7)) for k, f in enumerate(every)]
    full = sum(certified == 1023 for _, certified in found)
    print(f"{len(every)} formulas, {full} certified to 1,023")
    assert not [str(f) for f, (bad, _) in zip(every, found, strict=True) if bad]
    assert full >= 97  # as docs/llama.md says


def test_directions_are_right_and_coordinates_are_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    gains = []
    for k, text in enumerate(LISTED):
        softhat.to_llama(softhat.compile(text, "ab"), tmp_path / f"{k}", context=64, disguise=k)
        labels = json.loads((tmp_path / f"{k}" / "labels.json").read_text())
        parts = (*labels["heads"], *labels["neurons"])
        assert any(part.get("distractor") for part in parts)
        codes = rng.integers(0, 2, (64, 12))
        _, seen = run(stock(tmp_path / f"{k}"), codes)
        words = ["".join("ab"[c] for c in row) for row in codes]
        for place in labels["directions"]:
            for held in place["holds"]:
                said = {name: value for name, value in held.items() if name not in ("from", "what")}
                meaning = Meaning.from_json(said)
                if meaning.role not in ("input", "gate"):
                    continue
                x = seen[held["from"]][:, 1:].reshape(-1, seen[0].shape[-1]).astype(np.float64)
                found = sum(w * x[:, at] for at, w in meaning.direction) + meaning.offset
                formula = softhat.parse("; ".join([*labels["definitions"], str(meaning.formula)]))
                truth = np.concatenate(formula.truth_many(words)) == (meaning.sign > 0)
                assert ((found > 0.5) == truth).all() and np.abs(found - truth).max() < 0.01
                if truth.any() and not truth.all():
                    random = x @ rng.standard_normal((x.shape[1], x.shape[1]))
                    best = [float(accuracies(part, truth).max()) for part in (x, random)]
                    gains.append(best)
    coordinate, random = np.array(gains).mean(axis=0)
    assert coordinate <= random + MARGIN
