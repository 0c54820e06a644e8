"""What a head says at the sink at its far end must not be read, and if it may be, it is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import softhat
from softhat.logic.random import random_formula
from softhat.numerics.formats import FORMATS
from softhat.runtime.linear.runtime import LinearModel
from softhat.transformer.rows import UnknownShapeError
from softhat.transformer.weights import Sparse, Transformer


def test_compiled_models_shut_their_gates() -> None:
    rng = np.random.default_rng(0)
    for k in range(60):
        fragment = ("all", "two-way", "counting")[k % 3]
        formula = random_formula(rng, int(rng.integers(1, 25)), "abc", fragment)
        attention = ("unbounded", "temperature")[k % 2]
        model = softhat.compile(formula, alphabet="abc", attention=attention)
        LinearModel(model.transformer, FORMATS["float32"])


def opened(t: Transformer) -> Transformer:
    """The first layer's gates without the literals that shut them at the sinks."""
    sinks = t.embedding.dense()[len(t.symbols) :]
    flags = [c for c in range(t.d_model) if sinks[:, c].any()]
    ordinary = [k for k, feature in enumerate(t.positions) if feature == ("ordinary", False)]
    where = t.position_embedding.where
    flags += [int(c) for c, f in zip(*where, strict=True) if f in ordinary]
    layer = t.layers[0]
    into = layer.into.dense()
    before = into.copy()
    into[:, flags] = 0
    assert not np.array_equal(into, before)
    bias = layer.into_bias + (before - into).clip(0).sum(axis=1)  # as if every flag were 1
    changed = replace(layer, into=Sparse.from_dense(into), into_bias=bias)
    return replace(t, layers=(changed, *t.layers[1:]))


def test_an_open_gate_is_refused() -> None:
    """`X (Y a)`: `Y a` is true at `<eos>` if the gate does not say otherwise, and `X` reads it."""
    t = softhat.compile("X (b & Y a)", alphabet="ab").transformer
    with pytest.raises(UnknownShapeError, match="reads what another one says at a sink"):
        LinearModel(opened(t), FORMATS["float32"])


def test_what_looks_one_way_is_not_asked() -> None:
    t = softhat.compile("Y (b & Y a)", alphabet="ab").transformer
    LinearModel(opened(t), FORMATS["float32"])
