"""Causal RASP programs as GPT-2 and Llama: a label for each value, certified, and right."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import rasp
from softhat.frontends.rasp import lib
from softhat.frontends.rasp.evaluate import evaluate
from softhat.io.errors import SofthatError
from tests.export.stock_models import stock, torch

EXPORTS: dict[str, Callable[..., None]] = {"gpt2": softhat.to_gpt2, "llama": softhat.to_llama}


def _most(share: float) -> bool:
    return share > 0.5


PROGRAMS = {
    "hist": lib.make_hist(),
    "shift": lib.shift_by(2, rasp.tokens),
    "pattern": lib.detect_pattern(rasp.tokens, "ab"),
    "mean": rasp.Map(_most, lib.make_frac_prevs(rasp.tokens == "a")),
}
LONGEST = 6


def compiled(program: rasp.SOp, causal: bool = True) -> Any:
    return softhat.compile(program, alphabet=["a", "b"], max_length=LONGEST, causal=causal)


@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_labels_are_the_values(name: str, target: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    EXPORTS[target](compiled(program), tmp_path / "m", LONGEST + 1)
    assert softhat.certify(tmp_path / "m").max_length["float32"] == LONGEST
    model = stock(tmp_path / "m")
    names = [model.config.id2label[k] for k in range(model.config.num_labels)]
    vocabulary = json.loads((tmp_path / "m" / "tokenizer.json").read_text())["model"]["vocab"]
    words = list(product("ab", repeat=LONGEST))
    codes = [[vocabulary[token] for token in ("<bos>", *word)] for word in words]
    with torch.no_grad():
        logits = model(torch.tensor(codes)).logits[:, 1:].numpy()
    for word, rows in zip(words, logits, strict=True):
        said = [[names[k] for k in np.flatnonzero(row > 0)] for row in rows]
        expected = evaluate(program, list(word), True)
        assert said == [[] if value is None else [f"is {value!r}"] for value in expected], word


@pytest.mark.parametrize("target", EXPORTS.values())
@pytest.mark.parametrize(
    ("program", "causal", "context", "said"),
    [
        (lib.make_hist(), False, 7, "causal=True"),
        (lib.make_hist(), True, 8, "context=7"),
        (lib.make_frac_prevs(rasp.tokens == "a"), True, 7, "sums or means"),
        (lib.shift_by(-1, rasp.tokens), True, 7, "has no value anywhere"),
        (lib.make_sort_freq(max_seq_len=6), True, 7, "no formula says, Steps"),
    ],
)
def test_what_is_refused(
    program: rasp.SOp, causal: bool, context: int, said: str, target: Any, tmp_path: Path
) -> None:
    alphabet = ["a", "b"] if said != "no formula says, Steps" else [1, 2, 3]
    model = softhat.compile(program, alphabet=alphabet, max_length=LONGEST, causal=causal)
    with pytest.raises(SofthatError, match=said) as caught:
        target(model, tmp_path / "m", context)
    assert "\n" not in str(caught.value)


def test_a_gguf_file_has_no_labels(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    with pytest.raises(SofthatError, match="a label for each value"):
        softhat.to_gguf(compiled(lib.make_hist()), tmp_path / "m.gguf", 7)


def test_a_language_model_has_no_values(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="head='lm'"):
        softhat.to_gpt2(compiled(lib.make_hist()), tmp_path / "m", 7, head="lm")
    with pytest.raises(SofthatError, match="causal RASP program"):
        softhat.to_gpt2(lib.make_hist(), tmp_path / "m", 7)
