"""The linear runtime's own bound: right up to it, on words made to break it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import softhat
from softhat.models.model import Model
from softhat.numerics.formats import FORMATS
from softhat.proof.linear import linear_max_length
from softhat.runtime.linear.columns import View
from softhat.runtime.linear.kernels import bit_of
from softhat.transformer.rows import IntegerRow
from tests.proof.planting import with_layer
from tests.slices import every

COMPARISONS = [
    "#(a) >= #(b)", "#(a) >= #(b) + 12", "3*#(a) - 2*#(b) >= 1", "2*#(a) > #>(b) + #*(a)",
    "#>(a) >= #>(b) + 5", "#*(a) >= i", "#(a) >= #>(a)", "2*#*(a) >= n + 3", "#(a) + #>(b) >= 7",
    "5*#(a) - 4*#>(b) + #*(c) >= n",
]  # fmt: skip


def near_threshold(rng: np.random.Generator, n: int) -> str:
    """Balanced words: counts stay close to each other at every position."""
    kinds = ["ab" * n, "aab" * n, "abb" * n, "aabbb" * n, "abc" * n, "a" * (n // 2) + "b" * n]
    word = list(kinds[rng.integers(len(kinds))][:n])
    for _ in range(rng.integers(0, 4)):
        at = int(rng.integers(n))
        word[at] = "abc"[rng.integers(3)]
    return "".join(word)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("text", COMPARISONS)
def test_right_up_to_the_bound(text: str, dtype: str) -> None:
    formula = softhat.parse(text)
    model = softhat.compile(formula, alphabet="abc")
    limit = linear_max_length(model.transformer, dtype)
    assert limit > 0
    rng = np.random.default_rng(limit % 2**32)
    for k in range(30):
        n = min(limit, (limit, 20_000, int(rng.integers(1, min(limit, 20_000) + 1)))[k % 3])
        n = min(n, 20_000)
        word = near_threshold(rng, n)
        found = model.linear(dtype).margins(model.encode(word))[:, 0] > 0
        assert np.array_equal(found, formula.truth(word)), (word[:50], n)


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("text", [*COMPARISONS, "a S Y b", "#(a) - #>(b) = 3", "2*#>(a) < i"])
def test_no_shorter_than_the_dense_runtime(text: str, attention: str) -> None:
    """Long words run in linear time by default: within the certificate nobody is warned."""
    model = softhat.compile(text, alphabet="abc", attention=attention)
    for dtype in ("float32", "float64"):
        proved = min(model.certificate.max_length[dtype], 2**40)
        assert linear_max_length(model.transformer, dtype) >= proved


MIXED = ["#(a) + #>(a) > #*(a)", "#(a) - #>(b) = 3", "2*#(a) > #>(b) + #*(a)", "3*#>(a) < i + 4"]


@pytest.mark.parametrize("text", every(3, MIXED))
def test_right_at_the_limit_of_float32(text: str) -> None:
    """Words of millions of symbols whose counts are large and near the threshold."""
    formula = softhat.parse(text)
    model = softhat.compile(formula, alphabet="abc")
    limit = linear_max_length(model.transformer, "float32")
    assert 10**6 < limit < 10**8
    n = min(limit, 4_000_000)
    rng = np.random.default_rng(n)
    mostly_a = np.where(rng.random(n) < 0.98, 0, 1)
    half = np.where(np.arange(n) < n // 2, 0, 1)
    for codes in (mostly_a, half, np.arange(n) % 2):
        word = (codes + ord("a")).astype(np.uint8).tobytes().decode("ascii")
        found = model.linear("float32").margins(codes)[:, 0] > 0
        assert np.array_equal(found, formula.truth(word))


def test_the_bound_is_not_vacuous() -> None:
    """Where positions enter a comparison beside an average, a format ends somewhere."""
    model = softhat.compile("2*#(a) > #>(b) + #*(a)", alphabet="ab")
    limits = [linear_max_length(model.transformer, dtype) for dtype in FORMATS]
    halves, single, double = limits[:2], limits[2], limits[3]
    assert all(20 < limit < 3000 for limit in halves)
    assert 10**6 < single < 2**24
    assert double > 10**9


def test_beyond_the_bound_the_format_fails() -> None:
    """The bound is about the format: far past it there is a word that comes out wrong."""
    text = "#(a) >= #>(a)"
    formula = softhat.parse(text)
    model = softhat.compile(formula, alphabet="ab")
    word = "".join(np.random.default_rng(0).choice(["a", "b"], 40_000, p=[0.7, 0.3]))
    assert linear_max_length(model.transformer, "bfloat16") < len(word)
    found = model.linear("bfloat16").margins(model.encode(word))[:, 0] > 0
    assert not np.array_equal(found, formula.truth(word))


def test_weights_that_the_format_rounds_are_not_certified() -> None:
    model = softhat.compile("#(a) >= 1001", alphabet="ab")
    assert linear_max_length(model.transformer, "bfloat16") == 0
    assert linear_max_length(model.transformer, "float32") > 10**7


def test_a_failed_bit_is_an_error_not_an_answer() -> None:
    """A gate that saw 0.3 stores neither 0 nor 1: nothing may be read from it."""
    bit = IntegerRow(((0, 1.0),))
    for value in (0.4, -1.0, 2.0):
        with pytest.raises(softhat.SofthatError, match="too long for this number format"):
            View([np.array([1, 0, value], np.float32)], 3).bits(bit)
        with pytest.raises(softhat.SofthatError, match="too long for this number format"):
            bit_of(bit, [value])


def test_hard_attention_has_no_linear_bound() -> None:
    model = softhat.compile("a S b", alphabet="ab", attention="hard")
    assert linear_max_length(model.transformer, "float32") == 0


@pytest.mark.parametrize("bias", [-31 / 32, -1 / 32, -3 / 4])
def test_tolerances_are_read_from_the_weights(bias: float) -> None:
    """A read-out with little room ends earlier: it was taken to have room for 1/2."""
    model = softhat.compile("#(a) + #>(b) >= 7", alphabet="ab")
    t = replace(model.transformer, readout_bias=np.array([bias]))
    changed = Model(t, model.formulas)
    for dtype in ("bfloat16", "float16", "float32"):
        assert changed.linear_max_length(dtype) < model.linear_max_length(dtype)


def test_the_room_of_a_gate_is_read_from_the_weights() -> None:
    """A clip from 7/8 to 1 has no room below 1 for what a head leaks."""
    model = softhat.compile("Y a & O b", alphabet="ab")
    assert model.linear_max_length("float32") > 0
    for k, layer in enumerate(model.transformer.layers):
        if not layer.into_bias.size:
            continue
        biases = layer.into_bias.copy()
        biases[biases == -3 / 8], biases[biases == -1 / 4] = -1 + 1 / 256, -1 + 1 / 128
        assert (biases != layer.into_bias).any()
        changed = with_layer(model.transformer, k, replace(layer, into_bias=biases))
        assert Model(changed, model.formulas).linear_max_length("float32") == 0
