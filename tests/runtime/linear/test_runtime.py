"""The linear runtime computes the dense runtime's softmax, head by head, from the weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softhat
from softhat.io.errors import SofthatError
from softhat.logic.random import random_formula
from softhat.models.model import Model
from softhat.numerics.formats import FORMATS
from softhat.runtime.attend import Attention
from softhat.runtime.dense import Ready
from softhat.runtime.linear import runtime
from softhat.runtime.linear.runtime import LinearModel
from softhat.transformer.rows import UnknownShapeError
from softhat.transformer.shapes import Local, Ramp
from softhat.transformer.weights import Sparse
from tests.slices import examples

EVERY_KIND = [
    "a S b", "a T b", "Y a", "Z (a S b)", "O (a & Y b)", "a U b", "X a", "N (b R c)",
    "F (a & X b)", "(Y a) S (a U b)", "Y a & Y b & Y c",
    "#(a) - #(b) >= 1", "2*#(a) - 3*#(b) = 1", "#(a) >= i - #(b)", "#>(a) > 3", "#*(a) > 5",
    "#(a) > #>(b) + #*(a)", "2*#>(a) >= #>(b) + 3", "#*(a) >= i", "n > 2*i", "i + #(a) >= n",
    "#(Y a) > #>(X b)", "#(#(a) > #(b)) > 2", "mod(3, 1) S a", "last | (a S first)",
    "Y a & O a & O b & a S b & b S c & c S a & Y b & O c & a S c & !(b S a)",  # wide: C = 8
]  # fmt: skip


class Recorder:
    """The dense runtime's attention, keeping what every head returns."""

    def __init__(self, attention: Attention) -> None:
        self.attention = attention
        self.outputs: list[np.ndarray] = []

    def __call__(self, *arguments: Any) -> np.ndarray:
        self.outputs.append(self.attention(*arguments))
        return self.outputs[-1]


def heads_differ(model: Model, tokens: np.ndarray) -> float:
    """The largest difference of a head output between the two runtimes, in float64, but at the sink
    at the head's far end, where the linear one says 0 and nothing reads it."""
    ready = Ready(model.transformer, FORMATS["float64"])
    recorder = Recorder(ready.attention)
    ready.attention = recorder  # type: ignore[assignment]
    x = ready.embed(tokens[None])
    for layer in ready.layers:
        x, _ = ready.step(layer, x, keep=False)
    linear = LinearModel(model.transformer, FORMATS["float64"])
    found = [head for layer in linear.head_outputs(tokens) for head in layer]
    worst = float(np.abs(linear.margins(tokens) - ready.margins(x)[0]).max())
    masks = [mask for layer in model.transformer.layers for mask in layer.masks]
    for mask, means, outputs in zip(masks, found, recorder.outputs, strict=True):
        near = slice(mask in (">=", ">"), len(tokens) + 1 + (mask in (">=", ">", "none")))
        for mean, output in zip(means, outputs[..., 0], strict=True):
            worst = max(worst, float(np.abs(mean - output)[near].max()))
    return worst


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("text", EVERY_KIND)
def test_equals_dense_for_every_kind_of_head(text: str, attention: str) -> None:
    model = softhat.compile(text, alphabet="abc", attention=attention)
    rng = np.random.default_rng(len(text))
    for n in (1, 2, 3, 12, 60, 700):
        weights = rng.dirichlet([0.4] * 3)
        assert heads_differ(model, rng.choice(3, n, p=weights)) < 1e-9
    for one in range(3):  # nothing found anywhere, or everywhere
        assert heads_differ(model, np.full(200, one)) < 1e-9


