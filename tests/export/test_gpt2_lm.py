"""Language models that sample only what the formulas allow."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import SofthatError
from softhat.logic.semantics.empty import at_empty_prefix
from softhat.logic.syntax.parse import parse

pytest.importorskip("transformers")
os.environ["HF_HUB_OFFLINE"] = "1"


def dyck(prefix: list[str]) -> set[str]:
    """What may follow in words of parentheses nested at most three deep."""
    depth = prefix.count("(") - prefix.count(")")
    holds = {"(": depth < 3, ")": depth > 0, "<eos>": depth == 0}
    return {name for name, may in holds.items() if may}


def alternating(prefix: list[str]) -> set[str]:
    """(ab)*"""
    return {"b"} if prefix and prefix[-1] == "a" else {"a", "<eos>"}


def response(prefix: list[str]) -> set[str]:
    """Every request is granted before the word ends, and nothing is granted unasked."""
    pending = prefix.count("request") > prefix.count("grant")
    return {"idle", "grant"} if pending else {"idle", "request", "<eos>"}


CASES: list[tuple[Callable[[list[str]], set[str]], list[str], dict[str, str]]] = [
    (
        dyck,
        ["(", ")"],
        {
            "(": "#('(') - #(')') < 3",
            ")": "#('(') > #(')')",
            "<eos>": "#('(') = #(')')",
        },
    ),
    (alternating, ["a", "b"], {"a": "!a", "b": "a", "<eos>": "!a"}),
    (
        response,
        ["request", "grant", "idle"],
        {
            "request": "!(!grant S request)",
            "grant": "!grant S request",
            "idle": "true",
            "<eos>": "!(!grant S request)",
        },
    ),
]


def load(folder: Path) -> tuple[Any, Any]:
    import torch
    from transformers import AutoTokenizer, GPT2LMHeadModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(1)
    return GPT2LMHeadModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("activation", ["relu", "gelu_new"])
@pytest.mark.parametrize(("allowed", "alphabet", "formulas"), CASES, ids=["dyck", "ab", "response"])
def test_sampled_words_are_allowed_at_every_step(
    allowed: Callable[[list[str]], set[str]],
    alphabet: list[str],
    formulas: dict[str, str],
    activation: Any,
    tmp_path: Path,
) -> None:
    import torch

    softhat.to_gpt2(softhat.compile(formulas, alphabet), tmp_path / "lm", 64, activation, head="lm")
    model, tokenizer = load(tmp_path / "lm")
    torch.manual_seed(1)
    count = 1000 if activation == "relu" else 200
    start = tokenizer([""] * count, return_tensors="pt")
    words = model.generate(**start, max_new_tokens=40, temperature=1.0)
    assert len(words) == count
    names = [*alphabet, "<bos>", "<eos>"]
    ended = 0
    for row in words[:, 1:].tolist():
        prefix: list[str] = []
        for token in row:
            assert names[token] in allowed(prefix), prefix
            if names[token] == "<eos>":
                ended += 1
                break
            prefix.append(names[token])
    assert ended > count // 4  # <eos> is sampled where it is allowed
    # The margin, at every prefix of some of the words.
    with torch.no_grad():
        logits = model(words[:50]).logits.numpy()
    for row, scores in zip(words[:50, 1:].tolist(), logits, strict=True):
        prefix = []
        for position, token in enumerate(row):
            may = np.array([name in allowed(prefix) for name in names])
            assert scores[position][may].min() - scores[position][~may].max() >= 20.0
            if names[token] == "<eos>":
                break
            prefix.append(names[token])


def test_without_eos_a_word_ends_only_where_nothing_may_follow(tmp_path: Path) -> None:
    import torch

    # a, then b, then nothing: (empty prefix) a, after a b, after b neither.
    model = softhat.compile({"a": "!O true", "b": "a"}, "ab")
    softhat.to_gpt2(model, tmp_path / "lm", 16, head="lm", margin=30.0)
    stock, tokenizer = load(tmp_path / "lm")
    torch.manual_seed(0)
    start = tokenizer([""] * 20, return_tensors="pt")
    words = tokenizer.batch_decode(stock.generate(**start, max_new_tokens=8))
    assert set(words) == {"<bos> a b <eos>"}
    with torch.no_grad():
        scores = stock(torch.tensor([[2, 0, 1]])).logits[0]
    assert (scores.sort(dim=-1).values[:, -1] - scores.sort(dim=-1).values[:, -2] >= 30).all()


def test_truth_at_the_empty_prefix() -> None:
    for text in (
        "true",
        "!a",
        "H a",
        "Z a",
        "a T b",
        "i = 0",
        "#(a) = #(b)",
        "mod(3, 0)",
        "!O true",
    ):
        assert at_empty_prefix(parse(text)), text
    for text in ("false", "a", "O !a", "Y true", "!a S !a", "first", "i >= 1", "mod(3, 1)"):
        assert not at_empty_prefix(parse(text)), text


def test_lm_refusals(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="there is none for b"):
        softhat.to_gpt2(softhat.compile({"a": "a"}, "ab"), tmp_path / "x", head="lm")
    with pytest.raises(SofthatError, match="not 'c'"):
        softhat.to_gpt2(
            softhat.compile({"a": "a", "b": "b", "c": "a"}, "ab"), tmp_path / "x", head="lm"
        )
    with pytest.raises(SofthatError, match="leave output out"):
        softhat.to_gpt2(softhat.compile({"a": "a"}, "a"), tmp_path / "x", head="lm", output="a")
    with pytest.raises(SofthatError, match="not over propositions"):
        softhat.to_gpt2(softhat.compile({"p": "p"}, propositions=["p"]), tmp_path / "x", head="lm")
    with pytest.raises(SofthatError, match="uses F"):
        softhat.to_gpt2(softhat.compile({"a": "F a"}, "a"), tmp_path / "x", head="lm")


def test_prompts_of_different_lengths(tmp_path: Path) -> None:
    """Padding on the left, as generate wants it: position_ids start at <bos>."""
    import torch

    model = softhat.compile({"a": "!a", "b": "a", "<eos>": "false"}, "ab")
    softhat.to_gpt2(model, tmp_path / "lm", 32, head="lm")
    stock, tokenizer = load(tmp_path / "lm")
    torch.manual_seed(0)
    batch = tokenizer(["a b a", "", "a"], return_tensors="pt", padding=True, padding_side="left")
    words = tokenizer.batch_decode(
        stock.generate(**batch, max_new_tokens=5), skip_special_tokens=True
    )
    assert words == ["a b a b a b a b", "a b a b a", "a b a b a b"]
