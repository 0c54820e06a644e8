"""Stock Llamas, Mistrals and Qwen2s that sample only what the formulas allow."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from tests.export.test_gpt2_lm import CASES

pytest.importorskip("transformers")
os.environ["HF_HUB_OFFLINE"] = "1"


def load(folder: Path, dtype: str = "float32") -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype))
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def obeys(
    words: list[list[int]], names: list[str], allowed: Callable[[list[str]], set[str]]
) -> int:
    """Every token of every word is allowed where it stands; how many words ended."""
    ended = 0
    for row in words:
        prefix: list[str] = []
        for token in row:
            assert names[token] in allowed(prefix), prefix
            if names[token] == "<eos>":
                ended += 1
                break
            prefix.append(names[token])
    return ended


@pytest.mark.parametrize(
    ("family", "positions", "dtype"),
    [("llama", "rope", "float32"), ("mistral", "rope", "float32"), ("qwen2", "bits", "bfloat16")],
)
@pytest.mark.parametrize(("allowed", "alphabet", "formulas"), CASES, ids=["dyck", "ab", "response"])
def test_sampled_words_are_allowed_at_every_step(
    allowed: Callable[[list[str]], set[str]],
    alphabet: list[str],
    formulas: dict[str, str],
    family: Any,
    positions: Any,
    dtype: str,
    tmp_path: Path,
) -> None:
    import torch

    model = softhat.compile(formulas, alphabet)
    softhat.to_llama(model, tmp_path / "lm", 64, family, "lm", positions)
    stated = json.loads((tmp_path / "lm" / "certificate.json").read_text())
    assert stated["max_length"][dtype] == 63
    stock, tokenizer = load(tmp_path / "lm", dtype)
    torch.manual_seed(1)
    start = tokenizer([""] * 200, return_tensors="pt")
    words = stock.generate(**start, max_new_tokens=40, temperature=1.0)
    names = [*alphabet, "<bos>", "<eos>"]
    assert obeys(words[:, 1:].tolist(), names, allowed) > 50
    # The margin, at every prefix of some of the words.
    with torch.no_grad():
        logits = stock(words[:50]).logits.float().numpy()
    for row, scores in zip(words[:50, 1:].tolist(), logits, strict=True):
        prefix: list[str] = []
        for position, token in enumerate(row):
            may = np.array([name in allowed(prefix) for name in names])
            assert scores[position][may].min() - scores[position][~may].max() >= 20.0
            if names[token] == "<eos>":
                break
            prefix.append(names[token])


@pytest.mark.parametrize(("positions", "dtype"), [("rope", "float32"), ("bits", "bfloat16")])
def test_prompts_of_different_lengths(positions: Any, dtype: str, tmp_path: Path) -> None:
    """Padding on the left, as generate wants it, sampled: every continuation is allowed."""
    import torch

    allowed, alphabet, formulas = CASES[0]
    softhat.to_llama(
        softhat.compile(formulas, alphabet), tmp_path / "lm", 64, "llama", "lm", positions
    )
    stock, tokenizer = load(tmp_path / "lm", dtype)
    torch.manual_seed(0)
    prompts = ["", "(", "( ( (", "( ) ( ( ) ) ( (", "( ( ) ( )"] * 20
    batch = tokenizer(prompts, return_tensors="pt", padding=True, padding_side="left")
    words = stock.generate(**batch, max_new_tokens=30)
    width = batch["input_ids"].shape[1]
    names = [*alphabet, "<bos>", "<eos>"]
    full = [
        [names.index(symbol) for symbol in prompt.split()] + row[width:]
        for prompt, row in zip(prompts, words.tolist(), strict=True)
    ]
    assert obeys(full, names, allowed) > 10


def test_a_formula_that_must_follow(tmp_path: Path) -> None:
    """(ab)*, deterministic, from prompts of three lengths."""
    model = softhat.compile({"a": "!a", "b": "a", "<eos>": "false"}, "ab")
    softhat.to_llama(model, tmp_path / "lm", 32, head="lm")
    stock, tokenizer = load(tmp_path / "lm")
    batch = tokenizer(["a b a", "", "a"], return_tensors="pt", padding=True, padding_side="left")
    words = tokenizer.batch_decode(
        stock.generate(**batch, max_new_tokens=5), skip_special_tokens=True
    )
    assert words == ["a b a b a b a b", "a b a b a", "a b a b a b"]
