"""Words run by their common beginnings give what each gives when it is run whole."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.logic.random import random_formula
from softhat.numerics.formats import FORMATS
from softhat.runtime import prefixes
from softhat.runtime.prefixes import shared_margins


def all_words(symbols: int, n: int) -> Any:
    return np.array(list(product(range(symbols), repeat=n)))


def whole(model: Any, tokens: Any, dtype: str) -> Any:
    """The margins by rows of whole words, as the dense runtime computes them."""
    ready = model.ready(dtype)
    x = ready.embed(tokens)
    for layer in ready.layers:
        x, _ = ready.step(layer, x, keep=False)
    return ready.margins(x)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
def test_the_same_to_the_last_bit(attention: Any, dtype: str) -> None:
    rng = np.random.default_rng([len(attention), list(FORMATS).index(dtype)])
    for _ in range(4):
        formula = random_formula(rng, 8, "ab", "decoder")
        model = softhat.compile(formula, alphabet="ab", attention=attention)
        tokens = all_words(2, 8)
        margins = shared_margins(model.ready(dtype), tokens)
        assert margins is not None
        assert np.array_equal(margins, whole(model, tokens, dtype)), formula


def test_sets_of_propositions() -> None:
    model = softhat.compile("p S (q & Y p)", propositions=["p", "q"])
    letters = np.array(list(product((False, True), repeat=2)))
    tokens = letters[all_words(4, 5)]
    margins = shared_margins(model.ready("float32"), tokens)
    assert margins is not None and np.array_equal(margins, whole(model, tokens, "float32"))


@pytest.mark.parametrize("name", ["most-recent-occurrence", "no-two-b", "dyck-argmin"])
def test_masks_of_simulations(name: str) -> None:
    """`<` sees nothing at the start; leftmost and rightmost heads have laws of their own."""
    model = softhat.simulate(GALLERY[name](), epsilon=1e-2)
    tokens = all_words(2, 8)
    margins = shared_margins(model.ready("float64"), tokens)
    assert margins is not None and np.array_equal(margins, whole(model, tokens, "float64"))


def test_words_that_look_ahead_or_share_nothing_are_run_whole() -> None:
    tokens = all_words(2, 8)
    assert shared_margins(softhat.compile("a U b", alphabet="ab").ready("float32"), tokens) is None
    model = softhat.compile("a S b", alphabet="ab")
    mixed = np.random.default_rng(1).permutation(tokens)
    assert shared_margins(model.ready("float32"), mixed) is None
    assert shared_margins(model.ready("float32"), tokens[: prefixes.FEWEST - 1]) is None


def test_an_overflow_is_not_a_number_there_too() -> None:
    model = softhat.compile("#(a) > #(b)", alphabet="ab")
    tokens = all_words(2, 9)
    assert np.array_equal(
        model.run_batch(tokens, "float16"), whole(model, tokens, "float16"), equal_nan=True
    )
