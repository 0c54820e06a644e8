"""Machine code answers as NumPy does, number for number, and is chosen when it should be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import softhat
from softhat.io.errors import SofthatError
from softhat.logic.random import random_formula
from softhat.models.model import Model
from softhat.numerics.formats import FORMATS
from softhat.runtime.linear import interior, runtime
from softhat.runtime.linear.interior import Choice
from softhat.runtime.linear.runtime import LinearModel
from tests.runtime.linear.test_runtime import EVERY_KIND


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Machine code, on short words and in small pieces, so that they are cut in many places."""
    pytest.importorskip("numba")
    from softhat.runtime.linear import compiled

    for module in (interior, runtime):
        monkeypatch.setattr(module, "PIECE", 600)
    monkeypatch.setattr(runtime, "LONG", 200)
    yield compiled


def choose(monkeypatch: pytest.MonkeyPatch, code: Any) -> None:
    choice = Choice()
    choice.code, choice.left = code, 0
    monkeypatch.setattr(runtime, "CHOICE", choice)


def margins(model: Model, dtype: str, tokens: np.ndarray) -> tuple[np.ndarray, bool]:
    """A model's margins, and whether machine code computed some."""
    linear = LinearModel(model.transformer, FORMATS[dtype])
    found = linear.margins(tokens)
    return found + 0.0, bool(linear.interiors)  # the sign of a zero is nobody's


def compare(model: Model, dtype: str, tokens: np.ndarray, code: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        choose(patch, None)
        expected, _ = margins(model, dtype, tokens)
        choose(patch, code)
        found, ran = margins(model, dtype, tokens)
    assert ran
    assert found.dtype == expected.dtype
    assert np.array_equal(found.view(np.uint8), expected.view(np.uint8))


def word(rng: np.random.Generator, n: int) -> np.ndarray:
    """Symbols in runs, and some that are rare."""
    tokens = rng.choice(3, n, p=rng.dirichlet([0.4] * 3))
    stay = rng.random(n) < rng.choice([0.0, 0.9, 0.99])
    return tokens[np.maximum.accumulate(np.where(stay, 0, np.arange(n)))]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("text", EVERY_KIND)
def test_the_same_numbers_for_every_kind_of_head(
    text: str, attention: str, dtype: str, code: Any
) -> None:
    model = softhat.compile(text, alphabet="abc", attention=attention)
    rng = np.random.default_rng(len(text))
    for n in (200, 1500):
        compare(model, dtype, word(rng, n), code)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**9), st.integers(1, 25), st.integers(200, 2000))
def test_the_same_numbers_for_random_formulas(code: Any, seed: int, size: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    family = ("all", "decoder", "two-way", "counting")[seed % 4]
    attention = ("unbounded", "temperature")[seed // 4 % 2]
    formula = random_formula(rng, size, "abc", family)
    model = softhat.compile(formula, alphabet="abc", attention=attention)
    compare(model, ("float32", "float64")[seed // 8 % 2], word(rng, n), code)


def test_the_same_numbers_for_propositions_and_several_outputs(code: Any) -> None:
    model = softhat.compile({"x": "p S q", "y": "#(p & q) > #(Y p)"}, propositions=["p", "q"])
    bits = np.random.default_rng(0).random((1500, 2)) < 0.4
    compare(model, "float32", bits, code)


def test_a_run_over_many_pieces_that_a_pass_keeps(code: Any) -> None:
    """A pass through several layers stores bits for the next one, which goes the other way."""
    model = softhat.compile("F (a & X (b S (c U (Y a))))", alphabet="abc")
    linear = LinearModel(model.transformer, FORMATS["float32"])
    assert any(step.keeps for step in linear.shortest)
    compare(model, "float32", word(np.random.default_rng(3), 4000), code)


@pytest.mark.parametrize("text", ["!c S a", "Y (a S b)", "#(a) >= #(b)", "mod(3, 1) S a"])
def test_streams(text: str, code: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pushes of any size: NumPy, machine code and single steps take turns on one state."""
    model = softhat.compile(text, alphabet="abc")
    tokens = word(np.random.default_rng(5), 3000)
    choose(monkeypatch, None)
    expected = model.stream().margins(tokens)
    choose(monkeypatch, code)
    stream = model.stream()
    cuts = [0, 10, 400, 405, 1800, 2000, 3000]
    found = [stream.margins(tokens[i:j]) for i, j in pairwise(cuts)]
    assert np.array_equal(np.concatenate(found) > 0, expected > 0)
    long = np.concatenate([found[k] for k in (1, 3, 5)])
    same = np.concatenate([expected[cuts[k] : cuts[k + 1]] for k in (1, 3, 5)])
    assert long == pytest.approx(same, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_formats_stay_with_numpy(
    dtype: str, code: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are rounded after every step."""
    choose(monkeypatch, code)
    model = softhat.compile("a S b", alphabet="abc")
    assert not margins(model, dtype, np.zeros(1000, np.int64))[1]


def test_a_stored_bit_that_is_none_is_refused_alike(
    code: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bit of the embedding is 0.75 for one symbol: both say so, with the value."""
    model = softhat.compile("Y Y a", alphabet="abc")
    tokens = np.zeros(1000, np.int64)
    tokens[700] = 1
    said = []
    for chosen in (None, code):
        choose(monkeypatch, chosen)
        linear = LinearModel(model.transformer, FORMATS["float32"])
        for table in linear.embedding.tokens.values():
            table[1] = 0.75
        with pytest.raises(SofthatError) as refused:
            linear.margins(tokens)
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert "0.75 instead of 0 or 1" in said[0]


# Which of them runs


def test_numpy_until_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(interior.VARIABLE, raising=False)
    loaded: list[str] = []
    monkeypatch.setattr(interior, "_load", lambda: loaded.append("loaded"))
    choice = Choice()
    choice.after(interior.WARM - 1)
    assert not loaded
    choice.after(1)
    choice.after(1)
    assert loaded == ["loaded"]


def missing() -> Any:
    raise ImportError("No module named 'numba'")


def test_without_numba_numpy_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(interior.VARIABLE, raising=False)
    monkeypatch.setattr(interior, "_load", missing)
    assert Choice().after(2 * interior.WARM) is None


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interior, "_load", lambda: "code")
    monkeypatch.setenv(interior.VARIABLE, "numpy")
    assert Choice().after(2 * interior.WARM) is None
    monkeypatch.setenv(interior.VARIABLE, "compiled")
    assert Choice().after(1) == "code"
    monkeypatch.setattr(interior, "_load", missing)
    with pytest.raises(SofthatError, match=r"pip install 'softhat\[fast\]'"):
        Choice().after(1)
    monkeypatch.setenv(interior.VARIABLE, "fast")
    with pytest.raises(SofthatError, match="set it to numpy or compiled"):
        Choice().after(1)
