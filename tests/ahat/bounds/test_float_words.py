"""Every value that the runtime computes lies where the noisy run says, in four formats.

Models have awkward weights, ties, all masks and sinks, and β from warm to very cold; the order of
coordinates, in which the runtime sums, is shuffled.
"""

from __future__ import annotations

import random
import warnings
from dataclasses import replace

import numpy as np
import pytest

from softhat.ahat.bounds.float_words import float_values
from softhat.ahat.bounds.weights import weights
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT, Head, Layer, Matrix, Vector
from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.simulation.unique import tie_broken
from softhat.ahat.words import all_words
from softhat.numerics.formats import FORMATS
from tests.ahat.simulation.test_finite_floats import (
    MAKERS,
    awkward,
    positional,
    uniform_with_large_scores,
)
from tests.slices import sizes

BETAS = (0.125, 1.0, 2.0, 7.5, 9.75, 40.0, 63.0, 208.0, 1408.0)


def shuffled(rng: random.Random, model: AHAT) -> AHAT:
    """The same model with its coordinates in another order."""
    order = rng.sample(range(model.d_model), model.d_model)

    def across(row: Vector) -> Vector:
        return tuple(row[c] for c in order)

    def columns(matrix: Matrix) -> Matrix:
        return tuple(map(across, matrix))

    def head(h: Head) -> Head:
        return replace(
            h,
            query=columns(h.query),
            key=columns(h.key),
            value=columns(h.value),
            output=tuple(h.output[c] for c in order),
        )

    layers = []
    for layer in model.layers:
        forward = layer.feed_forward
        if forward is not None:
            forward = replace(
                forward,
                in_weights=columns(forward.in_weights),
                out_weights=tuple(forward.out_weights[c] for c in order),
                out_bias=across(forward.out_bias),
            )
        layers.append(Layer(tuple(map(head, layer.heads)), forward))
    return replace(
        model,
        embedding=columns(model.embedding),
        bos_embedding=None if model.bos_embedding is None else across(model.bos_embedding),
        eos_embedding=None if model.eos_embedding is None else across(model.eos_embedding),
        position_embedding=tuple(model.position_embedding[c] for c in order),
        layers=tuple(layers),
        output_weights=across(model.output_weights),
        names=(),
    )


def check(seed: int, models: int) -> tuple[int, float]:
    """How many values were looked at, and how close they came to what is claimed."""
    rng = random.Random(seed)
    tried, closest = 0, 0.0
    for k in range(models):
        if k % 10 == 1:
            model = uniform_with_large_scores(rng)
        else:
            model = positional(rng) if k % 3 == 0 else MAKERS[k % len(MAKERS)](rng)
        if rng.random() < 0.6:
            model = awkward(rng, model)
        n = rng.randint(1, 5)
        model = shuffled(rng, tie_broken(model, n))
        betas = {name: rng.choice(BETAS) for name in model.heads}
        codes = np.concatenate(list(all_words(len(model.alphabet), n)))
        codes = codes[rng.sample(range(len(codes)), min(len(codes), 200))]
        for name, form in FORMATS.items():
            claimed = float_values(weights(model), codes, betas, form)
            if claimed is None:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = Simulation(model, betas, n).run_batch(codes, name)[..., 0]
            off = np.abs(found.astype(np.float64) - claimed.centre)
            assert (off <= claimed.radius).all(), (seed, k, name)
            tried += off.size
            noisy = claimed.radius > 0
            closest = max(closest, float((off[noisy] / claimed.radius[noisy]).max(initial=0)))
    return tried, closest


@pytest.mark.parametrize("count", sizes(12, 25))
def test_random_models(count: int) -> None:
    tried, closest = check(100, count)
    assert tried > 80 * count
    assert closest > 0.99  # a bound that is met


@pytest.mark.full
@pytest.mark.parametrize("seed", range(200, 220))
def test_random_models_at_full_size(seed: int) -> None:
    assert check(seed, 150)[0] > 15_000


@pytest.mark.parametrize("name", ["dyck-argmin", "sort", "induction-average", "parity"])
def test_gallery(name: str) -> None:
    """… and close to the runtime's own deviation: what is claimed is no more than 1e-4 wide."""
    model = tie_broken(GALLERY[name](), 5)
    rng = random.Random(3)
    codes = np.concatenate(list(all_words(len(model.alphabet), 5)))
    codes = codes[rng.sample(range(len(codes)), min(len(codes), 150))]
    betas = dict.fromkeys(model.heads, 63.0)
    claimed = float_values(weights(model), codes, betas, FORMATS["float32"])
    assert claimed is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Simulation(model, betas, 5).run_batch(codes, "float32")[..., 0]
    assert (np.abs(found - claimed.centre) <= claimed.radius).all()
    assert claimed.radius.max() < 1e-4
