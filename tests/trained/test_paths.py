"""Largest means along paths, against all paths with weights and values drawn from their ranges."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softhat.trained.paths import Nodes, largest_means
from softhat.trained.support import machine_of


@pytest.mark.parametrize("seed", range(6))
def test_no_path_is_above(seed: int) -> None:
    random = np.random.default_rng(seed)
    step = np.array([[1, 2], [1, 2], [1, -1]])  # after b comes a
    machine = machine_of(step, 0, 5)
    positions, states, pieces, directions, queries = 5, 3, 1 + seed % 2, 3, 2
    shape = (queries, positions, states, pieces)
    scores = random.normal(size=shape) * (seed + 1)
    width = np.abs(random.normal(size=shape)) * 0.5
    there = np.zeros((positions, states), bool)
    there[0, 0] = True
    there[1:, 1:] = True
    exists = there[None, :, :, None] & np.ones(shape, bool)
    low = np.where(exists, np.exp(scores - width), 0.0)
    high = np.where(exists, np.exp(scores + width), -1.0)
    values = random.normal(size=(positions, states, pieces, directions))
    own_scores = random.normal(size=queries)
    own_values = random.normal(size=(queries, directions))
    before = np.array([[False, True, True], [False, True, False]])
    nodes = Nodes(
        low, high, values, np.exp(own_scores - 0.1), np.exp(own_scores + 0.1), own_values, before
    )
    bounds = largest_means(nodes, machine)
    place = machine.place
    best = np.full((queries, directions), -np.inf)
    for word in product(range(2), repeat=positions - 1):
        path = [0]
        for symbol in word:
            path.append(int(step[path[-1], symbol]) if path[-1] >= 0 else -1)
        if min(path) < 0:
            continue
        nodes_of = [int(place[state]) for state in path]
        for query in range(queries):
            if not before[query, nodes_of[-1]]:
                continue
            for chosen in product(range(pieces), repeat=positions):
                for corner in product((low, high), repeat=positions):
                    heavy = [corner[j][query, j, nodes_of[j], chosen[j]] for j in range(positions)]
                    given = [values[j, nodes_of[j], chosen[j]] for j in range(positions)]
                    for own in (nodes.own_low[query], nodes.own_high[query]):
                        weights = np.array([*heavy, own])
                        mean = weights @ np.array([*given, own_values[query]]) / weights.sum()
                        assert (mean <= bounds[query]).all()
                        best[query] = np.maximum(best[query], mean)
    assert (bounds - best < 1e-4).all()
