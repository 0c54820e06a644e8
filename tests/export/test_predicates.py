"""Numerical predicates in exports: PyTorch, Hugging Face, ONNX and GPT-2 answer as formulas do."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from softhat import SofthatError, compile, to_gpt2, to_huggingface, to_onnx, to_torch
from softhat.logic.binding import bind
from softhat.logic.fragments import describe
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.models.model import Model
from tests.logic.oracle import GIVEN
from tests.transformer.lowering.test_predicates import CHOSEN

torch = pytest.importorskip("torch")

TEXTS = [
    "at(prime) S a",
    "Y at(p) & a",
    "O (a & at(t))",
    "#(at(f) & a) > #(b)",
    "at(fibonacci) xor Y at(power2)",
    "at(square) | at(factorial) & Y at(triangular)",
    "at(middle) & X a",
    "G (at(g) -> F a)",
    "#*(at(g)) > #(a)",
]
WORDS = ["a", "ab", "abba", "bbaab", "abbbaabab" * 3, "ab" * 60]


def model_of(text: str, attention: str) -> Model:
    return compile(text, "ab", attention, predicates=GIVEN, predicate_length=160)


def codes(word: str) -> np.ndarray:
    return np.array([["ab".index(symbol) for symbol in word]])


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("text", TEXTS)
def test_torch(text: str, attention: str) -> None:
    formula = bind(parse(text), GIVEN)
    module = to_torch(model_of(text, attention))
    for word in WORDS:
        margins = module(torch.tensor(codes(word)))[0, :, 0]
        assert ((margins > 0).numpy() == formula.truth(word)).all(), word
    # Two words of different lengths, one padded on the left.
    tokens = torch.tensor(np.concatenate([codes("abbab"), codes("aabba")]))
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    margins = module(tokens, mask)[:, :, 0]
    assert ((margins[1, 2:] > 0).numpy() == formula.truth("bba")).all()


@pytest.mark.parametrize("text", TEXTS)
def test_onnx(text: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    formula = bind(parse(text), GIVEN)
    to_onnx(model_of(text, "unbounded"), tmp_path / "m.onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(tmp_path / "m.onnx", options)
    for word in WORDS:
        (margins,) = session.run(None, {"tokens": codes(word)})
        assert ((margins[0, :, 0] > 0) == formula.truth(word)).all(), word
    certificate = json.loads((tmp_path / "m.certificate.json").read_text())
    assert certificate["max_length"]["float32"] <= 1 << 24
    if "at(t)" in text or "at(g)" in text:
        with pytest.raises(Exception, match="Gather"):
            session.run(None, {"tokens": np.zeros((1, 2000), np.int64)})


def test_arithmetic_sets_are_tables_in_onnx(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    to_onnx(compile("at(prime)", "ab"), tmp_path / "m.onnx")
    certificate = json.loads((tmp_path / "m.certificate.json").read_text())
    assert certificate["max_length"]["float32"] == 1 << 16


@pytest.mark.parametrize("text", TEXTS)
def test_gpt2(text: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    formula = bind(parse(text), GIVEN)
    model = model_of(text, "unbounded")
    if not describe(formula).is_decoder:
        with pytest.raises(SofthatError, match="sees only the past"):
            to_gpt2(model, tmp_path / "g", context=130)
        return
    to_gpt2(model, tmp_path / "g", context=130)
    built = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "g")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "g")
    for word in WORDS:
        encoded = tokenizer(" ".join(word), return_tensors="pt")
        answers = built(**encoded).logits[0].argmax(-1)[-len(word) :].bool().numpy()
        assert (answers == formula.truth(word)).all(), word
    assert json.loads((tmp_path / "g" / "predicates.json").read_text())


def test_gpt2_refuses_what_it_cannot_know(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match=r"at\(middle\), which depends on n"):
        to_gpt2(compile("at(middle)"), tmp_path / "g")
    with pytest.raises(SofthatError, match=r"'t' is a table of 4 positions.*context of at most 5"):
        to_gpt2(compile("at(t)", predicates={"t": "0110"}), tmp_path / "g")


@pytest.mark.parametrize("text", TEXTS[:3] + TEXTS[-2:])
def test_huggingface(text: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    formula = bind(parse(text), GIVEN)
    to_huggingface(model_of(text, "unbounded"), tmp_path / "h")
    built = transformers.AutoModelForTokenClassification.from_pretrained(
        tmp_path / "h", trust_remote_code=True
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "h", trust_remote_code=True)
    for word in WORDS[:5]:
        encoded = tokenizer(" ".join(word), return_tensors="pt")
        answers = built(**encoded).logits[0].argmax(-1)[1 : len(word) + 1].bool().numpy()
        assert (answers == formula.truth(word)).all(), word


@pytest.mark.full
@pytest.mark.parametrize("formula", CHOSEN, ids=str)
def test_all_in_every_export(formula: Formula, tmp_path: Path) -> None:
    """All words to length 8 and random ones to 1,000, in PyTorch, ONNX and GPT-2."""
    runtime = pytest.importorskip("onnxruntime")
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    rng = np.random.default_rng(len(str(formula)))
    batches = [np.array(list(product(range(2), repeat=n))) for n in range(1, 9)]
    batches += [rng.integers(0, 2, (2, n)) for n in (100, 1000)]
    want = [
        np.array(formula.truth_many(["".join("ab"[s] for s in row) for row in batch]))
        for batch in batches
    ]
    for attention in ("unbounded", "temperature"):
        module = to_torch(compile(formula, "ab", attention, predicate_length=1000))
        for batch, held in zip(batches, want, strict=True):
            got = module(torch.tensor(batch))[:, :, 0].detach().numpy() > 0
            assert np.array_equal(got, held), (attention, batch.shape)
    to_onnx(compile(formula, "ab", predicate_length=1000), tmp_path / "m.onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(tmp_path / "m.onnx", options)
    for batch, held in zip(batches, want, strict=True):
        (margins,) = session.run(None, {"tokens": batch})
        assert np.array_equal(margins[:, :, 0] > 0, held), batch.shape
    if not describe(formula).is_decoder:
        return
    to_gpt2(compile(formula, "ab", predicate_length=1001), tmp_path / "g", context=1001)
    built = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "g").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "g")
    symbols = torch.tensor(tokenizer.convert_tokens_to_ids(["a", "b"]))
    start = torch.tensor(tokenizer("a").input_ids[:-1], dtype=torch.int64)
    for batch, held in zip(batches, want, strict=True):
        ids = torch.cat([start.repeat(len(batch), 1), symbols[torch.tensor(batch)]], dim=1)
        with torch.no_grad():
            answers = built(input_ids=ids).logits[:, len(start) :].argmax(-1).bool().numpy()
        assert np.array_equal(answers, held), batch.shape


def test_torch_refuses_long_words() -> None:
    module = to_torch(compile("at(t)", "ab", predicates={"t": "0110"}))
    with pytest.raises(ValueError, match="'t' is a table of 4 positions"):
        module(torch.zeros((1, 5), dtype=torch.int64))
