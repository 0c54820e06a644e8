"""Rotated scores, computed step by step in each format, against their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from softhat.proof.stock.kind import Pair
from softhat.proof.stock.rotary import RotaryScores, StoredRows
from softhat.proof.stock.storage import STORAGES

CONTEXT, HALF = 512, 4
Array = NDArray[np.float64]


def rotated(rows: Array, angles: Array, storage: np.dtype[np.generic]) -> NDArray[np.float32]:
    """As transformers does it: sines in float32 and then stored, products and sums stored."""

    def held(x: NDArray[np.generic]) -> NDArray[np.float32]:
        return x.astype(np.float32).astype(storage).astype(np.float32)

    turned = angles.astype(np.float32)
    cos, sin = held(np.cos(turned)), held(np.sin(turned))
    first, second = held(rows[:HALF]), held(rows[HALF:])
    return np.concatenate(
        [
            held(held(first * cos) - held(second * sin)),
            held(held(second * cos) + held(first * sin)),
        ]
    )


@pytest.mark.parametrize("storage", STORAGES[:3], ids=lambda storage: storage.name)
@pytest.mark.parametrize("share", [0.0, 1e-4, 0.02, 0.2])
@pytest.mark.parametrize("fused", [True, False])
def test_errors_of_scores(storage: object, share: float, fused: bool) -> None:
    """Rows that are off by `share` of their size, even a fifth, are turned, multiplied and added up
    within the bound: products of errors are counted, however large they are."""
    form = next(s for s in STORAGES if s is storage)
    rng = np.random.default_rng(8)
    worst = 0.0
    for trial in range(300):
        frequencies = 2.0 ** rng.uniform(-9, 0, HALF)
        plain = [rng.uniform(-1, 1, 2 * HALF) * 2.0 ** rng.integers(0, 4) for _ in range(2)]
        off = [share * np.abs(row) for row in plain]
        signs = [rng.choice([-1, 1], 2 * HALF) for _ in range(2)]
        i, j = sorted(rng.integers(0, CONTEXT, 2))[::-1]
        if trial % 3 == 0:  # nothing turns, and all errors go the same way
            plain[1], i = plain[0], j
            signs = [np.sign(row) for row in plain]
            off = [share * np.abs(row) for row in plain]
        moved = [row + sign * by for row, sign, by in zip(plain, signs, off, strict=True)]
        # What is stored is rounded, too: that is part of how far it is off.
        stored = [np.abs(row) * form.unit for row in moved]
        query, key = (
            StoredRows(np.abs(row), by + more)
            for row, by, more in zip(plain, off, stored, strict=True)
        )
        q, k = (
            rotated(row, frequencies * at, np.dtype(form.storage))
            for row, at in zip(moved, (i, j), strict=True)
        )
        total = np.float32(0)
        for product in q * k:
            total = np.float32(total + product)
        root = np.float32((2 * HALF) ** 0.5)
        if not fused and not form.wide:
            total = np.float32(total.astype(form.storage))
            total = np.float32((total / root).astype(form.storage)) * root
        pairs = [row[:HALF] + 1j * row[HALF:] for row in plain]
        exact = (pairs[0] * pairs[1].conj() * np.exp(1j * frequencies * float(i - j))).real.sum()
        scores = RotaryScores(form, fused, frequencies, CONTEXT)
        used = [Pair(p, "word", 0j, single=False) for p in range(HALF)]
        bound = scores.off(used, query, key)
        error = abs(float(total) - float(exact)) / float(root)
        assert error <= bound
        worst = max(worst, error / bound)
    assert worst > 0.02  # the bound is about what happens
