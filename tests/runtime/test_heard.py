"""Words of several lengths that run together say what each says among words of its own length."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.logic.random import random_formula
from softhat.numerics.formats import FORMATS
from softhat.runtime.heard import listen

FIXED = (
    "#(a) > #>(b) + #*(c)", "3*#(a) - 5*#>(b) >= 1", "a S (b & F c)", "F (a & X (b U c))",
    "mod(2, 1) S a & X last", "(a U b) S (Y c U (a S b))", "a & n > 2*i", "7*#*(a) = 3*#(b)",
)  # fmt: skip
LENGTHS = (3, 1, 5, 4, 2)


def of_one_length(model: Any, tokens: Any, dtype: str) -> tuple[Any, list[Any]]:
    """The margins, and for each layer with heads (heads, n, d_v, words) what its heads read."""
    ready = model.ready(dtype)
    own = model.transformer.own(tokens.shape[1])
    x = ready.embed(tokens)
    reads = []
    for layer in ready.layers:
        every = [ready.step(layer, x[k : k + 1], keep=True)[1].outputs for k in range(len(x))]
        reads.append(np.stack(every, axis=-1)[:, own])
        x, _ = ready.step(layer, x, keep=False)
    return ready.margins(x), reads


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
def test_the_same_margins_to_the_last_bit(attention: Any, dtype: str) -> None:
    rng = np.random.default_rng([len(attention), list(FORMATS).index(dtype)])
    formulas = [random_formula(rng, 8, "abc", kind) for kind in ("decoder", "two-way", "two-way")]
    for formula in (*formulas, *rng.choice(FIXED, 3)):
        model = softhat.compile(formula, alphabet="abc", attention=attention)
        groups = [np.array(list(product(range(3), repeat=n))) for n in LENGTHS]
        groups[2] = groups[2][rng.permutation(3**5)[:40]]
        heard = listen(model.ready(dtype), groups)
        for k, tokens in enumerate(groups):
            expected, _ = of_one_length(model, tokens, dtype)
            assert np.array_equal(heard.margins(k), expected, equal_nan=True)
            alone = listen(model.ready(dtype), [tokens])
            assert np.array_equal(alone.margins(0), expected, equal_nan=True)
            part = slice(heard.starts[k], heard.starts[k] + len(tokens))
            assert (heard.lengths[part] == tokens.shape[1]).all()
            for together, by_length in zip(heard.reads, alone.reads, strict=True):
                same = together[:, :, : tokens.shape[1], part]
                assert np.array_equal(same, by_length, equal_nan=True)


def test_what_heads_read() -> None:
    """Word by word, as the dense runtime's maps have it; nothing where a word has no position."""
    for text in FIXED:
        model = softhat.compile(text, alphabet="abc")
        groups = [np.array(list(product(range(3), repeat=n))) for n in (1, 3, 2)]
        heard = listen(model.ready("float64"), groups)
        for k, tokens in enumerate(groups):
            n = tokens.shape[1]
            part = slice(heard.starts[k], heard.starts[k] + len(tokens))
            for read, expected in zip(
                heard.reads, of_one_length(model, tokens, "float64")[1], strict=True
            ):
                if len(read):
                    off = read[:, :, :n, part].transpose(0, 2, 1, 3) - expected
                    assert np.abs(off).max() < 1e-12
                assert not read[:, :, n:, part].any()
            assert not heard.answers[:, n:, part].any()


def test_sets_of_propositions() -> None:
    model = softhat.compile({"x": "p S q", "y": "F (p & Y q)"}, propositions=["p", "q"])
    table = np.array(list(product((False, True), repeat=2)))
    groups = [table[np.array(list(product(range(4), repeat=n)))] for n in (2, 3)]
    heard = listen(model.ready("float32"), groups)
    for k, tokens in enumerate(groups):
        expected, _ = of_one_length(model, tokens, "float32")
        assert heard.margins(k).shape == (*tokens.shape[:2], 2)
        assert np.array_equal(heard.margins(k), expected)
