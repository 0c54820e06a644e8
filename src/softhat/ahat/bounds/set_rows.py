"""Bounds of one row over the reachable sets: every key position takes its worst vector.

A row with a single winner has the winner as reference. Of a tied row only the level, |A| = k and
the average o are known: its weights lie in [e^-βh, e^βh] around a common centre, h half the
spread of the tied scores, so they tilt the average by at most sinh(βh)/cosh(βh) times the mean
absolute deviation, and that is at most 2(max - o)(o - min)/(max - min).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.levels import Outcome, Row, Rows
from softhat.ahat.bounds.functionals import HeadPlan
from softhat.ahat.bounds.means import NOISE, largest_mean, secant, weights
from softhat.ahat.bounds.words import interval_times
from softhat.ahat.exact import Integers, Scaled, linear, ratio, scaled

Floats = npt.NDArray[np.float64]
Members = npt.NDArray[np.int64]  # the queries (flat vectors) that share a row
_BATCH = 2_000_000  # entries of one array
_SHARED = 32  # single winners bounded together
_NEGLIGIBLE = -50.0  # exponent below which a weight is only allowed for
_STEEPEST = 40.0  # βh beyond which a tied row is only known by the hull of its values


class HeadWork:
    """What all rows of one head share: floats of its options and of their errors."""

    def __init__(
        self,
        plan: HeadPlan,
        x: Scaled,
        error: Floats,
        beta: float,
    ) -> None:
        self.plan, self.beta = plan, beta
        d_k = len(plan.head.query)
        key = linear(x, scaled(plan.head.key))
        self.key: Integers = key.num
        self.key_den = key.den
        self.query = linear(x, scaled(plan.head.query)).floats()
        self.values = linear(x, scaled(plan.head.value))
        self.value_error = error @ plan.value  # (P, 2r)
        self.erring = bool(error.shape[1]) and not plan.fact.uniform
        if self.erring:
            q, k = error @ plan.query, error @ plan.key
            self.q_high, self.q_low = q[:, :d_k], -q[:, d_k:]
            self.k_high, self.k_low = k[:, :d_k], -k[:, d_k:]
            self.erring = bool(q.any() or k.any())

        # Greatest |v - o + error| along each tracked direction, for what is dropped as negligible.
        values = self.values.floats()
        spread_ = values.max(axis=0) - values.min(axis=0) if len(values) else np.zeros(0)
        along = spread_ @ np.abs(plan.output.T)
        self.widest = np.concatenate([along, along]) + np.abs(self.value_error).max(axis=0)
        self.kind_of = self._kinds()

    def _kinds(self) -> npt.NDArray[np.int64]:
        """Numbers the vectors by all that a row reads of them as keys: equal number, equal part."""
        errors = [self.value_error]
        if self.erring:
            errors += [self.k_low, self.k_high]
        exact = np.concatenate([self.key, self.values.num], axis=1).tolist()
        known: dict[tuple[object, bytes], int] = {}
        return np.array(
            [
                known.setdefault((tuple(numbers), floats.tobytes()), len(known))
                for numbers, floats in zip(exact, np.concatenate(errors, axis=1), strict=True)
            ]
        )

    def signature(self, row: Row, me: Members) -> tuple[object, ...]:
        """Rows with the same signature have the same bounds: the order of keys plays no part."""
        groups = np.split(self.kind_of[row.options], row.starts[1:])
        asked = [self.query[me[0]]]
        if self.erring:
            asked += [self.q_low[me].min(axis=0), self.q_high[me].max(axis=0)]
        keys = sorted(np.sort(group).tobytes() for group in groups)
        return (b"".join(part.tobytes() for part in asked), *keys)

    def slack(self, row: Row, me: Members) -> float:
        """How far perturbed exponents can lie above the exact ones."""
        result = 0.0
        if self.erring:
            key = ratio(self.key[row.options], self.key_den)
            off = np.maximum(np.abs(self.q_low[me]), np.abs(self.q_high[me])).max(axis=0)
            size = np.maximum(np.abs(self.k_low), np.abs(self.k_high))[row.options].max(axis=0)
            moved = off @ (key.max(axis=0) - key.min(axis=0))
            result += self.beta * float(moved + (np.abs(self.query[me[0]]) + off) @ size * 2)
        return result * (1 + 1e-9)


def head_bounds(work: HeadWork, rows: Rows, shared: Rows) -> tuple[list[list[Floats]], float]:
    """[position][vector]: (outcomes, 2r) bounds of what the head adds; and the greatest leak.

    A shared row is bounded once, for the hull of the query errors of all that share it; so are
    rows that differ only in the order of their keys.
    """
    members: dict[int, list[int]] = {}
    by_id: dict[int, Row] = {}
    for me, row in enumerate(row for place in shared for row in place):
        members.setdefault(id(row), []).append(me)
        by_id[id(row)] = row
    found: dict[int, dict[tuple[tuple[int, ...], int], Floats]] = {}
    known: dict[tuple[object, ...], dict[tuple[tuple[int, ...], int], Floats]] = {}
    leak = 0.0
    for name, row in by_id.items():
        queries = np.array(members[name])
        signature = work.signature(row, queries)
        if signature not in known:
            bounds, row_leak = _row(work, row, queries)
            leak = max(leak, row_leak)
            known[signature] = {
                (o.value, o.den): bound for o, bound in zip(row.outcomes, bounds, strict=True)
            }
        found[name] = known[signature]
    result = [
        [
            np.stack([found[id(whole)][o.value, o.den] for o in row.outcomes])
            for row, whole in zip(place, place_shared, strict=True)
        ]
        for place, place_shared in zip(rows, shared, strict=True)
    ]
    return result, leak


def _row(work: HeadWork, row: Row, me: Members) -> tuple[Floats, float]:
    width = 2 * work.plan.output.shape[0]
    bounds = np.full((len(row.outcomes), width), -np.inf)
    if row.keys == 0:
        return np.zeros((1, width)), 0.0
    winners = np.concatenate([o.winners for o in row.outcomes])
    owner = np.repeat(np.arange(len(row.outcomes)), [len(o.winners) for o in row.outcomes])
    order = np.argsort(row.level[winners], kind="stable")  # neighbours share their competitors
    winners, owner = winners[order], owner[order]
    leak = 0.0
    for start in range(0, len(winners), _SHARED):
        part = winners[start : start + _SHARED]
        found, most = _single(work, row, me, part)
        np.maximum.at(bounds, owner[start : start + _SHARED], found)
        leak = max(leak, most)
    by_level: dict[int, list[tuple[int, int]]] = {}
    for index, outcome in enumerate(row.outcomes):
        for tie in outcome.ties:
            by_level.setdefault(tie.level, []).extend((index, k) for k in tie.counts)
    for level, cases in by_level.items():
        outcomes = [row.outcomes[index] for index, _ in cases]
        counts = np.array([k for _, k in cases])
        step = max(1, _BATCH // max(1, len(row.options) * max(width, 1)))
        for start in range(0, len(cases), step):
            stop = start + step
            found, most = _tied(work, row, me, level, outcomes[start:stop], counts[start:stop])
            np.maximum.at(bounds, np.array([i for i, _ in cases[start:stop]]), found)
            leak = max(leak, most)
    return bounds, leak


def _single(
    work: HeadWork, row: Row, me: Members, winners: npt.NDArray[np.int64]
) -> tuple[Floats, float]:
    """Rows with one winner each; (winners, 2r) and the greatest leak."""
    place = np.repeat(np.arange(row.keys), np.diff(np.append(row.starts, len(row.options))))
    gaps = ratio(row.levels[row.level[winners]][:, None] - row.levels[row.level][None, :], row.den)
    itself = np.arange(len(row.options))[None, :] == winners[:, None]
    own = place[None, :] == place[winners][:, None]
    valid = ((row.level[None, :] < row.level[winners][:, None]) & ~own) | itself
    near = valid & (-work.beta * gaps + work.slack(row, me) > _NEGLIGIBLE)
    kept = np.flatnonzero(near.any(axis=0))
    # Options whose weight is below e^-50 count as nothing, plus an allowance at the end.
    dropped = np.maximum.reduceat(valid & ~near, row.starts, axis=1)
    places, starts = np.unique(place[kept], return_index=True)
    options, near, gaps, itself = row.options[kept], near[:, kept], gaps[:, kept], itself[:, kept]
    base = low = high = -work.beta * gaps
    if work.erring:
        shift_low, shift_high = _shifts(work, options, me, row.options[winners])
        low, high = low + work.beta * shift_low, high + work.beta * shift_high
    low = np.where(itself, 0.0, low)
    high = low if high is base else np.where(itself, 0.0, high)
    w_low, w_high = weights(low, high)
    lost = row.keys * np.exp(_NEGLIGIBLE)
    rest = np.maximum.reduceat(np.where(near & ~itself, w_high, 0.0), starts, axis=1).sum(1) + lost
    leak = float((1 - 1 / (1 + rest)).max(initial=0.0)) if dropped.any() or len(kept) > 1 else 0.0
    if work.plan.output.shape[0] == 0:
        return np.zeros((len(winners), 0)), leak
    v = work.values.num[row.options]
    apart = ratio(v[kept][None, :, :] - v[winners][:, None, :], work.values.den)
    z = _along(work.plan, apart) + work.value_error[options]
    found = largest_mean(w_low, w_high, z, near, starts, dropped[:, places])
    if not dropped.any():
        return found, leak
    reach = work.widest + np.abs(found)
    return found + lost * reach, leak


def _along(plan: HeadPlan, apart: Floats) -> Floats:
    """v - o along the tracked directions and their negatives, rounded up."""
    moved = apart @ plan.output.T
    slack = 1e-15 * (np.abs(apart) @ np.abs(plan.output.T))
    return np.concatenate([moved + slack, slack - moved], axis=-1)


def _shifts(
    work: HeadWork,
    options: npt.NDArray[np.int64],
    me: Members,
    reference: npt.NDArray[np.int64],
) -> tuple[Floats, Floats]:
    """How option scores move against the reference options', (references, options)."""
    apart = ratio(work.key[options][None] - work.key[reference][:, None], work.key_den)
    q_low, q_high = work.q_low[me].min(axis=0), work.q_high[me].max(axis=0)
    first = interval_times(q_low, q_high, apart, apart)
    full_low, full_high = work.query[me[0]] + q_low, work.query[me[0]] + q_high
    k_low = work.k_low[options][None] - work.k_high[reference][:, None]
    k_high = work.k_high[options][None] - work.k_low[reference][:, None]
    second = interval_times(full_low, full_high, k_low, k_high)
    low, high = (first[0] + second[0]).sum(axis=2), (first[1] + second[1]).sum(axis=2)
    size = (np.abs(np.stack([*first, *second]))).sum(axis=(0, 3)) * 1e-14
    return low - size, high + size


