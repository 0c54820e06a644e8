"""Padding and the cache of keys and values: what a certificate names is right, on either side, in
every format and kernel, all at once or a few symbols at a time."""

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
torch.set_num_threads(1)


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
            for way, run in (("at once", at_once), ("cached", cached)):
                logits = run(model, batch["input_ids"], mask, places, rng)
                for row, k in enumerate(chosen):
                    own = logits[row][mask[row].bool().numpy()][1:]
                    said = (str(formula), dtype, side, way)
                    assert ((own[:, 1] > own[:, 0]) == truth[k]).all(), said
                    assert not np.isnan(own).any(), said


def at_once(model: Any, tokens: Any, mask: Any, places: Any, rng: Any) -> Any:
    with torch.no_grad():
        found = model(input_ids=tokens, attention_mask=mask, position_ids=places)
    return found.logits.float().numpy()


def cached(model: Any, tokens: Any, mask: Any, places: Any, rng: Any) -> Any:
    """Some symbols first, then one or a few at a time, with the keys and values of those before."""
    past, made, start = None, [], 0
    while start < tokens.shape[1]:
        stop = min(tokens.shape[1], start + int(rng.integers(1, 9 if start else 20)))
        with torch.no_grad():
            found = model.transformer(
                input_ids=tokens[:, start:stop],
                attention_mask=mask[:, :stop],
                position_ids=places[:, start:stop],
                past_key_values=past,
                use_cache=True,
            )
            made.append(model.classifier(found.last_hidden_state))
        past, start = found.past_key_values, stop
    return torch.cat(made, dim=1).float().numpy()


def check_generation(kernel: Any, folder: Path, seed: int) -> None:
    """What a language model samples in a padded batch, with its cache, is what formulas allow."""
    rng = np.random.default_rng(seed)
    formulas = {
        symbol: random_formula(rng, 6, list("abc"), ("past", "past-counting")[seed % 2])
        for symbol in "abc"
    }
    softhat.to_gpt2(softhat.compile(formulas, "abc"), folder, 40, kernel=kernel, head="lm")
    stated = json.loads((folder / "certificate.json").read_text())
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
    torch.manual_seed(seed)
    for dtype, found in stated["formats"].items():
        if "left" not in found["padding"]:
            continue
        model = transformers.GPT2LMHeadModel.from_pretrained(
            folder, dtype=getattr(torch, dtype), attn_implementation=kernel
        ).eval()
        words = [list(rng.choice(list("abc"), n)) for n in (0, 1, 4, 9)]
        batch = tokenizer([" ".join(word) for word in words], return_tensors="pt", padding=True)
        longest = min(found["max_length"], 39) - 9
        made = model.generate(**batch, max_new_tokens=max(1, longest), use_cache=True)
        for word, text in zip(words, tokenizer.batch_decode(made), strict=True):
            whole = [symbol for symbol in text.split() if symbol in formulas]
            assert whole[: len(word)] == word
            for at in range(max(1, len(word)), len(whole)):
                allowed = bool(formulas[whole[at]].truth(whole[:at])[-1])
                assert allowed, (dtype, "".join(whole), at, str(formulas[whole[at]]))


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


@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
def test_generation(kernel: str, tmp_path: Path) -> None:
    check_generation(kernel, tmp_path / "out", 1)


@pytest.mark.full
@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
@pytest.mark.parametrize("seed", range(40))
def test_much_generation(seed: int, kernel: str, tmp_path: Path) -> None:
    check_generation(kernel, tmp_path / "out", seed)


@pytest.mark.full
@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
@pytest.mark.parametrize("seed", range(150))
def test_many_exports(seed: int, kernel: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    formula = random_formula(rng, 10, list("abc"), ("past", "past-counting")[seed % 2])
    check(formula, kernel, tmp_path / "out", seed)
