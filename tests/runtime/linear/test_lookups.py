"""What is looked up by number against the softmax over all keys, and chunk against step."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softhat
from softhat.runtime.linear.classes import TooManyError
from softhat.runtime.linear.columns import View
from softhat.runtime.linear.kernels import Word
from softhat.runtime.linear.lookups import LookupKernel
from softhat.transformer.rows import UnknownShapeError
from softhat.transformer.shapes import HeadForm, Numbered
from tests.frontends.regular.test_doubling import expected, random_automaton
from tests.slices import every, examples

DIGITS = 5


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 31),
    half=st.sampled_from([13.0, 16.0, 40.0]),
    down=st.booleans(),
    flipped=st.integers(0, 31),
    cut=st.integers(1, 20),
)
@examples(60)
def test_the_mean_is_the_softmax(
    seed: int, n: int, half: float, down: bool, flipped: int, cut: int
) -> None:
    """Theorem 42, with 70 values, which are more than one integer holds."""
    dice = np.random.default_rng(seed)
    constant = 32 if down else int(dice.integers(0, 9))
    shape = Numbered(tuple(range(DIGITS)), flipped, half, down, constant)
    rows = tuple(((DIGITS + k, 1.0),) for k in range(70))
    kernel = LookupKernel(HeadForm("<=", shape, rows, ((),) * 70), shape)
    table = dice.integers(0, 2, (n + 1, DIGITS + 70)).astype(np.float64)
    table[0] = 0.0  # the sink
    word = Word(n, 1.0)
    state, pieces = kernel.fresh(), []
    for start in range(0, n + 1, cut):
        part = table[start : start + cut]
        view = View(list(part.T.copy()), len(part))
        pieces.append(np.array(kernel.chunk(state, view, start, word)))
    found = np.concatenate(pieces, axis=1)
    state = kernel.fresh()
    single = [kernel.step(state, row.tolist(), t, word) for t, row in enumerate(table)]
    assert np.allclose(np.array(single).T, found, rtol=1e-12, atol=1e-18)
    for t in range(1, n + 1):
        asked = sum(int(x) << b for b, x in enumerate(table[t, :DIGITS])) ^ flipped
        scores = [0.0]
        for j in range(1, t + 1):
            number = (constant - j if down else j + constant) % 32
            scores.append(half * (1 - 2 * (asked ^ number).bit_count()))
        weights = np.exp(np.array(scores) - max(scores))
        mean = weights @ table[: t + 1, DIGITS:] / weights.sum()
        assert np.allclose(found[:, t], mean, rtol=0, atol=1e-15)


def test_what_runs_densely() -> None:
    shape = Numbered((0, 1), 0, 20.0, True, 3)
    kernel = LookupKernel(HeadForm("<=", shape, (((2, 1.0),),), ((),)), shape)
    with pytest.raises(TooManyError, match="different numbers only to 3"):
        kernel.chunk(kernel.fresh(), View([None] * 3, 5), 0, Word(4, 1.0))
    with pytest.raises(UnknownShapeError, match="no stored bit"):
        LookupKernel(HeadForm("<=", shape, (((2, 2.0), (1, 1.0)),), ((),)), shape)
    short = softhat.compile(softhat.from_regex("(aa)*", depth="log"), max_length=300)
    assert not short.runs_linearly("float32")
    with pytest.raises(softhat.SofthatError, match="two of them would count"):
        short.truth("a" * 300, runtime="linear")


@pytest.mark.parametrize(
    ("longest", "attention"), every(3, product([None, 4_096], ["unbounded", "temperature"]))
)
def test_languages_run_as_they_run_densely(longest: int | None, attention: str) -> None:
    """Margins of both runtimes, bit for bit, and the automaton's answers."""
    given = random_automaton(5, "ab", 1)
    language = softhat.from_dfa(given, depth="log")
    model = softhat.compile(language, attention=attention, max_length=longest)
    word = "".join(random.Random(5).choices("ab", k=300))
    for dtype in ("float32", "float64"):
        assert model.runtime_for(300, "auto", dtype) == "linear"
        linear = model.margins(word, dtype=dtype, runtime="linear")
        assert np.array_equal(linear, model.margins(word, dtype=dtype, runtime="dense"))
        assert (linear > 0).tolist() == expected(given, word)
        assert model.certified_length(dtype, "linear") >= (longest or 100_000)


def test_a_word_of_70_000_symbols() -> None:
    """Longer than one piece of the linear runtime: pointers reach into earlier ones."""
    given = random_automaton(5, "ab", 1)
    model = softhat.compile(softhat.from_dfa(given, depth="log"))
    word = "".join(random.Random(6).choices("ab", k=70_000))
    assert model.truth(word, strict=True).tolist() == expected(given, word)


def test_in_a_stream() -> None:
    given = random_automaton(3, "ab", 7)
    model = softhat.compile(softhat.from_dfa(given, depth="log"), max_length=4_096)
    word = "".join(random.Random(7).choices("ab", k=200))
    stream = model.stream()
    assert [stream.push(symbol) for symbol in word] == expected(given, word)
