"""A tree of words says of each what it says when it is run whole, to the last bit."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.logic.random import random_formula
from softhat.numerics.formats import FORMATS
from softhat.runtime import tree as tree_module
from softhat.runtime.tree import Tree, direction, is_settled

AHEAD = ["a U b", "X a", "F (a & X (b U a))", "#>(a) > 2", "#>(a) - 2*#>(b) >= 1", "G (a -> X b)"]
K, ROOTS = 2, 9
"""With fewer than 512 roots small matrices are multiplied by BLAS, which may round otherwise."""


def letters(symbols: int, n: int) -> Any:
    return np.array(list(product(range(symbols), repeat=n)))


def whole(model: Any, tokens: Any, dtype: str) -> Any:
    """The margins by rows of whole words, as the dense runtime computes them."""
    ready = model.ready(dtype)
    x = ready.embed(tokens)
    for layer in ready.layers:
        x, _ = ready.step(layer, x, keep=False)
    return ready.margins(x)


def compare(model: Any, dtype: str, n: int) -> None:
    """Every node of every level, and the roots' rows, against whole words of length n."""
    ready, way = model.ready(dtype), direction(model.transformer)
    roots = letters(K, ROOTS)
    tree = Tree(ready, np.arange(K), roots, n)
    full = whole(model, letters(K, n), dtype)
    words = roots
    first = tree.own_roots().reshape(-1, ROOTS, len(roots))
    margins = ready.read_out(first[:, -1 if tree.way > 0 else 0])
    assert_same(margins, words, full, n, way)
    for length in range(ROOTS + 1, n + 1):
        place = words.shape[1] if tree.way > 0 else 0
        words = np.concatenate([np.insert(words, place, s, axis=1) for s in range(K)])
        margins = np.empty((len(model.transformer.outputs), len(words)), ready.form.accumulate)
        for places, stream in tree.grow(range(K), hold=length < n):
            margins[:, places] = ready.read_out(stream)
        assert_same(margins, words, full, n, way)


def assert_same(margins: Any, words: Any, full: Any, n: int, way: int | None) -> None:
    missing = np.zeros((len(words), n - words.shape[1]), np.int64)
    longer = np.concatenate([words, missing] if way == 1 else [missing, words], axis=1)
    position = words.shape[1] - 1 if way == 1 else n - words.shape[1]
    number = longer @ (K ** np.arange(n)[::-1])
    assert np.array_equal(margins, full[number, position].T, equal_nan=True)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
def test_the_same_to_the_last_bit(
    attention: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_module, "NUMBERS", 1 << 14)  # several stretches a level
    rng = np.random.default_rng([len(attention), list(FORMATS).index(dtype)])
    formulas = [random_formula(rng, 8, "ab", "decoder") for _ in range(2)]
    for formula in (*formulas, AHEAD[int(rng.integers(len(AHEAD)))]):
        compare(softhat.compile(formula, alphabet="ab", attention=attention), dtype, 11)


@pytest.mark.full
@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
def test_the_same_to_the_last_bit_in_full(attention: Any) -> None:
    rng = np.random.default_rng(7)
    formulas = [random_formula(rng, int(rng.integers(1, 16)), "ab", "decoder") for _ in range(40)]
    for formula in (*formulas, *AHEAD):
        for dtype in FORMATS:
            compare(softhat.compile(formula, alphabet="ab", attention=attention), dtype, 12)


def test_a_tree_grows_from_one_length_to_the_next() -> None:
    for text in ("a S (b & Y a)", "a U (b & F a)", "#(a) > #(b)"):
        model = softhat.compile(text, alphabet="ab")
        ready = model.ready("float32")
        grown = Tree(ready, np.arange(2), letters(2, 9), 10)
        list(grown.grow(range(2)))
        assert is_settled(ready, 11)
        grown.lengthen(np.arange(2), 11)
        fresh = Tree(ready, np.arange(2), letters(2, 9), 11)
        list(fresh.grow(range(2)))
        for (_, x), (_, y) in zip(grown.grow(range(2)), fresh.grow(range(2)), strict=True):
            assert np.array_equal(x, y)


def test_what_depends_on_the_length_is_not_settled() -> None:
    """`X` tells odd positions from even ones, counted from the start."""
    for text, attention in (
        ("a S b", "temperature"),
        ("n > 2*i", "unbounded"),
        ("last", "hard"),
        ("X a", "hard"),
    ):
        model = softhat.compile(text, alphabet="ab", attention=attention)
        assert not is_settled(model.ready("float32"), 7)


def test_directions() -> None:
    ways = {"a S b": 1, "#(a) > 2": 1, "a U b": -1, "X a & F b": -1, "O a & F b": None,
            "#*(a) > 2": None}  # fmt: skip
    for text, way in ways.items():
        assert direction(softhat.compile(text, alphabet="ab").transformer) == way
