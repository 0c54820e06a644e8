"""Words that share what is the same in them say what each says when it is run whole, bit by bit."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.logic.random import random_formula
from softhat.numerics.formats import FORMATS
from softhat.runtime import sequences
from softhat.runtime.merged import Merged, all_words, direction, is_settled

FIXED = (
    "a U b", "F (a & X (b U c))", "#>(a) - 2*#>(b) >= 1", "O a & F b", "F (a & O b)",
    "a S (b & F c)", "#(a) > #>(b) + #*(c)", "(a U b) S (Y c U (a S b))", "mod(2, 1) S a & X last",
)  # fmt: skip
LENGTH = 6
"""3^6 words: of fewer than 512 BLAS multiplies small matrices, which may round otherwise."""


def whole(model: Any, tokens: Any, dtype: str) -> Any:
    """The margins of words as the dense runtime computes them."""
    ready = model.ready(dtype)
    x = ready.embed(tokens)
    for layer in ready.layers:
        x, _ = ready.step(layer, x, keep=False)
    return ready.margins(x)


def shared(model: Any, fixed: Any, free: int, dtype: str, positions: Any = None) -> Any:
    """The same of all words that begin with some letters."""
    transformer = model.transformer
    k = len(transformer.symbols)
    merged = Merged(model.ready(dtype), np.arange(k), *all_words(fixed, k, free), positions)
    return np.stack(
        [
            np.stack(
                [
                    merged.of_words(row, margins)
                    for margins in merged.margins[:, merged.rows.slice(row)]
                ],
                axis=1,
            )
            for row in range(transformer.has_bos, merged.n + transformer.has_bos)
        ],
        axis=1,
    )


def compare(model: Any, dtype: str) -> None:
    k = len(model.transformer.symbols)
    tokens = np.array(list(product(range(k), repeat=LENGTH)))
    expected = whole(model, tokens, dtype)
    assert np.array_equal(shared(model, [], LENGTH, dtype), expected, equal_nan=True)
    some = shared(model, [1], LENGTH - 1, dtype)
    part = slice(k ** (LENGTH - 1), 2 * k ** (LENGTH - 1))
    assert np.array_equal(some, expected[part], equal_nan=True)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
def test_the_same_to_the_last_bit(
    attention: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([len(attention), list(FORMATS).index(dtype)])
    formulas = [random_formula(rng, 8, "abc", kind) for kind in ("decoder", "two-way", "two-way")]
    for formula in (*formulas, FIXED[int(rng.integers(len(FIXED)))]):
        monkeypatch.setattr(sequences, "MANY", int(rng.choice([4, 1 << 12])))
        compare(softhat.compile(formula, alphabet="abc", attention=attention), dtype)


@pytest.mark.full
@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
def test_the_same_to_the_last_bit_in_full(attention: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    formulas = [random_formula(rng, int(rng.integers(1, 16)), "abc", "two-way") for _ in range(40)]
    for number, formula in enumerate((*formulas, *FIXED)):
        monkeypatch.setattr(sequences, "MANY", (4, 1 << 12)[number % 2])
        for dtype in FORMATS:
            compare(softhat.compile(formula, alphabet="abc", attention=attention), dtype)


def test_positions_that_are_asked_for() -> None:
    for text in ("a S (b & Y c)", "a U (b & X c)", "F (a & O b)"):
        model = softhat.compile(text, alphabet="abc")
        every = shared(model, [], LENGTH, "float32")
        for position in (0, LENGTH - 1):
            some = shared(model, [], LENGTH, "float32", [position])
            assert np.array_equal(some[:, position], every[:, position])


def test_little_is_computed_where_little_differs() -> None:
    """After the first layer a position is `a & O b` or not, the first one never."""
    model = softhat.compile("F (a & O b)", alphabet="abc")
    merged = Merged(model.ready("float32"), np.arange(3), *all_words([], 3, 10))
    assert merged.space.words == 2**9
    assert len(merged.margins[0]) < 3**7


def test_what_depends_on_the_length_is_not_settled() -> None:
    """`X` tells odd positions from even ones, counted from the start."""
    for text, attention, settled in (
        ("a S b", "unbounded", True),
        ("a U (b & F a)", "unbounded", True),
        ("a S b", "temperature", False),
        ("n > 2*i", "unbounded", False),
        ("last", "hard", False),
        ("X a", "hard", False),
        ("O a & F b", "unbounded", False),
    ):
        model = softhat.compile(text, alphabet="ab", attention=attention)
        assert is_settled(model.ready("float32"), 7) == settled


def test_directions() -> None:
    ways = {"a S b": 1, "#(a) > 2": 1, "a U b": -1, "X a & F b": -1, "O a & F b": None,
            "#*(a) > 2": None}  # fmt: skip
    for text, way in ways.items():
        assert direction(softhat.compile(text, alphabet="ab").transformer) == way
