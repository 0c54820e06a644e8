"""Match and Width in linear time: the margins of the dense runtime, and values of plain Python."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import CertificateWarning, SofthatError, rasp
from softhat.frontends.rasp import lib
from softhat.transformer.shapes import Classes
from tests.frontends.rasp.cases import CASES, Case

LINEAR = ["length", "pair_balance", "hist", "frac_prevs", "count_less_freq", "count", "first_token",
          "numerical hist", "shuffle_dyck", "shuffle_dyck2"]  # fmt: skip
CHOSEN = [case for case in CASES if case.name in LINEAR]
same = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ)
before = rasp.Select(rasp.indices, rasp.indices, rasp.Comparison.LT)
after = rasp.Select(rasp.indices, rasp.indices, rasp.Comparison.GT)


def words(case: Case, longest: int) -> list[list[Any]]:
    dice = random.Random(1)
    lengths = [1, 2, 3, 5, longest // 2, longest, longest]
    return [dice.choices(case.alphabet, k=n) for n in lengths]


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_margins_are_those_of_the_dense_runtime(case: Case, attention: Any) -> None:
    model = softhat.compile(
        case.program, alphabet=case.alphabet, max_length=40, attention=attention
    )
    for word in words(case, 40):
        codes = model.encode(word)
        for dtype, close in (("float64", 1e-9), ("float32", 2e-3)):
            dense = model.run_batch(codes[None], dtype)[0]
            linear = model.linear(dtype).margins(codes)
            np.testing.assert_allclose(linear, dense, rtol=0, atol=close)


@pytest.mark.parametrize(
    ("program", "meaning"),
    [
        (rasp.SelectorWidth(same & before), lambda w: [w[:i].count(t) for i, t in enumerate(w)]),
        (rasp.SelectorWidth(same & after), lambda w: [w[i + 1:].count(t) for i, t in enumerate(w)]),
        (rasp.Aggregate(same & before, rasp.Map({"a": 1, "b": 2}.get, rasp.tokens)),
         lambda w: [{"a": 1, "b": 2}[t] if t in w[:i] else None for i, t in enumerate(w)]),
    ],
)  # fmt: skip
def test_strict_masks(program: rasp.SOp, meaning: Any) -> None:
    model = softhat.compile(program, alphabet="ab", max_length=60)
    dice = random.Random(3)
    for n in (1, 2, 7, 60):
        word = dice.choices("ab", k=n)
        assert model.values(word, runtime="linear") == meaning(word)


@pytest.mark.parametrize("name", ["hist", "count", "frac_prevs", "numerical hist"])
def test_they_are_certified_and_right(name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    model = softhat.compile(case.program, alphabet=case.alphabet, max_length=600)
    limit = model.certified_length("float32", "linear")
    assert limit > 80
    word = random.Random(5).choices(case.alphabet, k=limit)
    for found, expected in zip(
        model.values(word, runtime="linear", strict=True), case.meaning(word), strict=True
    ):
        assert abs(found - expected) <= model.certificate.error


def test_long_words() -> None:
    """Quadratic time would be minutes here."""
    model = softhat.compile(
        lib.make_frac_prevs(rasp.tokens == "a"), alphabet="ab", max_length=60_000
    )
    assert model.runtime_for(60_000) == "linear"
    word = np.random.default_rng(0).integers(0, 2, 60_000)
    start = time.process_time()
    values = np.array(model.values(word, strict=True), float)
    assert time.process_time() - start < 60
    exact = np.cumsum(word == 0) / np.arange(1, 60_001)
    assert np.abs(values - exact).max() <= model.certificate.error


def test_streams() -> None:
    model = softhat.compile(
        rasp.numerical(lib.make_frac_prevs(rasp.tokens == "a")), alphabet="ab", max_length=30
    )
    word = np.random.default_rng(1).integers(0, 2, 30)
    linear = model.linear("float64")
    assert any(isinstance(h.shape, Classes) for layer in linear.layers for h in layer.heads)
    from softhat.runtime.linear.kernels import Word
    from softhat.runtime.linear.runtime import ENDLESS
    from softhat.runtime.linear.stepper import Stepper

    if not linear.streamable:
        pytest.skip("it knows the end of the word")
    stepper, states = Stepper(linear), linear.fresh()
    whole = Word(None, ENDLESS)
    linear.advance(states, linear.sink(0), 0, whole)
    rows = [stepper.step(states, int(code), at, whole) for at, code in enumerate(word, 1)]
    np.testing.assert_allclose(rows, linear.margins(word), atol=1e-12)


def test_other_heads_are_not_claimed() -> None:
    model = softhat.compile(lib.make_shuffle_dyck(["()"]), alphabet="()", max_length=600)
    assert model.certified_length("float32", "linear") == 0
    assert model.runtime_for(600) == "dense"
    with pytest.warns(CertificateWarning):
        assert model.values("()" * 300, runtime="linear") == [True] * 600
    code = softhat.compile(lib.make_reverse(rasp.tokens), alphabet="ab", max_length=64)
    with pytest.raises(SofthatError, match="cannot run in linear time"):
        code.values("ab", runtime="linear")
