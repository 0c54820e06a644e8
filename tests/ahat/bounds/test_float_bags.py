"""Errors over all bags against the runtime on words of each, in four formats."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest

from softhat.ahat.bounds.bags import all_bags, bags_of
from softhat.ahat.bounds.float_bags import bags_error
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.short_floats import bag_error
from softhat.ahat.simulation.simulation import Simulation
from softhat.numerics.formats import FORMATS
from tests.ahat.bounds.test_bags import gaps, random_bags
from tests.ahat.running import known
from tests.ahat.simulation.test_finite_floats import awkward
from tests.slices import sizes


def worst(
    model: AHAT, n: int, betas: dict[tuple[int, int], float], rng: random.Random
) -> dict[str, float]:
    """The greatest error on words of every bag, in some order, for each format."""
    counts = all_bags(len(model.alphabet), n)
    counts = counts[rng.sample(range(len(counts)), min(len(counts), 150))]
    words = [np.repeat(np.arange(len(bag)), bag).tolist() for bag in counts]
    codes = np.array([rng.sample(w, n) for w in words + words])
    trace = run(model, codes)
    exact = trace.output.floats()[:, trace.own]
    result = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in FORMATS:
            found = Simulation(model, betas, n).run_batch(codes, name)[..., 0]
            result[name] = float(np.abs(found.astype(np.float64) - exact).max())
    return result


def check(seed: int, models: int) -> tuple[int, int]:
    rng = random.Random(seed)
    tried = closed = 0
    for k in range(models):
        model = random_bags(rng)
        if rng.random() < 0.4:
            model = awkward(rng, model)
        made = bags_of(model)
        if made is None:
            continue
        n = rng.choice([2, 3, 5, 8, 12])
        betas = {name: rng.choice([1.0, 9.75, 63.0, 208.0, 1408.0]) for name in model.heads}
        found = worst(model, n, betas, rng)
        for name, form in FORMATS.items():
            all_of_them = bags_error(made, n, betas, gaps(model, n), form, tied=False)
            in_two_parts = bag_error(model, n, betas, form, math.inf, known(model))
            for claim in (all_of_them, in_two_parts):
                assert claim == math.inf or found[name] <= claim, (seed, k, name, n)
            tried += 1
            closed += all_of_them < 1
    return tried, closed


@pytest.mark.parametrize("count", sizes(5, 8))
def test_random_models(count: int) -> None:
    tried, closed = check(1, count)
    assert tried > 5 * count // 2 and closed > count // 2


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20, 36))
def test_random_models_at_full_size(seed: int) -> None:
    assert check(seed, 80)[0] > 200


def test_sort() -> None:
    """Where scores of different letters tie, and where they do not."""
    model, rng = GALLERY["sort"](), random.Random(2)
    for n in (8, 12):
        betas = dict.fromkeys(model.heads, 28.0 * n)
        for name, error in worst(model, n, betas, rng).items():
            assert error <= bag_error(model, n, betas, FORMATS[name], math.inf, known(model))
        assert bag_error(model, n, betas, FORMATS["float32"], math.inf, known(model)) < 1e-3
