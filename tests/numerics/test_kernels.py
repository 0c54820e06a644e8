"""Sums over keys in float32, in random orders and in blocks, against what kernels may be off."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from softhat.numerics.kernels import DENSE, EAGER, PYTORCH, SDPA, Kernel

U = 2.0**-24


def summed(terms: np.ndarray, block: int | None, rng: np.random.Generator) -> np.float32:
    """By a random tree, or block by block."""
    if block is not None:
        parts = [summed(terms[k : k + block], None, rng) for k in range(0, len(terms), block)]
        total = np.float32(0)
        for part in parts:
            total = np.float32(total + part)
        return total
    parts = list(terms)
    while len(parts) > 1:
        a, b = (parts.pop(int(rng.integers(len(parts)))) for _ in range(2))
        parts.append(np.float32(a + b))
    return np.float32(parts[0])


def exact(terms: np.ndarray) -> Fraction:
    return sum((Fraction(float(x)) for x in terms), Fraction(0))


@pytest.mark.parametrize("kernel", [SDPA, EAGER])
def test_sums_are_off_by_at_most_their_roundings(kernel: Kernel) -> None:
    rng = np.random.default_rng(1)
    for keys in (3, 40, 600, 1100):
        terms = rng.normal(size=keys).astype(np.float32)
        off = abs(Fraction(float(summed(terms, kernel.block, rng))) - exact(terms))
        assert off <= Fraction(kernel.roundings(keys) * U) * exact(np.abs(terms))
    assert SDPA.roundings(10_000) < EAGER.roundings(10_000) == 10_000
    assert SDPA.roundings(40) == 40


@pytest.mark.parametrize("kernel", [SDPA, EAGER])
@pytest.mark.parametrize("gap", [3.0, 12.0, 17.5, 20.0, 40.0])
def test_losers_that_vanish_cost_no_more_than_their_weight(kernel: Kernel, gap: float) -> None:
    """The worst: all losers say the opposite, and each is lost, or none."""
    rng = np.random.default_rng(2)
    for keys in (5, 200, 900):
        for place in (0, keys // 2, keys - 1):
            weights = np.exp(-gap * rng.uniform(1, 1.2, size=keys)).astype(np.float32)
            weights[place] = 1
            leak = float(exact(weights)) - 1
            values = np.where(np.arange(keys) == place, 1, -1).astype(np.float32)
            above = summed(weights * values, kernel.block, rng)
            below = summed(weights, kernel.block, rng)
            real = exact(weights * values) / exact(weights)
            off = abs(Fraction(float(np.float32(above / below))) - real)
            assert off <= Fraction(kernel.lookup_roundings(keys, leak, U) * U)
    assert kernel.lookup_roundings(10**5, 0.0, U) == 4


def test_roundings_of_a_weight() -> None:
    assert DENSE.between == DENSE.divisions == 1
    # A unit in the last place is two roundings.
    assert PYTORCH.exp_units >= 2 * (20 + 20) + 4 + DENSE.exp_units
    assert PYTORCH.between == PYTORCH.divisions + PYTORCH.exp_units - DENSE.exp_units
