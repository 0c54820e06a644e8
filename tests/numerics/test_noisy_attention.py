"""One row of attention in floats, against the softmax of every score that is allowed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softhat.numerics.formats import FORMATS
from softhat.numerics.kernels import PYTORCH
from softhat.numerics.noise import FloatProgram
from softhat.numerics.noisy_attention import StoredScores, mean_of
from softhat.numerics.zonotopes import Zonotope, exactly

PROGRAM = FloatProgram(FORMATS["float32"])


def row(
    scores: list[float], off: list[float], values: Zonotope, counts: list[float] | None = None
) -> tuple[float, float]:
    """Centre and radius of one row."""
    at = np.array(scores)[None, None]
    count = np.ones((1, len(scores))) if counts is None else np.array([counts])
    seen = np.ones(at.shape, dtype=bool)
    found = mean_of(PROGRAM, at, np.array(off)[None, None], seen, count, values)
    return float(found.centre[0, 0, 0]), float(found.radius[0, 0, 0])


def values(*numbers: float) -> Zonotope:
    return exactly(np.array(numbers)[None, :, None])


def test_every_score_that_is_allowed() -> None:
    rng = np.random.default_rng(1)
    closest = 0.0
    for _ in range(300):
        keys = int(rng.integers(2, 6))
        scores, off = (
            -rng.exponential(3, keys),
            rng.exponential(0.2, keys) * (rng.random(keys) < 0.7),
        )
        v = rng.integers(-4, 5, keys).astype(np.float64)
        counts = rng.integers(1, 4, keys).astype(np.float64)
        centre, radius = row(list(scores), list(off), values(*v), list(counts))
        for _ in range(60):
            moved = scores + off * rng.choice([-1.0, 1.0], keys)
            weights = counts * np.exp(moved - moved.max())
            away = abs(weights @ v / weights.sum() - centre)
            assert away <= radius
            closest = max(closest, away / radius)
    assert closest > 0.8


def test_a_rival_of_no_weight_that_may_win() -> None:
    """Its score is far below, and may be off by more: only its value bounds what is found."""
    assert row([-1e6, 0.0], [1e7, 0.0], values(1.0, 0.0))[1] >= 1
    assert row([-1e6, 0.0], [1e3, 0.0], values(1.0, 0.0)) == (0.0, 0.0)


def test_ties_that_are_kept_are_divided_once() -> None:
    centre, radius = row([5.0, 5.0, 5.0, -200.0], [0.0] * 4, values(1.0, 0.0, 1.0, 9.0))
    assert (centre, radius) == (float(np.float32(2) / np.float32(3)), 0.0)


@pytest.mark.parametrize("off", [1e-6, 1e-3])
def test_ties_that_are_not(off: float) -> None:
    """Two equal scores that may be 2·off apart: tanh(off / 2) of the distance of their values."""
    centre, radius = row([5.0, 5.0], [off, off], values(0.0, 2.0))
    assert centre == 1.0
    assert np.tanh(off / 2) * 2 <= radius <= 1.01 * off + 1e-5


def test_scores_of_noisy_queries_and_keys() -> None:
    """However the symbols fall, scores are off by no more than claimed, up to what a row shares:
    the query's noise times the best key."""
    rng = np.random.default_rng(3)
    closest, beta, seen = 0.0, 9.75, np.ones((1, 1, 4), dtype=bool)
    for _ in range(150):
        rows = int(rng.integers(1, 5))
        q = Zonotope(rng.normal(size=(1, 1, rows)), 0.01 * rng.normal(size=(1, 1, 2, rows)))
        k = Zonotope(rng.normal(size=(1, 4, rows)), 0.01 * rng.normal(size=(1, 4, 2, rows)))
        claimed = StoredScores(PROGRAM, q, k, seen, beta)
        best = (q.centre[0] @ k.centre[0].T)[0].argmax()
        for _ in range(80):
            sign = rng.choice([-1.0, 1.0], (1, 1, 2, 1)) * (rng.random() < 0.7)
            moved = (q.generators * sign).sum(axis=2)
            asked = (q.centre + moved).astype(np.float32)[0]
            signs = rng.choice([-1.0, 1.0], (1, 4, 2, 1)) * (rng.random() < 0.7)
            given = (k.centre + (k.generators * signs).sum(axis=2)).astype(np.float32)[0]
            found = (np.float32(beta) * (asked @ given.T))[0].astype(np.float64)
            shared = beta * float(moved[0, 0] @ k.centre[0, best])
            off = np.abs(found - claimed.stored[0, 0] - shared)
            assert (off <= 1.001 * claimed.off[0, 0]).all()
            closest = max(closest, float((off / claimed.off[0, 0]).max()))
    assert closest > 0.95


def test_scores_of_a_kernel_that_scales_queries() -> None:
    """PyTorch's: β into the queries, then products and sums in float32 whatever their number."""
    rng = np.random.default_rng(5)
    form = replace(FORMATS["float32"], kernel=PYTORCH)
    program, beta, seen = FloatProgram(form), 9.75, np.ones((1, 1, 4), dtype=bool)
    closest = 0.0
    for _ in range(200):
        rows = int(rng.integers(1, 9))
        q = rng.normal(size=rows).astype(np.float32)
        k = rng.normal(size=(4, rows)).astype(np.float32)
        claimed = StoredScores(
            program,
            exactly(q[None, None].astype(float)),
            exactly(k[None].astype(float)),
            seen,
            beta,
        )
        total = np.zeros(4, np.float32)
        for column in rng.permutation(rows):
            total = total + (q[column] * np.float32(beta)) * k[:, column]
        exact = beta * (k.astype(float) @ q.astype(float))
        away = np.abs(total - exact) / claimed.off[0, 0]
        assert (away <= 1).all()
        closest = max(closest, float(away.max()))
    assert closest > 0.3
    dense = StoredScores(
        PROGRAM, exactly(np.ones((1, 1, 8)) / 3), exactly(np.ones((1, 4, 8))), seen, 1.0
    )
    fused = StoredScores(
        program, exactly(np.ones((1, 1, 8)) / 3), exactly(np.ones((1, 4, 8))), seen, 1.0
    )
    assert (fused.off > dense.off).all()  # only the dense runtime sums them in float64
