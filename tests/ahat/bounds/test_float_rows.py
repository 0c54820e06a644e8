"""Theorem 31 under attack: sums in every order, near the edge of what leaks."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from softhat.numerics.rounding import gamma

STORAGE = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}


def summed(numbers: list[np.float32], rng: random.Random) -> np.float32:
    """In a random order, two at a time."""
    left = list(numbers)
    one_by_one = rng.random() < 0.5
    while len(left) > 1:
        a = left.pop(0 if one_by_one else rng.randrange(len(left)))
        b = left.pop(0 if one_by_one else rng.randrange(len(left)))
        left.insert(0, np.float32(a + b))
    return left[0]


def result(weights: list[float], values: list[Any], rng: random.Random, dtype: str) -> Fraction:
    """Σ w·v / Σ w as the runtime takes it."""
    order = list(range(len(weights)))
    rng.shuffle(order)
    w = [np.float32(weights[k]) for k in order]
    v = [np.float32(values[k]) for k in order]
    total = summed([np.float32(a * b) for a, b in zip(w, v, strict=True)], rng)
    mean = np.float32(total / summed(w, rng))
    return Fraction(float(mean.astype(STORAGE[dtype])))


@pytest.mark.parametrize("dtype", STORAGE)
def test_a_single_maximum_is_copied(dtype: str) -> None:
    rng = random.Random(1)
    for _ in range(400):
        keys = rng.randint(2, 40)
        size = 2.0 ** rng.randint(-40, -1)
        others = [size * rng.choice([1, rng.random(), 2.0**-20]) for _ in range(keys - 1)]
        values = [float(STORAGE[dtype](rng.choice([0, 1, -1, rng.uniform(-3, 3)])))
                  for _ in range(keys)]  # fmt: skip
        leak = sum(Fraction(float(np.float32(w))) for w in others)
        if leak >= Fraction(1, 2):
            continue
        found = result([1.0, *others], values, rng, dtype)
        most = max(map(abs, values))
        bound = 16 * (1 + gamma(keys + 4, 2.0**-24)) * float(leak) * most
        assert abs(found - Fraction(values[0])) <= bound


def test_what_leaks_vanishes_in_sums_on_a_grid() -> None:
    """Several maximal keys with values -1, 0, 1: the mean is a quotient of integers, rounded."""
    rng = random.Random(2)
    u = 2.0**-24
    for _ in range(400):
        winners = [rng.choice([-1, 0, 1]) for _ in range(rng.randint(2, 30))]
        others = [u / 4.5 / 20 * rng.random() for _ in range(20)]
        losers = [rng.uniform(-1, 1) for _ in others]
        found = result([1.0] * len(winners) + others, [*winners, *losers], rng, "float32")
        total = sum(winners)
        if total:
            assert found == Fraction(float(np.float32(total) / np.float32(len(winners))))
        else:
            assert abs(found) <= u / 4
