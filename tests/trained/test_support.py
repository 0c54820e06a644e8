"""Bounds of weighted means against all words."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softhat.trained.specification import read_specification
from softhat.trained.support import QueryRows, best_word, machine_of, supports
from tests.trained import tiny


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_the_largest_means(seed: int) -> None:
    random = np.random.default_rng(seed)
    spec = read_specification(tiny.AB)
    read, directions = 7, 5
    weights = np.exp(random.normal(size=(3, read + 1)) * 2)
    values = random.normal(size=(directions, 3, read + 1))
    machine = machine_of(spec.step, spec.start, read)
    for last, goal in ((0, 1), (1, 0)):
        before = np.zeros((1, machine.states), bool)
        before[0, machine.place[spec.step[:, last] == goal]] = True
        rows = QueryRows(np.array([read]), np.array([last]), before)
        bounds = supports(weights[None], values[None], machine, rows)[0]
        best = np.full(directions, -np.inf)
        for word in product(range(2), repeat=read):
            states = spec.run(word)
            if len(states) <= read or word[-1] != last or states[-1] != goal:
                continue
            tokens = np.array([0, *(k + 1 for k in word)])
            heavy = weights[tokens, np.arange(read + 1)]
            means = (values[:, tokens, np.arange(read + 1)] * heavy).sum(1) / heavy.sum()
            best = np.maximum(best, means)
        assert (bounds >= best).all()
        assert np.allclose(bounds, best, atol=1e-5)
        word_found = best_word(
            weights, values[0], machine, read, last, np.flatnonzero(before[0]).tolist()
        )
        assert word_found is not None
        tokens = np.array([0, *(k + 1 for k in word_found)])
        heavy = weights[tokens, np.arange(read + 1)]
        assert np.isclose(values[0, tokens, np.arange(read + 1)] @ heavy / heavy.sum(), best[0])
