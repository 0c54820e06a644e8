"""Interpretability tools load stock exports with their own loaders and find what labels say."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat

os.environ["HF_HUB_OFFLINE"] = "1"
# These packages warn about themselves when they are imported.
pytestmark = pytest.mark.filterwarnings("ignore")

WORD = list("bcabbcaabcbb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model over a, b, c: `!c S a` decides whether b may come next."""
    out = tmp_path_factory.mktemp("lens") / "lm"
    formulas = {"a": "true", "b": "!c S a", "c": "Y a", "<eos>": "#(a) > #(b)"}
    softhat.to_gpt2(softhat.compile(formulas, "abc"), out, context=64, head="lm")
    return out


def named(folder: Path, kind: str, label: str) -> tuple[int, int]:
    """Layer and head of the head that labels.json says computes this."""
    labels = json.loads((folder / "labels.json").read_text())
    (found,) = [h for h in labels["heads"] if h["kind"] == kind and label in h["label"]]
    return found["layer"], found["head"]


def decided(word: list[str]) -> list[int]:
    """By the definition of `!c S a`: the last position at or before i with an a or a c, or
    <bos>, which is 0. Positions of the word count from 1."""
    last, places = 0, [0]
    for position, symbol in enumerate(word, start=1):
        last = position if symbol in "ac" else last
        places.append(last)
    return places


def check_patterns(folder: Path, pattern: Any) -> None:
    """`pattern(layer, head)` is the (positions, positions) attention on WORD."""
    latest = pattern(*named(folder, "Latest", "!c S a"))
    assert latest.argmax(axis=-1).tolist() == decided(WORD)
    assert latest.max(axis=-1).min() > 0.999
    previous = pattern(*named(folder, "Previous", "Y a"))
    assert previous.argmax(axis=-1).tolist() == [0, *range(len(WORD))]
    # Average heads look at everything alike.
    average = pattern(*named(folder, "Average", "#(a) > #(b)"))
    rows = np.arange(1, len(WORD) + 2)
    assert np.allclose(average, np.tril(np.ones_like(average)) / rows[:, None], atol=1e-6)


def test_transformer_lens(folder: Path) -> None:
    pytest.importorskip("transformer_lens")
    from transformer_lens.model_bridge import TransformerBridge

    bridge = TransformerBridge.boot_transformers(str(folder))
    tokens = bridge.to_tokens(" ".join(WORD))
    assert tokens.tolist() == [[3, *("abc".index(symbol) for symbol in WORD)]]
    logits, cache = bridge.run_with_cache(tokens)
    check_patterns(
        folder,
        lambda layer, head: cache[f"blocks.{layer}.attn.hook_pattern"][0, head].detach().numpy(),
    )
    # The residual coordinate that labels.json names holds the truth of the formula.
    labels = json.loads((folder / "labels.json").read_text())
    (coordinate,) = [c for c in labels["coordinates"] if c["holds"][-1]["what"] == "!c S a"]
    block = coordinate["holds"][-1]["from"] - 1
    residual = cache[f"blocks.{block}.hook_resid_post"][0, 1:, coordinate["index"]].detach().numpy()
    truth = [place > 0 and WORD[place - 1] == "a" for place in decided(WORD)[1:]]
    assert np.abs(residual - np.where(truth, 1.0, -1.0)).max() < 1e-4
    assert ((logits[0, 1:, 1] > 0).numpy() == truth).all()


def test_transformer_lens_token_classification(tmp_path: Path) -> None:
    pytest.importorskip("transformer_lens")
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import GPT2ForTokenClassification, GPT2LMHeadModel

    softhat.to_gpt2(softhat.compile("!c S a", "abc"), tmp_path / "out", context=64)
    # Tools that want a language model take the trunk; the classifier is read beside it.
    bridge = TransformerBridge.boot_transformers(
        str(tmp_path / "out"),
        hf_model=GPT2LMHeadModel.from_pretrained(tmp_path / "out", attn_implementation="eager"),
    )
    _, cache = bridge.run_with_cache(bridge.to_tokens(" ".join(WORD)))
    layer, head = named(tmp_path / "out", "Latest", "!c S a")
    pattern = cache[f"blocks.{layer}.attn.hook_pattern"][0, head]
    assert pattern.argmax(dim=-1).tolist() == decided(WORD)
    classifier = GPT2ForTokenClassification.from_pretrained(tmp_path / "out").classifier
    answers = classifier(cache["ln_final.hook_out"])[0].argmax(dim=-1)
    assert answers[1:].tolist() == [p > 0 and WORD[p - 1] == "a" for p in decided(WORD)[1:]]


def test_nnsight(folder: Path) -> None:
    pytest.importorskip("nnsight")
    from nnsight import LanguageModel

    model = LanguageModel(str(folder), attn_implementation="eager", dispatch=True)
    blocks = json.loads((folder / "config.json").read_text())["n_layer"]
    maps = []
    with model.trace(" ".join(WORD)):
        for layer in range(blocks):
            maps.append(model.transformer.h[layer].attn.output[1].save())
    check_patterns(folder, lambda layer, head: maps[layer][0, head].detach().numpy())
