"""Bounds of one row whose maximum several positions share, over the reachable sets.

Theorem 35. Of a tied row only the level, |A| = k and the average o are known: its weights lie in
[e^-βh, e^βh] around a common centre, h half the spread of the tied scores. So the tied positions
add at most k((D + |t|)·sinh βh - t·cosh βh) to F(t), with D their mean absolute deviation, and that
is at most 2(max - o)(o - min)/(max - min).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.levels import QueryRow, RowOutcome
from softhat.ahat.bounds.head_work import Floats, HeadWork, Members, along, rounded_by
from softhat.ahat.bounds.means import NOISE, secant, weights
from softhat.ahat.bounds.words import interval_times
from softhat.numerics.exact import ratio

_BATCH = 2_000_000  # entries of one array
_STEEPEST = 40.0  # βh beyond which a tied row is only known by the hull of its values


def tied_bounds(work: HeadWork, row: QueryRow, me: Members, bounds: Floats) -> float:
    """Raise the bounds (outcomes, 2r) of a row by what its ties need; the greatest leak."""
    by_level: dict[int, list[tuple[int, int]]] = {}
    for index, outcome in enumerate(row.outcomes):
        for tie in outcome.ties:
            by_level.setdefault(tie.level, []).extend((index, k) for k in tie.counts)
    leak = 0.0
    for level, cases in by_level.items():
        outcomes = [row.outcomes[index] for index, _ in cases]
        counts = np.array([k for _, k in cases])
        step = max(1, _BATCH // max(1, len(row.options) * max(bounds.shape[1], 1)))
        for start in range(0, len(cases), step):
            stop = start + step
            needed, most = _tied(work, row, me, level, outcomes[start:stop], counts[start:stop])
            np.maximum.at(bounds, np.array([i for i, _ in cases[start:stop]]), needed)
            leak = max(leak, most)
    return leak


def _tied(
    work: HeadWork,
    row: QueryRow,
    me: Members,
    level: int,
    outcomes: list[RowOutcome],
    counts: npt.NDArray[np.int64],
) -> tuple[Floats, float]:
    """Rows whose maximum is this level, shared by `counts` positions; (cases, 2r) and a leak."""
    at, below = row.level == level, row.level < level
    gaps = ratio(row.levels[level] - row.levels[row.level], row.den)
    low, high = -work.beta * gaps, -work.beta * gaps
    if work.erring:
        shift_low, shift_high = _centred(work, row, me, at)
        low, high = low + work.beta * shift_low, high + work.beta * shift_high
    used = at | below
    r = work.plan.output.shape[0]
    v = work.options.values[row.options]  # (P, d_v)
    o = np.array([[float(Fraction(x, c.den)) for x in c.value] for c in outcomes])
    o = o.reshape(len(outcomes), v.shape[1])
    z = along(work.plan, v[None] - o[:, None]) + work.value_error[row.options]
    hull = np.where(used[None, :, None], z, -np.inf).max(axis=1)
    half = float((high[at].max() - low[at].min()) / 2)
    if not half <= _STEEPEST:
        return hull, 1.0
    centre = float((high[at].max() + low[at].min()) / 2)
    w_low, w_high = weights(np.where(used, low - centre, 0.0), np.where(used, high - centre, 0.0))
    near = np.maximum.reduceat(np.where(below, w_high, 0.0), row.starts)
    tied = np.maximum.reduceat(at, row.starts)
    forced_out = ~tied
    free = tied & (row.lowest < level)
    losing = row.keys - counts - int(forced_out.sum())  # free positions that lose, per case
    ranked = np.concatenate([[0.0], np.cumsum(np.sort(near[free])[::-1])])
    rest = near[forced_out].sum() + ranked[losing]
    smallest = counts * np.exp(-half)
    leak = float((1 - smallest / (smallest + rest)).max())
    if r == 0 or not np.isfinite(rest).all():
        return hull, leak
    deviation = _deviation(work, v[at], o)
    own = work.value_error[row.options][at].max(axis=0)  # (2r,)
    size = np.maximum(np.abs(own), np.abs(work.value_error[row.options][at].min(axis=0)))
    tilt = np.sinh(half) * (deviation + size)
    if half == 0:
        tilt = np.zeros_like(deviation)
    t = _tied_root(
        np.cosh(half), np.sinh(half), own, tilt, counts, w_low, w_high, z, below,
        row.starts, forced_out, free, losing,
    )  # fmt: skip
    return np.minimum(t, hull), leak


def _tied_root(
    even: float, odd: float, own: Floats, tilt: Floats, counts: npt.NDArray[np.int64],
    w_low: Floats, w_high: Floats, z: Floats, below: npt.NDArray[np.bool_],
    starts: npt.NDArray[np.int64], forced_out: npt.NDArray[np.bool_],
    free: npt.NDArray[np.bool_], losing: npt.NDArray[np.int64],
) -> Floats:  # fmt: skip
    """A t that bounds the mean of k tied positions and the worst losing ones; (cases, 2r).

    The tied positions add at most k(even·(own - t) + tilt + odd·|t|) to F(t).
    """
    k = counts[:, None].astype(float)
    flattest = k / (even + odd)  # even - odd = e^-βh, without cancellation
    near = np.maximum.reduceat(np.where(below, w_high, 0.0), starts)
    ranked = np.concatenate([[0.0], np.cumsum(np.sort(near[free])[::-1])])
    steepest = k * (even + odd) + near[forced_out].sum() + ranked[losing][:, None]
    shown = below[None, :, None]

    def excess(t: Floats) -> Floats:
        y = z - t[:, None, :]
        terms = np.where(y > 0, w_high[:, None] * y, w_low[:, None] * y)
        worst = np.maximum.reduceat(np.where(shown, terms, -np.inf), starts, axis=1)
        out = worst[:, forced_out].sum(axis=1)
        choice = -np.sort(-worst[:, free], axis=1)
        running = np.concatenate([np.zeros((len(t), 1, t.shape[1])), choice.cumsum(axis=1)], axis=1)
        out = out + np.take_along_axis(running, losing[:, None, None], axis=1)[:, 0]
        tied = k * (even * (own - t) + tilt + odd * np.abs(t))
        size = np.abs(out) + np.abs(tied) + k * even * np.abs(own)
        result: Floats = out + tied + NOISE * size
        return result

    t = np.where(below.any(), np.minimum(np.where(shown, z, np.inf).min(axis=1), own), own - tilt)
    t = np.minimum(t, own)
    value = excess(t)
    slope = np.broadcast_to(steepest, value.shape)
    for _ in range(30):
        step = np.maximum(value, 0.0) / slope
        if np.all(step <= 1e-9 * np.abs(t)):
            break
        earlier, t = value, t + step
        value = excess(t)
        slope = secant(earlier, value, step, flattest, steepest)
    return t + np.maximum(value, 0.0) / flattest


def _deviation(work: HeadWork, v: Floats, o: Floats) -> Floats:
    """Greatest mean absolute deviation of tied values with mean o, per direction; (cases, 2r).

    Values in [bottom, top] with mean m deviate most where all lie at the ends: by the harmonic mean
    2·a·b/(a + b) of a = top - m and b = m - bottom. It grows with both, so each is rounded up.
    """
    if (v == v[:1]).all():  # equal values deviate by nothing, whatever rounds
        return np.zeros((len(o), 2 * len(work.plan.output)))
    tied = v @ work.plan.output.T  # (tied options, r)
    mean = o @ work.plan.output.T
    off = rounded_by(work.plan, v).max(axis=0) + rounded_by(work.plan, o)
    above = np.maximum(tied.max(axis=0) - mean, 0.0) * (1 + 2.0**-52) + off
    under = np.maximum(mean - tied.min(axis=0), 0.0) * (1 + 2.0**-52) + off
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = np.where(off > 0, 2 * above * under / (above + under), 0.0)
    rounded = deviation * (1 + 2.0**-50)
    return np.concatenate([rounded, rounded], axis=1)


def _centred(
    work: HeadWork, row: QueryRow, me: Members, at: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """How option scores move, up to one constant of the row; (options,) from below and above."""
    key = work.options.key[row.options]
    middle = (key[at].max(axis=0) + key[at].min(axis=0)) / 2
    apart = key - middle
    q_low, q_high = work.q_low[me].min(axis=0), work.q_high[me].max(axis=0)
    first = interval_times(q_low, q_high, apart, apart)
    full_low, full_high = work.options.query[me[0]] + q_low, work.options.query[me[0]] + q_high
    second = interval_times(full_low, full_high, work.k_low[row.options], work.k_high[row.options])
    low, high = (first[0] + second[0]).sum(axis=1), (first[1] + second[1]).sum(axis=1)
    size = np.abs(np.stack([*first, *second])).sum(axis=(0, 2)) * 1e-14
    return low - size, high + size
