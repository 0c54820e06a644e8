"""Gaps over all words of a length, proved without running the words.

On the reachable sets (`reach`): for each candidate maximum m of a row every other position takes
its largest score below m, or is forced to tie. Exact over all words for first-layer heads, in
polynomial time; a lower bound on the true gap for deeper heads, never above it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.levels import QueryRow
from softhat.ahat.analysis.reach import Reach, reach
from softhat.ahat.analysis.rows import critical_betas
from softhat.ahat.model import AHAT
from softhat.numerics.exact import ratio


@dataclass(frozen=True, slots=True)
class ProvedGaps:
    """What holds for every word of this length. Only proved heads are in the tables."""

    length: int
    complete: bool
    reason: str
    gaps: Mapping[tuple[int, int], Fraction | float]  # inf: every row is uniform
    may_tie: Mapping[tuple[int, int], bool]  # False: no row is tied
    critical_beta: Mapping[tuple[int, int], float]  # suffices for the leak on every word
    size: int  # queries × keys of the sets: what it took


def proved_gaps(model: AHAT, n: int, leak: float = 1e-3, layers: int | None = None) -> ProvedGaps:
    """Proved gap, possible ties and sufficient β of every head, over all words of length n."""
    return gaps_of(reach(model, n, layers), leak)


def gaps_of(sets: Reach, leak: float) -> ProvedGaps:
    """The same from reachable sets already computed."""
    rows = _different(sets)
    ties = {name: any(may_tie(row) for row in part) for name, part in rows.items()}
    betas = {name: _critical(part, leak) for name, part in rows.items()}
    return ProvedGaps(
        sets.length, sets.complete, sets.reason, least_gaps(sets), ties, betas, sets.size
    )


def least_gaps(sets: Reach) -> dict[tuple[int, int], Fraction | float]:
    """The least gap of each head."""
    return {
        name: min((row_gap(row) for row in part), default=math.inf)
        for name, part in _different(sets).items()
    }


def _different(sets: Reach) -> dict[tuple[int, int], list[QueryRow]]:
    """The rows of each head that have a choice of keys."""
    return {
        (l, h): list({id(row): row for place in places for row in place if row.keys > 1}.values())
        for l, stage in enumerate(sets.stages)
        for h, places in enumerate(stage.shared)
    }


def row_gap(row: QueryRow) -> Fraction | float:
    """The least gap between the maximum and the next lower score, over all choices."""
    maxima = _maxima(row)
    near = _without_winner(maxima).max(axis=1)
    below = np.flatnonzero(near >= 0)
    if not len(below):
        return math.inf
    gaps = row.levels[maxima.levels[below]] - row.levels[near[below]]
    return Fraction(int(gaps.min()), row.den)


def may_tie(row: QueryRow) -> bool:
    """Can several but not all keys share the maximum?"""
    m = _maxima(row)
    fewest = np.maximum(2, m.forced.sum(axis=1))
    most = np.minimum(m.at.sum(axis=1), row.keys - 1)
    return bool(((fewest <= most) & (m.near >= 0).any(axis=1)).any())


@dataclass(frozen=True, slots=True)
class _Maxima:
    """For each possible maximum m of a row, and each of its key positions:"""

    levels: npt.NDArray[np.int64]  # (maxima,): m
    near: npt.NDArray[np.int64]  # (maxima, positions): largest level below m; -1: none
    at: npt.NDArray[np.bool_]  # the position can reach m
    forced: npt.NDArray[np.bool_]  # it has to: its least level is m


def _maxima(row: QueryRow) -> _Maxima:
    m = np.arange(int(row.lowest.max()), len(row.levels))
    below = np.where(row.level[None, :] < m[:, None], row.level[None, :], -1)
    near = np.maximum.reduceat(below, row.starts, axis=1)
    at = np.logical_or.reduceat(row.level[None, :] == m[:, None], row.starts, axis=1)
    return _Maxima(m, near, at, row.lowest[None, :] == m[:, None])


def _without_winner(m: _Maxima) -> npt.NDArray[np.int64]:
    """`near`, where a position that alone can reach the maximum does not count: it must win."""
    alone = m.at & (m.at.sum(axis=1) == 1)[:, None]
    return np.where(alone, -1, m.near)


def _critical(rows: list[QueryRow], leak: float) -> float:
    """The greatest critical β over all choices: as few winners as possible, all others near."""
    worst = 0.0
    for row in rows:
        m = _maxima(row)
        forced = m.forced.sum(axis=1)
        # If none is forced there is one winner: the position at m that would compete least.
        least = np.where(m.at, m.near, len(row.levels)).argmin(axis=1)
        chosen = np.arange(row.keys)[None, :] == least[:, None]
        near = np.where(chosen & (forced == 0)[:, None], -1, m.near)
        gaps = ratio(row.levels[m.levels][:, None] - row.levels[np.maximum(near, 0)], row.den)
        profiles = np.where(near >= 0, gaps, np.inf)
        betas = critical_betas(profiles, leak, np.maximum(1, forced))
        worst = max(worst, float(betas.max()))
    return worst
