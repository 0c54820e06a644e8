"""The largest weighted mean against all corners of the weights: never below, hardly above."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from softhat.ahat.bounds.means import largest_mean, largest_means, weights

Floats = npt.NDArray[np.float64]


def corners(low: Floats, high: Floats, z: Floats) -> float:
    """The greatest Σwz/Σw, but for rounding: attained where every weight is one of its ends."""
    return -1e-14 * float(np.abs(z).max()) + max(
        float(np.dot(w, z) / np.sum(w))
        for w in map(np.array, itertools.product(*zip(low, high, strict=True)))
    )


def test_rows_of_one_option_each() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        size = int(rng.integers(1, 7))
        low = np.exp(rng.uniform(-6, 0, size))
        high = low * np.exp(rng.uniform(0, 2, size) * rng.integers(0, 2))
        z = rng.normal(size=size) * 10.0 ** rng.uniform(-6, 3)
        truth = corners(low, high, z)
        shown = np.ones((1, size), dtype=bool)
        found = float(largest_mean(low[None], high[None], z[None, :, None], shown)[0, 0])
        positions = np.arange(size)
        flat = largest_means(
            low, high, z[None], positions, np.array([0]), np.zeros(size, dtype=bool)
        )
        for bound in (found, float(flat[0, 0])):
            assert truth <= bound <= truth + 1e-7 * abs(truth) + 1e-12 * float(np.abs(z).max())


def test_each_position_takes_its_worst_option_and_spare_ones_may_stay_out() -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        sizes = rng.integers(1, 4, size=int(rng.integers(1, 4)))
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        low = np.exp(rng.uniform(-3, 0, sizes.sum()))
        high = low * np.exp(rng.uniform(0, 1, sizes.sum()))
        z = rng.normal(size=sizes.sum())
        spare = rng.random(len(sizes)) < 0.4
        spare[0] = False  # some weight is certain
        choices = [
            [*range(start, start + size), *([None] if out else [])]
            for start, size, out in zip(starts, sizes, spare, strict=True)
        ]
        truth = max(
            corners(low[taken], high[taken], z[taken])
            for choice in itertools.product(*choices)
            for taken in [[c for c in choice if c is not None]]
        )
        found = float(largest_means(low, high, z[None], starts, np.array([0]), spare)[0, 0])
        assert truth <= found <= truth + 1e-7 * abs(truth) + 1e-12


def test_many_rows_are_bounded_as_if_alone() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 5, size=30)  # positions of one option each, in 30 rows
    rows = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    count = int(sizes.sum())
    low = np.exp(rng.uniform(-4, 0, count))
    z = rng.normal(size=(2, count))
    none = np.zeros(count, dtype=bool)
    together = largest_means(low, 2 * low, z, np.arange(count), rows, none)
    for k, (start, size) in enumerate(zip(rows, sizes, strict=True)):
        part = slice(start, start + size)
        alone = largest_means(
            low[part], 2 * low[part], z[:, part], np.arange(size), np.array([0]), none[part]
        )
        assert together[:, k] == pytest.approx(alone[:, 0], rel=1e-8)


def test_weights_are_widened_but_for_the_reference() -> None:
    low, high = weights(np.array([0.0, -1.0, 700.0]), np.array([0.0, -1.0, 700.0]))
    assert low[0] == high[0] == 1.0
    assert low[1] < np.exp(-1.0) < high[1]
    assert high[2] == np.inf
