"""Format version 1 multiplied β into the queries: the same scores."""

from __future__ import annotations

import random

import numpy as np

from softhat.ahat.simulation.version_1 import folded, read_betas
from softhat.numerics.exact import floats
from tests.ahat.models import random_model


def test_beta_is_in_the_queries() -> None:
    rng = np.random.default_rng(1)
    for seed in range(8):
        model = random_model(random.Random(seed))
        betas = {name: float(b) for name, b in zip(model.heads, (2.0, 0.5, 8.0) * 9, strict=False)}
        weights = folded(model, betas)
        x = rng.normal(size=(5, model.d_model))
        for l, layer in enumerate(model.layers):
            for h, head in enumerate(layer.heads):
                query, key = (weights[f"layers.{l}.heads.{h}.{side}"] for side in ("query", "key"))
                q, k = (floats(m, model.d_model) for m in (head.query, head.key))
                wanted = betas[l, h] * (x @ q.T) @ (x @ k.T).T
                assert np.allclose((x @ query.T) @ (x @ key.T).T, wanted)
            assert (f"layers.{l}.feed_forward.in" in weights) == (layer.feed_forward is not None)
        assert ("bos_embedding" in weights) == model.bos


def test_betas_are_read() -> None:
    config = {"betas": [{"layer": 0, "head": 1, "beta": 2.5}, {"layer": "1", "head": 0, "beta": 3}]}
    assert read_betas(config) == {(0, 1): 2.5, (1, 0): 3.0}
