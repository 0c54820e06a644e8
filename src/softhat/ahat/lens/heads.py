"""One head of a trained model: which hard attention its rows are nearest to, and how near.

For every row: the argmax set A (scores within TIE, since floats of a trained model are never
equal), how much leaks outside it, the gap profile, and by how much the scores would have to be
multiplied (β) for the leak to fall to δ. The nearest average-hard row is uniform over the k
greatest weights; its distance is total variation. The same scores, shuffled over all rows of the
head, say what distance comes by chance: a head that is neither near nor nearer than that is soft.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.rows import critical_betas
from softhat.ahat.lens.patterns import Floats, Pattern, Where, patterns

TIE = 1e-3
NEAR = 0.1  # mean distance to hard attention within which a head is called hard
SHUFFLES = 8
EDGES = (0.0, 1.0, 2.0, 4.0, 8.0, np.inf)
TYPES = ("uniform", "tieless", "tied")


@dataclass(frozen=True, slots=True)
class LensHead:
    """One head on all texts. Rows with one key are left out: they have no choice."""

    layer: int
    head: int
    verdict: str  # uniform | tieless | tied | soft
    nearest: str  # uniform | tieless | tied: the type most of its rows are nearest to
    distance: float  # mean total variation to the nearest average-hard row
    by_chance: float  # the same for shuffled scores: the mean, …
    least_by_chance: float  # … and the least of the shuffles
    hardness: float  # mean attention on the argmax set; 1 is hard attention
    hardness_by_chance: float
    leak: float  # greatest attention outside the argmax set
    least_gap: float
    median_gap: float
    median_beta: float  # factor on the scores for leak ≤ δ, median over rows
    greatest_beta: float
    rows: tuple[int, int, int]  # nearest to uniform, tieless, tied
    profile: tuple[float, ...]  # mean number of competitors with gap < 1, 2, 4, 8, and more
    patterns: dict[str, Pattern]
    pattern: str | None  # the strongest one that is recognised


def softmax(scores: Floats) -> Floats:
    """Of each row; a row of -inf alone gives 0."""
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = weights.sum(axis=1, keepdims=True)
    result: Floats = weights / np.where(total == 0, 1.0, total)
    return result


def head_report(
    scores: Sequence[Floats], ids: Sequence[Sequence[int]], layer: int, head: int, delta: float
) -> LensHead:
    """One head from its scores (T, T) on each text, -inf where masked."""
    allowed = [np.isfinite(s) for s in scores]
    maps = [(softmax(s), a) for s, a in zip(scores, allowed, strict=True)]
    measured = [_measured(s, delta) for s in scores]
    leaks, gaps, betas, kinds, distances = (
        np.concatenate([m[k] for m in measured]) for k in range(5)
    )
    chance = [_shuffled(scores, seed) for seed in range(SHUFFLES)]
    by_chance = [c[0] for c in chance]
    tally = tuple(int((kinds == k).sum()) for k in range(3))
    distance = float(distances.mean())
    nearest = TYPES[int(np.argmax(tally))]
    hard = distance <= NEAR or (distance <= 2.5 * NEAR and distance < min(by_chance))
    finite = np.isfinite(gaps).any(axis=1)
    least = np.where(finite, gaps.min(axis=1), np.inf)[finite]
    looks = patterns(maps, ids)
    known = {name: p.share for name, p in looks.items() if p.recognised}
    return LensHead(
        layer=layer,
        head=head,
        verdict=nearest if hard else "soft",
        nearest=nearest,
        distance=distance,
        by_chance=float(np.mean(by_chance)),
        least_by_chance=float(min(by_chance)),
        hardness=float(1 - leaks.mean()),
        hardness_by_chance=float(np.mean([c[1] for c in chance])),
        leak=float(leaks.max()),
        least_gap=float(least.min()) if len(least) else np.inf,
        median_gap=float(np.median(least)) if len(least) else np.inf,
        median_beta=float(np.median(betas)),
        greatest_beta=float(betas.max()),
        rows=(tally[0], tally[1], tally[2]),
        profile=tuple(
            float(((gaps >= a) & (gaps < b) & np.isfinite(gaps)).sum() / len(gaps))
            for a, b in itertools.pairwise(EDGES)
        ),
        patterns=looks,
        pattern=max(known, key=lambda name: known[name]) if known else None,
    )


def argmax_sets(scores: Floats) -> Where:
    """The keys within TIE of each row's maximum."""
    top = scores.max(axis=1, keepdims=True)
    highest: Where = np.isfinite(scores) & (scores >= top - TIE)
    return highest


def _measured(
    scores: Floats, delta: float
) -> tuple[Floats, Floats, Floats, npt.NDArray[np.int64], Floats]:
    """Leak, gaps (inf: no competitor; padded), critical β, type and distance of each row."""
    rows = scores[np.isfinite(scores).sum(axis=1) > 1]
    best = argmax_sets(rows)
    top = rows.max(axis=1, keepdims=True)
    gaps = np.where(np.isfinite(rows) & ~best, top - rows, np.inf)
    weights = softmax(rows)
    leaks = np.where(best, 0.0, weights).sum(axis=1)
    betas = critical_betas(gaps, delta, best.sum(axis=1))
    kinds, distance = nearest_rows(weights, np.isfinite(rows).sum(axis=1))
    ordered = np.sort(gaps, axis=1)[:, :64]
    padded = np.full((len(rows), 64), np.inf)
    padded[:, : ordered.shape[1]] = ordered
    return leaks, padded, betas, kinds, distance


def _shuffled(scores: Sequence[Floats], seed: int) -> tuple[float, float]:
    """Mean distance and hardness of rows whose scores are drawn from all of the head's."""
    rng = np.random.default_rng(seed)
    distances, hardness = [], []
    for text in scores:
        allowed = np.isfinite(text)
        mixed = np.full_like(text, -np.inf)
        mixed[allowed] = rng.permutation(text[allowed])
        rows = mixed[allowed.sum(axis=1) > 1]
        weights = softmax(rows)
        distances.append(nearest_rows(weights, np.isfinite(rows).sum(axis=1))[1])
        hardness.append(np.where(argmax_sets(rows), weights, 0.0).sum(axis=1))
    return float(np.concatenate(distances).mean()), float(np.concatenate(hardness).mean())


def nearest_rows(
    weights: Floats, keys: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], Floats]:
    """0 uniform, 1 tieless, 2 tied: the nearest average-hard row, and its total variation.

    The nearest row with k winners is uniform over the k largest weights: it misses
    Σ max(0, 1/k - w) of them. Ties of distance go to the plainer type.
    """
    ordered = -np.sort(-weights, axis=1)
    places = np.arange(1, weights.shape[1] + 1)
    distance = np.empty_like(weights)
    for k in places:
        distance[:, k - 1] = np.maximum(1.0 / k - ordered[:, :k], 0.0).sum(axis=1)
    distance = np.where(places[None, :] <= keys[:, None], distance, np.inf)
    uniform = np.take_along_axis(distance, (keys - 1)[:, None], axis=1)[:, 0]
    between = (places[None, :] > 1) & (places[None, :] < keys[:, None])
    tied = np.where(between, distance, np.inf).min(axis=1)
    together = np.stack([uniform, distance[:, 0], tied])
    return np.argmin(together, axis=0), together.min(axis=0)
