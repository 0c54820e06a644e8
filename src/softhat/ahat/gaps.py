"""Gaps over all words of a length, proved without running the words.

On the reachable sets (`reach`): for each candidate maximum m of a row every other position takes
its largest score below m, or is forced to tie. Exact over all words for first-layer heads, in
polynomial time; a lower bound on the true gap for deeper heads, never above it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.ahat.exact import ratio
from softhat.ahat.levels import Row
from softhat.ahat.model import AHAT
from softhat.ahat.reach import Reach, reach
from softhat.ahat.rows import critical_betas


@dataclass(frozen=True, slots=True)
class ProvedGaps:
    """What holds for every word of this length. Only proved heads are in the tables."""

    length: int
    complete: bool
    reason: str
    gaps: Mapping[tuple[int, int], Fraction | float]  # inf: every row is uniform
    may_tie: Mapping[tuple[int, int], bool]  # False: no row is tied
    critical_beta: Mapping[tuple[int, int], float]  # suffices for the leak on every word


def proved_gaps(model: AHAT, n: int, leak: float = 1e-3, layers: int | None = None) -> ProvedGaps:
    """Proved gap, possible ties and sufficient β of every head, over all words of length n."""
    return gaps_of(reach(model, n, layers), leak)


def gaps_of(sets: Reach, leak: float) -> ProvedGaps:
    """The same from reachable sets already computed."""
    gaps: dict[tuple[int, int], Fraction | float] = {}
    ties: dict[tuple[int, int], bool] = {}
    betas: dict[tuple[int, int], float] = {}
    for l, stage in enumerate(sets.stages):
        for h, places in enumerate(stage.shared):
            different = {id(row): row for place in places for row in place if row.keys > 1}
            rows = list(different.values())
            gaps[l, h] = min((row_gap(row) for row in rows), default=math.inf)
            ties[l, h] = any(may_tie(row) for row in rows)
            betas[l, h] = _critical(rows, leak)
    return ProvedGaps(sets.length, sets.complete, sets.reason, gaps, ties, betas)


def row_gap(row: Row) -> Fraction | float:
    """The least gap between the maximum and the next lower score, over all choices."""
    best: Fraction | float = math.inf
    for m, near, _, _ in _maxima(row):
        below = near[near >= 0]
        if len(below):
            gap = Fraction(int(row.levels[m]) - int(row.levels[int(below.max())]), row.den)
            best = min(best, gap)
    return best


def may_tie(row: Row) -> bool:
    """Can several but not all keys share the maximum?"""
    for _, near, forced, free in _maxima(row, drop_winner=False):
        fewest, most = max(2, forced), min(forced + free, row.keys - 1)
        if fewest <= most and (near >= 0).any():
            return True
    return False


def _maxima(
    row: Row, drop_winner: bool = True
) -> Iterator[tuple[int, npt.NDArray[np.int64], int, int]]:
    """For each possible maximum m: the largest level below m of each key position (-1: none).

    With `drop_winner` a position that alone can reach m is left out, for it must win.
    Also the number of positions forced to tie at m, and of those that may.
    """
    place = np.repeat(np.arange(row.keys), np.diff(np.append(row.starts, len(row.options))))
    for m in range(int(row.lowest.max()), len(row.levels)):
        near = np.maximum.reduceat(np.where(row.level < m, row.level, -1), row.starts)
        at = np.unique(place[row.level == m])
        forced = int((row.lowest[at] == m).sum())
        if drop_winner and len(at) == 1:
            near[at[0]] = -1
        yield m, near, forced, len(at) - forced


def _critical(rows: list[Row], leak: float) -> float:
    """The greatest critical β over all choices: as few winners as possible, all others near."""
    worst = 0.0
    for row in rows:
        profiles, winners = [], []
        place = np.repeat(np.arange(row.keys), np.diff(np.append(row.starts, len(row.options))))
        for m, near, forced, _ in _maxima(row, drop_winner=False):
            if forced == 0:  # one winner: the position at m that would compete least
                at = np.unique(place[row.level == m])
                near[at[int(near[at].argmin())]] = -1
            gaps = ratio(int(row.levels[m]) - row.levels[np.maximum(near, 0)], row.den)
            profiles.append(np.where(near >= 0, gaps, np.inf))
            winners.append(max(1, forced))
        found = critical_betas(np.stack(profiles), leak, np.array(winners))
        worst = max(worst, float(found.max()))
    return worst