def _tied(
    work: HeadWork,
    row: Row,
    me: Members,
    level: int,
    outcomes: list[Outcome],
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
    v = ratio(work.values.num[row.options], work.values.den)  # (P, d_v)
    o = np.array([[float(Fraction(x, c.den)) for x in c.value] for c in outcomes])
    o = o.reshape(len(outcomes), v.shape[1])
    z = _along(work.plan, v[None] - o[:, None]) + work.value_error[row.options]
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
    found = excess(t)
    slope = np.broadcast_to(steepest, found.shape)
    for _ in range(30):
        step = np.maximum(found, 0.0) / slope
        if np.all(step <= 1e-9 * np.abs(t)):
            break
        earlier, t = found, t + step
        found = excess(t)
        slope = secant(earlier, found, step, flattest, steepest)
    return t + np.maximum(found, 0.0) / flattest


def _deviation(work: HeadWork, v: Floats, o: Floats) -> Floats:
    """Greatest mean absolute deviation of tied values with mean o, per direction; (cases, 2r)."""
    along = v @ work.plan.output.T  # (tied options, r)
    mean = o @ work.plan.output.T
    top, bottom = along.max(axis=0), along.min(axis=0)
    width = top - bottom
    above, under = np.maximum(top - mean, 0.0), np.maximum(mean - bottom, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(width > 0, 2 * above * under / width, 0.0)
    rounded = found * (1 + 1e-12) + 1e-15 * width
    return np.concatenate([rounded, rounded], axis=1)


def _centred(
    work: HeadWork, row: Row, me: Members, at: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """How option scores move, up to one constant of the row; (options,) from below and above."""
    key = ratio(work.key[row.options], work.key_den)
    middle = (key[at].max(axis=0) + key[at].min(axis=0)) / 2
    apart = key - middle
    q_low, q_high = work.q_low[me].min(axis=0), work.q_high[me].max(axis=0)
    first = interval_times(q_low, q_high, apart, apart)
    full_low, full_high = work.query[me[0]] + q_low, work.query[me[0]] + q_high
    second = interval_times(full_low, full_high, work.k_low[row.options], work.k_high[row.options])
    low, high = (first[0] + second[0]).sum(axis=1), (first[1] + second[1]).sum(axis=1)
    size = np.abs(np.stack([*first, *second])).sum(axis=(0, 2)) * 1e-14
    return low - size, high + size
