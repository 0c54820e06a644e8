"""Recall heads of exported GPT-2s: certified, right on words, and void once they are changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.export.reading import read_export
from softhat.proof.gpt2.certificate import certify

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

FORMULAS = (
    "last[a | b = Y c]",
    "last[a S b | Y a = b, c = true, O c = a]",
    "last[Y a | mod(2, 0) = Y b, a = c]",
)


def answers(lm: Any, tokenizer: Any, word: str) -> list[bool]:
    with torch.no_grad():
        logits = lm(**tokenizer(" ".join(word), return_tensors="pt")).logits[0, 1:].float()
    return (logits[:, 1] > logits[:, 0]).tolist()


@pytest.mark.parametrize("text", FORMULAS)
def test_certified_and_right(text: str, tmp_path: Path) -> None:
    f = softhat.parse(text)
    softhat.to_gpt2(softhat.compile(f, alphabet="abc"), tmp_path / "m", context=256)
    certificate = softhat.certify(tmp_path / "m")
    assert certificate.ok
    rng = np.random.default_rng(0)
    for dtype in ("float32", "bfloat16"):
        assert certificate.max_length[dtype] == 255
        lm = transformers.AutoModelForTokenClassification.from_pretrained(
            tmp_path / "m", dtype=getattr(torch, dtype)
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
        for length in (1, 7, 255):
            word = "".join(rng.choice(list("abc"), size=length))
            assert answers(lm, tokenizer, word) == f.truth(word).tolist()


MUTATIONS = 40


def test_no_mutation_of_the_head_is_certified_and_wrong(tmp_path: Path) -> None:
    attack(tmp_path, MUTATIONS)


@pytest.mark.full
def test_no_mutation_of_the_head_is_certified_and_wrong_in_full(tmp_path: Path) -> None:
    attack(tmp_path, 2_000)


def attack(tmp_path: Path, mutations: int) -> None:
    """Pairs of weights of queries, keys and values are changed together, so that the residual
    stream's pairs stay what they are."""
    f = softhat.parse("last[a S b | Y a = b, c = true, O c = a]")
    softhat.to_gpt2(softhat.compile(f, alphabet="abc"), tmp_path / "m", context=64)
    export = read_export(tmp_path / "m")
    c = export.checkpoint
    assert c is not None
    lm = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "m")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("abc"), size=63)) for _ in range(12)]
    wanted = [f.truth(word).tolist() for word in words]
    held = dict(c.tensors)
    void = right = 0
    for _ in range(mutations):
        block = int(rng.integers(c.blocks))
        name = f"transformer.h.{block}.attn.c_attn.weight"
        tensor = np.array(held[name])
        rows, columns = np.nonzero(tensor[0::2])
        if not len(rows):
            continue
        at = int(rng.integers(len(rows)))
        p, column = int(rows[at]), int(columns[at])
        tensor[2 * p : 2 * p + 2, column] *= rng.choice([0.0, -1.0, 0.5, 2.0, 0.125, 1.25])
        changed = type(c)(**{**vars(c), "tensors": {**held, name: tensor}})
        lengths = certify(changed, export.formulas, "sdpa").max_length
        if not lengths["float32"]:
            void += 1
            continue
        lm.load_state_dict({name: torch.tensor(tensor)}, strict=False)
        seen = [answers(lm, tokenizer, word[: lengths["float32"]]) for word in words]
        assert seen == [truth[: lengths["float32"]] for truth in wanted]
        right += 1
        lm.load_state_dict({name: torch.tensor(np.array(held[name]))}, strict=False)
    assert void > 0
