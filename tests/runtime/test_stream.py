"""Streams: any pieces, the same answers, constant memory."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softhat
from softhat.io.errors import CertificateError, CertificateWarning, SofthatError
from softhat.logic.random import random_formula
from tests.slices import examples

ROUNDING = {"float64": 1e-14, "float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}


@examples(60)
@given(
    st.integers(0, 10**9),
    st.integers(1, 20),
    st.lists(st.sampled_from([1, 1, 1, 2, 7, 24, 25, 40]), min_size=1, max_size=25),
    st.sampled_from(["unbounded", "temperature"]),
    st.sampled_from(sorted(ROUNDING)),
)
def test_pieces_do_not_matter(
    seed: int, size: int, pieces: list[int], attention: str, dtype: str
) -> None:
    rng = np.random.default_rng(seed)
    formula = random_formula(rng, size, "abc", "decoder")
    model = softhat.compile(formula, alphabet="abc", attention=attention)
    word = "".join(rng.choice(list("abc"), sum(pieces), p=rng.dirichlet([0.5] * 3)))
    if model.linear_max_length(dtype) < len(word):
        return
    stream, at = model.stream(dtype), 0
    margins = []
    for piece in pieces:
        margins.append(stream.margins(word[at : at + piece]))
        at += piece
    assert stream.position == len(word)
    together = np.concatenate(margins)
    assert np.array_equal(together > 0, formula.truth(word))
    whole = model.margins(word, dtype=dtype, runtime="linear")
    assert np.abs(whole - together).max() <= ROUNDING[dtype]


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
def test_equals_dense_token_by_token(attention: str) -> None:
    """In float64, against the dense runtime of every prefix's whole word."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        formula = random_formula(rng, 12, "ab", "decoder")
        model = softhat.compile(formula, alphabet="ab", attention=attention)
        tokens = rng.integers(0, 2, 250)
        dense = model.run_batch(tokens[None], "float64")[0, :, 0]
        stream = model.stream("float64")
        found = np.array([stream.margins(int(token))[0] for token in tokens])
        assert np.abs(found - dense).max() < 1e-9


def test_what_push_takes() -> None:
    model = softhat.compile("b S a", alphabet="abc")
    stream = model.stream()
    assert stream.push("ab").tolist() == [True, True]
    assert stream.push(["b", "c"]).tolist() == [True, False]
    assert stream.push(np.array([0, 1])).tolist() == [True, True]
    assert stream.push(1).tolist() == [True]
    assert stream.push("").tolist() == []
    assert stream.push("b").dtype == np.bool_
    for bad in ("x", "abx", ["b", "x"], 3, -1, np.array([7])):
        with pytest.raises(SofthatError):
            stream.push(bad)
    assert stream.position == 8  # nothing of a bad piece was read
    assert stream.push("b").tolist() == [True]


def test_symbols_of_several_characters() -> None:
    model = softhat.compile("open S close", alphabet=["open", "close"])
    assert model.stream().push(["close", "open"]).tolist() == [True, True]
    with pytest.raises(SofthatError):
        model.stream().push("open")


def test_propositions() -> None:
    formula = softhat.parse("p S (q & Y p)", propositions=["p", "q"])
    model = softhat.compile(formula, propositions=["p", "q"])
    word = [{"p"}, {"p", "q"}, {"p"}, set(), {"q"}] * 12
    one, many = model.stream(), model.stream()
    singly = [one.push([item]).tolist()[0] for item in word]
    assert singly == many.push(word).tolist() == formula.truth(word).tolist()


def test_several_outputs() -> None:
    model = softhat.compile({"x": "Y a", "y": "#(a) > #(b)"}, alphabet="ab")
    for name in ("x", "y"):
        found = model.stream(output=name).push("abaab")
        assert np.array_equal(found, model.formulas[name].truth("abaab"))
    with pytest.raises(SofthatError, match="several outputs"):
        model.stream()


@pytest.mark.parametrize("text", ["X a", "a U b", "#*(a) > 2", "#>(a) > 2", "last & a", "2*i > n"])
def test_only_the_past_can_be_streamed(text: str) -> None:
    with pytest.raises(SofthatError, match="pure-past"):
        softhat.compile(text, alphabet="ab").stream()


def test_past_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    model = softhat.compile("a S b", alphabet="ab")
    monkeypatch.setattr(type(model), "linear_max_length", lambda self, dtype: 30)
    for piece in (1, 10, 60):
        stream = model.stream()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(60 // piece):
                stream.push("ab" * (piece // 2) if piece > 1 else "a")
        assert [w.category for w in caught] == [CertificateWarning]
        strict = model.stream(strict=True)
        with pytest.raises(CertificateError, match="30"):
            for _ in range(60 // piece):
                strict.push("ab" * (piece // 2) if piece > 1 else "a")


def test_memory_does_not_grow() -> None:
    model = softhat.compile("(Y a) S (#(a) > #(b))", alphabet="abc")
    stream = model.stream()
    piece = np.random.default_rng(0).integers(0, 3, 1 << 17)
    stream.push(piece)
    tracemalloc.start()
    stream.push(piece)
    first = tracemalloc.get_traced_memory()[1]
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for _ in range(8):
        stream.push(piece)
    assert tracemalloc.get_traced_memory()[1] < first + held + (1 << 20)
    tracemalloc.stop()


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", ["Y (!c S (a & Z (b S a)))", "2*#(a) >= #(b) + 7"])
def test_ten_million_tokens(text: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    codes = rng.choice(3, 10**7, p=[0.3, 0.6, 0.1])
    stream = softhat.compile(text, alphabet="abc").stream(dtype)
    found = [stream.push(codes[at : at + 300_000]) for at in range(0, 10**7, 300_000)]
    word = (codes + ord("a")).astype(np.uint8).tobytes().decode("ascii")
    assert np.array_equal(np.concatenate(found), softhat.parse(text).truth(word))


def test_codes_of_an_array_and_what_is_no_word() -> None:
    stream = softhat.compile("a S b", alphabet="ab").stream()
    found = [stream.push(code).tolist() for code in np.array([0, 1, 0])]
    assert found == [[False], [True], [True]]
    for nothing in (None, 1.5):
        with pytest.raises(SofthatError, match="a word is text"):
            stream.push(nothing)
    with pytest.raises(SofthatError, match="indices from 0 to 1"):
        stream.push(np.int64(2))
    assert stream.position == 3
