"""The dense runtime against the definition: plain matrices, whole attention maps, no blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softhat.logic.random import random_formula
from softhat.models.compiler import compile
from softhat.models.model import Model
from softhat.numbers.positions import floats
from softhat.numerics.formats import FORMATS
from softhat.runtime.dense import Ready
from softhat.transformer.weights import scale


def by_definition(model: Model, tokens: np.ndarray) -> np.ndarray:
    """Margins (n, outputs) of one word in float64."""
    t, n = model.transformer, len(tokens)
    places = scale(t.attention, n)
    codes = [len(t.symbols), *tokens.tolist(), *([len(t.symbols) + 1] if t.has_eos else [])]
    table = floats(t.positions, n, eos=t.has_eos, scale=places)
    x = t.embedding.dense()[codes] + table @ t.position_embedding.dense().T
    index = np.arange(len(codes))
    seen = {
        "<=": index[None, :] <= index[:, None],
        "<": index[None, :] < index[:, None],
        ">": index[None, :] > index[:, None],
        ">=": index[None, :] >= index[:, None],
        "none": np.ones((len(codes), len(codes)), bool),
    }
    for layer in t.layers:
        added = np.zeros_like(x)
        query, key, value = layer.query.dense(), layer.key.dense(), layer.value.dense()
        output = layer.output.dense()
        for h, mask in enumerate(layer.masks):
            beta = float(layer.laws[h].at(n))
            scores = beta * (x @ query[h].T) @ (x @ key[h].T).T
            scores[~seen[mask]] = -np.inf
            some = seen[mask].any(axis=1)  # a row without keys gives 0
            scores[some] -= scores[some].max(axis=1, keepdims=True)
            weights = (scores == 0).astype(float) if t.attention == "hard" else np.exp(scores)
            weights[some] /= weights[some].sum(axis=1, keepdims=True)
            added += weights @ (x @ value[h].T) @ output[h].T
        x = x + added
        hidden = np.maximum(x @ layer.into.dense().T + layer.into_bias, 0)
        x = x + hidden @ layer.out.dense().T + layer.out_bias
    return (x @ t.readout.dense().T + t.readout_bias)[1 : n + 1]


@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
@pytest.mark.parametrize(("words", "n"), [(1, 1), (2, 9), (40, 9), (3, 300), (33, 150)])
def test_every_shape_of_batch(attention: str, words: int, n: int) -> None:
    rng = np.random.default_rng(words * n)
    for _ in range(4):
        model = compile(random_formula(rng, 14, "abc"), alphabet="abc", attention=attention)
        tokens = rng.integers(0, 3, (words, n))
        found = model.run_batch(tokens, "float64")
        for k in rng.choice(words, min(words, 3), replace=False):
            assert np.abs(found[k] - by_definition(model, tokens[k])).max() < 1e-12


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from(sorted(FORMATS)), st.integers(1, 40))
def test_a_batch_is_its_words(seed: int, dtype: str, n: int) -> None:
    """Whatever the way a batch is computed, a word's answer is its own, to a few roundings."""
    rng = np.random.default_rng(seed)
    model = compile(random_formula(rng, 10, "ab"), alphabet="ab")
    tokens = rng.integers(0, 2, (33, n))
    together = model.run_batch(tokens, dtype)
    alone = np.concatenate([model.run_batch(word[None], dtype) for word in tokens])
    assert np.abs(together - alone).max() <= 64 * 2.0 ** -FORMATS[dtype].digits


def test_kept_maps_are_a_softmax() -> None:
    model = compile("(Y a) S (b U c)", alphabet="abc")
    ready = Ready(model.transformer, FORMATS["float64"])
    x = ready.embed(np.random.default_rng(0).integers(0, 3, (1, 70)))
    for layer in ready.layers:
        x, maps = ready.step(layer, x, keep=True)
        assert maps is not None
        weights = np.exp(maps.scores - maps.scores.max(axis=2, keepdims=True))
        expected = weights / weights.sum(axis=2, keepdims=True)
        assert np.abs(maps.attention - expected).max() < 1e-15


def test_the_residual_is_not_changed_in_place() -> None:
    model = compile("Y (a S b)", alphabet="ab")
    ready = Ready(model.transformer, FORMATS["float32"])
    x = ready.embed(np.array([[0, 1, 0]]))
    before = x.copy()
    ready.step(ready.layers[0], x, keep=False)
    assert np.array_equal(x, before)