@examples(60)
@given(st.integers(0, 10**9), st.integers(1, 25), st.integers(1, 120))
def test_equals_dense_on_random_formulas(seed: int, size: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    attention = ("unbounded", "temperature")[seed % 2]
    model = softhat.compile(random_formula(rng, size, "abc"), alphabet="abc", attention=attention)
    assert heads_differ(model, rng.integers(0, 3, n)) < 1e-9


def test_equals_dense_at_length_3000() -> None:
    compare_long(np.random.default_rng(1), 4)


@pytest.mark.full
def test_equals_dense_at_length_3000_in_full() -> None:
    compare_long(np.random.default_rng(2), 150)


def compare_long(rng: np.random.Generator, count: int) -> None:
    for k in range(count):
        formula = random_formula(rng, 10, "abc", ("all", "decoder", "two-way", "counting")[k % 4])
        attention = ("unbounded", "temperature")[k // 4 % 2]
        model = softhat.compile(formula, alphabet="abc", attention=attention)
        n = int(rng.integers(2000, 3001))
        stay = rng.random(n) < rng.choice([0.0, 0.9, 0.999])  # long runs make rare events
        tokens = rng.integers(0, 3, n)
        change = np.maximum.accumulate(np.where(stay, 0, np.arange(n)))
        assert heads_differ(model, tokens[change]) < 1e-9


@pytest.mark.parametrize("chunk", [1, 2, 9, 10, 11, 17, 64])
def test_chunks_do_not_matter(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(chunk)
    for text in ("Y (a S b)", "#(a) >= #(b)", "(Y a) S (a U b)", "#(a) > #>(b) + #*(a)"):
        tokens = rng.choice(3, 300, p=[0.8, 0.05, 0.15])
        model = softhat.compile(text, alphabet="abc")
        whole = LinearModel(model.transformer, FORMATS["float64"]).margins(tokens)
        monkeypatch.setattr(runtime, "CHUNK", chunk)
        parts = LinearModel(model.transformer, FORMATS["float64"]).margins(tokens)
        monkeypatch.undo()
        assert np.abs(whole - parts).max() < 1e-15


def test_propositions_and_several_outputs() -> None:
    model = softhat.compile({"x": "p S q", "y": "#(p & q) > #(Y p)"}, propositions=["p", "q"])
    rng = np.random.default_rng(0)
    bits = rng.random((500, 2)) < 0.4
    word = [{name for name, holds in zip("pq", row, strict=True) if holds} for row in bits]
    for name, formula in model.formulas.items():
        assert np.array_equal(model.truth(word, output=name, runtime="linear"), formula.truth(word))


# What is read from the weights


def replaced(model: Model, layer: int, **tensors: Sparse) -> Model:
    layers = list(model.transformer.layers)
    layers[layer] = replace(layers[layer], **tensors)
    return Model(replace(model.transformer, layers=tuple(layers)), model.formulas)


def scaled(tensor: Sparse, factor: float) -> Sparse:
    return Sparse(tensor.shape, tensor.where, tensor.values * factor)


@pytest.mark.parametrize("text", ["a S b", "Y a", "#(a) > #(b)", "a U b"])
@pytest.mark.parametrize("factor", [0.75, 2.0, 5.0])
def test_constants_are_those_of_the_weights(text: str, factor: float) -> None:
    model = softhat.compile(text, alphabet="abc")
    last = len(model.transformer.layers) - 1
    changed = replaced(model, last, query=scaled(model.transformer.layers[last].query, factor))
    tokens = np.random.default_rng(0).choice(3, 200, p=[0.6, 0.2, 0.2])
    assert heads_differ(changed, tokens) < 1e-9


def test_names_are_not_read() -> None:
    model = softhat.compile("a S b", alphabet="abc")
    layer = replace(model.transformer.layers[0], kinds=("Average",), labels=("?",))
    renamed = replace(model.transformer, layers=(layer,))
    (head,) = LinearModel(renamed, FORMATS["float64"]).layers[0].heads
    assert isinstance(head.shape, Local)
    assert head.shape.slope == 4


@pytest.mark.parametrize("text", ["a S b", "Y a", "#(a) > #(b)"])
def test_other_weights_run_densely(text: str) -> None:
    """A score that no shape has: the model still runs, but not in linear time."""
    model = softhat.compile(text, alphabet="abc")
    key = model.transformer.layers[-1].key.dense()
    key[0, 0, -2:] += 0.375  # a content coordinate where none belongs
    changed = replaced(model, len(model.transformer.layers) - 1, key=Sparse.from_dense(key))
    with pytest.raises(UnknownShapeError):
        LinearModel(changed.transformer, FORMATS["float32"])
    with pytest.raises(SofthatError, match="cannot run in linear time"):
        changed.runtime_for(1000, "linear")
    assert changed.runtime_for(10**6, "auto") == "dense"
    with pytest.raises(SofthatError, match="linear time"):
        changed.stream()


def test_hard_attention_is_not_a_softmax() -> None:
    model = softhat.compile("a S b", alphabet="ab", attention="hard")
    with pytest.raises(SofthatError, match="hard attention is not a softmax"):
        model.linear()
    assert model.runtime_for(10**6) == "dense"


def test_shallow_scores_need_too_many_taps() -> None:
    model = softhat.compile("a S b", alphabet="ab")
    shallow = replaced(model, 0, query=scaled(model.transformer.layers[0].query, 1 / 8))
    with pytest.raises(SofthatError, match="taps"):
        shallow.linear()


def test_shapes() -> None:
    model = softhat.compile("2*#(a) - #(b) >= 3", alphabet="ab")
    average, sign = LinearModel(model.transformer, FORMATS["float64"]).layers
    assert sign.heads[0].mask == average.heads[0].mask == "<="
    shape = sign.heads[0].shape
    assert isinstance(shape, Ramp)
    ((_, (weight, per_i, per_r), _),) = shape.contents
    assert (weight, per_i, per_r) == (weight, weight, 0)  # the average times i+1 is the sum
    gain = weight / 2  # C': the average is divided by 2 = max|v|
    assert shape.own == (-gain * (3 - 0.5), 0, 0)  # C'(c - 1/2); D(j - i) is 0 at j = i
    assert shape.slope > gain * 1 + 4  # D > C'·max(-v) + 4


# Which runtime


def test_the_runtime_is_chosen_and_named() -> None:
    model = softhat.compile("a S b", alphabet="ab")
    assert model.runtime_for(20) == "dense"
    assert model.runtime_for(10**5) == "linear"
    assert model.runtime_for(10**5, "dense") == "dense"
    assert model.runtime_for(5, "linear") == "linear"
    assert model.runtime_for(10**5, dtype="float16") == "dense"  # what hardware would do
    with pytest.raises(SofthatError, match="unknown runtime"):
        model.runtime_for(5, "fast")


# Long words, against the formula


LONG = {
    "star-free": "Y (!c S (a & Z (b S a)))",
    "counting": "2*#(a) >= #(b) + 7",
    "both ways": "(a S b) & (X a U c) & #(a) + #>(b) > #*(c)",
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", LONG)
def test_a_million_symbols(kind: str, dtype: str) -> None:
    long_word(LONG[kind], 10**6, dtype)


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["star-free", "counting"])
def test_ten_million_symbols(kind: str, dtype: str) -> None:
    long_word(LONG[kind], 10**7, dtype)


@pytest.mark.full
def test_star_free_at_the_largest_float32_integer() -> None:
    long_word(LONG["star-free"], 2**24 + 3, "float32")


def long_word(text: str, n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    codes = rng.choice(3, n, p=[0.3, 0.6, 0.1]).astype(np.uint8)
    codes[n // 2 : n // 2 + n // 10] = 1  # a run of b
    word = (codes + ord("a")).tobytes().decode("ascii")
    model = softhat.compile(text, alphabet="abc")
    assert model.linear_max_length(dtype) >= n
    assert np.array_equal(
        model.truth(word, dtype=dtype, runtime="linear"), softhat.parse(text).truth(word)
    )
