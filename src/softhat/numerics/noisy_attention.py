"""Attention of a row in floats, on given words: the mean of noisy values by noisy scores.

Theorem 36, for attention. Let the stored scores be off by at most e_j, up to what a row has in
common, and let w_j be the weights of their centres, p_j = w_j / Σw, o = Σ p_j·v_j. The weights in
floats are w_j·e^θ_j times a number of the row, |θ_j| ≤ η_j: e_j, and what the subtraction of the
maximum and exp round. So their mean differs from o by at most

    Σ p_j (e^η_j - 1) |v_j - o| / Σ p_j e^-η_j,

since Σ p_j (v_j - o) = 0. What leaks and what rounds meet in one row, where they belong: a key of
weight 10^-3 counts with a thousandth of the rounding of its score. Rows whose weights are all 0 or
1 average floats on a grid: that is one division, which rounds in one way.

Keys may stand for several positions that hold the same numbers, each with roundings of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.io.errors import VoidError
from softhat.numbers.rationals import grids_of
from softhat.numerics.entries import ANY
from softhat.numerics.formats import NARROW, WIDE_DIGITS
from softhat.numerics.kernels import DENSE
from softhat.numerics.noise import (
    OWN,
    FloatProgram,
    any_order,
    greatest_part,
    half_unit,
)
from softhat.numerics.rounding import RANGE, SLACK, gamma
from softhat.numerics.zonotopes import Zonotope, exactly

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
STEEPEST = 300.0  # a weight that may be off by e^300 is not known
NOTHING = 1e-100  # more than the weights of keys that are left out
EXP_OFF = 4.1  # |ln(1 + x)| for exp's 2 units in the last place, x = 4u
CLEAR = 30.0  # keys this far below the maximum, whatever rounds, take e^-30 of its weight
AT_ONCE = 20_000  # rows


def attended(
    program: FloatProgram,
    q: Zonotope,
    k: Zonotope,
    v: Zonotope,
    mask: Truths,
    many: Floats | None,
    beta: float,
) -> Zonotope:
    """What a head reads, before it is stored: queries (words, R, d_k), keys and values (words, K,
    …), how `many` of each (words, K), one if None; mask (R, K)."""
    count = np.ones(v.centre.shape[:2]) if many is None else many
    seen = mask & (count > 0)[:, None, :]
    if not q.centre.shape[-1]:
        equal = np.zeros(seen.shape)
        return mean_of(program, equal, equal, seen, count, v)
    if many is None:
        scores = StoredScores(program, q, k, seen, beta)
        return mean_of(program, scores.stored, scores.off, seen, count, v)
    settled, centre, error = _settled(program, q, k, seen, count, v, beta)
    word, row = np.nonzero(~settled)
    for start in range(0, len(word), AT_ONCE):  # each as a word of its own
        w, r = word[start : start + AT_ONCE], row[start : start + AT_ONCE]
        here = seen[w, r][:, None]
        scores = StoredScores(program, _picked(q, (w, r)), _picked(k, w), here, beta)
        mean = mean_of(program, scores.stored, scores.off, here, count[w], _picked(v, w))
        centre[w, r], error[w, r] = mean.centre[:, 0], mean.radius[:, 0]
    return exactly(centre).off(error)


def _picked(x: Zonotope, at: Any) -> Zonotope:
    """Some words; or single rows of words, each as a word."""
    centre, generators = x.centre[at], x.generators[at]
    if isinstance(at, tuple):
        centre, generators = centre[:, None], generators[:, None]
    return Zonotope(centre, generators)


def _settled(
    program: FloatProgram,
    q: Zonotope,
    k: Zonotope,
    seen: Truths,
    count: Floats,
    v: Zonotope,
    beta: float,
) -> tuple[Truths, Floats, Floats]:
    """Rows (words, R) where one key is far above all others, whatever rounds; and their means,
    with how far those are off: they are its value, but for what leaks and sums round."""
    form = program.form
    sizes = np.einsum("brd,bkd->brk", q.size, k.size)
    off = np.einsum("brd,bkd->brk", np.abs(q.centre), k.radius)
    off = off + np.einsum("brd,bkd->brk", q.radius, k.size)
    off = off + 2.0 ** (2 - form.digits) * (q.centre.shape[-1] + 2) * sizes
    off = beta * off + form.smallest
    program.fits(np.where(seen, beta * sizes, 0.0))
    score = beta * np.einsum("brd,bkd->brk", q.centre, k.centre)
    least = np.where(seen, score - off, -np.inf)
    best = least.argmax(axis=2)[..., None]
    rivals = np.where(seen, score + off, -np.inf)
    np.put_along_axis(rivals, best, -np.inf, axis=2)
    total = np.where(seen, count[:, None, :], 0.0).sum(axis=2)
    lead = np.take_along_axis(least, best, axis=2)[..., 0] - rivals.max(axis=2)
    settled = (lead > CLEAR + np.log(np.maximum(total, 1.0))) & (total > 0)
    words = np.arange(len(v.centre))[:, None]
    centre = v.centre[words, best[..., 0]]
    size = np.where(seen[..., None], v.size[:, None], 0.0).max(axis=2)
    rounds = 2 * gamma(float(total.max()) + 3 + form.kernel.between, form.u_sum)
    leaked = 4 * math.exp(-CLEAR) + (total * form.smallest)[..., None]
    error = v.radius[words, best[..., 0]] + (rounds + leaked) * size + form.smallest
    return settled, centre, error


class StoredScores:
    """Stored scores of every row and key, and how far they are off up to what a row shares."""

    def __init__(
        self, program: FloatProgram, q: Zonotope, k: Zonotope, seen: Truths, beta: float
    ) -> None:
        form = program.form
        if not math.isfinite(beta) or beta > form.largest:
            raise VoidError(RANGE)
        rows = q.centre.shape[-1]
        wide = rows > NARROW and form.kernel.wide_scores
        digits = WIDE_DIGITS if wide else form.sum_digits
        tiny = 5e-324 if wide else program.tiny
        score = np.einsum("brd,bkd->brk", q.centre, k.centre)
        parts = q.centre[:, :, None, :] * k.centre[:, None, :, :]
        spread = q.size[:, :, None, :] * k.size[:, None, :, :] - np.abs(parts)
        spread = np.where(spread > 0, spread, 0.0)
        whole = (np.abs(parts) + spread).sum(axis=-1)
        steps = program.grid(q, form.digits)[:, :, None] * program.grid(k, form.digits)[:, None]
        step = np.minimum(steps.min(axis=-1), ANY)
        known = (q.radius.sum(axis=-1)[:, :, None] + k.radius.sum(axis=-1)[:, None]) == 0
        size = np.abs(parts) + spread
        floats = _powers(q)[:, :, None, :] | _powers(k)[:, None, :, :]
        floats |= (steps >= tiny) & (size <= 2.0**digits * steps)
        # Two floats have one sum; a product that is none rounds before it cancels.
        pair = ((size > 0).sum(axis=-1) <= 2) & floats.all(axis=-1)
        total = np.abs(parts.sum(axis=-1)) + spread.sum(axis=-1)
        most = np.where(pair, total, greatest_part(parts, spread))
        exact = (step >= tiny) & (most <= 2.0**digits * step)
        own = OWN * (rows + 2) * whole
        rounds = self._rounds(floats, parts, spread, digits, tiny) + own
        rounds = np.where(exact, np.where(known, 0.0, own), rounds)
        best = np.where(seen, score, -np.inf).argmax(axis=2)
        off = rounds + self._noise(q, k, best)
        common = np.einsum("brd,bkd->brk", q.radius, np.abs(k.centre))  # what a row shares
        still = exact & known & program.repeats
        product = beta * score
        program.fits(np.where(seen, beta * whole, 0.0))
        if beta == 1 and not wide and not program.narrow:
            self.stored, self.off = score, off
            return
        near = form.store(product.astype(np.float64 if wide else form.accumulate))
        unit = half_unit(beta * (np.abs(score) + off + common), form.digits, form.smallest)
        unit = unit * (SLACK if wide or program.narrow else 1) + OWN * beta * whole
        if form.kernel.scales_queries:
            unit = unit + 2.0**-form.sum_digits * beta * whole
        self.stored = np.where(still, near.astype(np.float64), product)
        self.off = np.where(still, 0.0, beta * off + unit)

    def _rounds(
        self, floats: Truths, parts: Floats, spread: Floats, digits: int, tiny: float
    ) -> Floats:
        """What products and their sum round, in any order."""
        size = np.abs(parts) + spread
        products = np.where(floats, 0.0, half_unit(size, digits, tiny)).sum(axis=-1)
        count = (size > 0).sum(axis=-1)
        adds = any_order(parts, spread, count, digits, tiny)
        total = np.abs(parts.sum(axis=-1)) + spread.sum(axis=-1) + products + adds
        rounding: Floats = products + adds + (count > 1) * half_unit(total, digits, tiny)
        return rounding + count * tiny

    def _noise(self, q: Zonotope, k: Zonotope, best: npt.NDArray[np.int64]) -> Floats:
        """The keys' symbols through the query, and the query's through keys less the best one."""
        shape = (*q.centre.shape[:2], k.centre.shape[1])
        spread = np.zeros(shape)
        for s in range(len(k.symbols)):
            spread += np.abs(np.einsum("brd,bkd->brk", q.centre, k.generators[..., s, :]))
        if q.generators.any():
            chosen = np.take_along_axis(k.centre, best[..., None], axis=1)  # (words, R, d)
            apart = k.centre[:, None] - chosen[:, :, None]
            for s in range(len(q.symbols)):
                spread += np.abs(np.einsum("brd,brkd->brk", q.generators[..., s, :], apart))
            spread += np.einsum("brd,bkd->brk", q.radius, k.radius)
        return spread * (1 + 1e-9)


def _powers(x: Zonotope) -> Truths:
    """Numbers that are known to be 0 or a power of two: products with them are exact."""
    power = grids_of(x.centre) == np.abs(x.centre)
    return np.asarray((x.radius == 0) & (power | (x.centre == 0)))


def mean_of(
    program: FloatProgram, scores: Floats, off: Floats, seen: Truths, count: Floats, v: Zonotope
) -> Zonotope:
    """The mean of the values with the weights of these scores, which are off by at most `off`."""
    form, count = program.form, count[:, None, :]
    u, stored = 2.0**-form.sum_digits, 2.0**-form.digits
    tops = np.where(seen, scores, -np.inf).max(axis=2, keepdims=True)
    tops = np.where(np.isfinite(tops), tops, 0.0)
    below = np.where(seen, tops - scores, np.inf)  # (words, R, K)
    first = np.where(seen & (below == 0), off, 0.0).max(axis=2, keepdims=True)
    rivals = seen & (below <= off + first)
    sure = ~np.any(rivals & (off > 0), axis=2, keepdims=True)  # the maximum is a known float
    equal = seen & (below == 0) & sure
    dead = ~seen | (below - off - first > form.lost + 2)
    farther = np.where(seen, below, 0.0) + off + first
    exp_off = EXP_OFF + form.kernel.exp_units - DENSE.exp_units
    eta = off + SLACK * u * farther + exp_off * u + (SLACK * stored if program.narrow else 0.0)
    eta = np.where(equal, 0.0, eta)
    lost = np.any(~dead & (eta > STEEPEST), axis=2)[..., None]
    eta = np.minimum(eta, STEEPEST)
    weight = np.where(seen, count * np.exp(-below), 0.0)
    total = weight.sum(axis=2, keepdims=True)
    empty = total == 0
    share = weight / np.where(empty, 1.0, total)
    alive = np.where(dead, 0.0, count).sum(axis=2)
    crisp = (equal | dead).all(axis=2)
    centre = np.einsum("brk,bkd->brd", share, v.centre)
    least = (share * np.exp(-eta)).sum(axis=2)[..., None]
    apart = np.abs(v.centre[:, None] - centre[:, :, None])  # (words, R, K, d)
    within = v.radius[:, None]
    moved = np.einsum("brk,brkd->brd", share * np.expm1(eta), apart)
    passed = np.einsum("brk,bkd->brd", share * np.exp(eta), v.radius)
    shift = np.where(lost, np.inf, (moved + passed) / np.maximum(least, 1e-300))
    live = ~dead[..., None]
    hull = np.where(live, apart + within, 0.0).max(axis=2)
    size = np.where(live, (np.abs(v.centre) + v.radius)[:, None], 0.0).max(axis=2)
    mass = np.einsum("brk,bkd->brd", share * np.exp(eta), np.abs(v.centre) + v.radius)
    mass = np.where(lost, size, np.minimum(size, mass / np.maximum(least, 1e-300)))
    flushed = np.where(dead | equal, 0.0, count).sum(axis=2)[..., None] * form.smallest
    steps = np.array([gamma(c, u) for c in np.unique(alive)])
    rounds = (
        2 * steps[np.searchsorted(np.unique(alive), alive)][..., None]
        + (3 + form.kernel.between) * u
    )
    lone = (alive <= 1)[..., None]
    error = np.minimum(shift, hull) + (flushed + NOTHING) * (hull + size)
    error = error + np.where(lone, 0.0, rounds * mass + form.smallest)
    error = error + OWN * (v.centre.shape[1] + 8) * (size + hull)
    program.fits(np.where(np.isfinite(size), alive[..., None] * size, np.inf))
    # Weights of 0 and 1, values on a grid that holds their sum: one division.
    grid = program.grid(v, form.digits)
    step = np.where(live, grid[:, None], ANY).min(axis=2)
    most = np.where(live, count[..., None] * np.abs(v.centre)[:, None], 0.0).sum(axis=2)
    still = ~np.where(live, within > 0, False).any(axis=2)
    once = crisp[..., None] & still & program.repeats & (most <= 2.0**form.sum_digits * step)
    winners = np.where(equal, count, 0.0)
    sums = np.einsum("brk,bkd->brd", winners, v.centre).astype(form.accumulate)
    number = np.maximum(winners.sum(axis=2), 1)[..., None].astype(form.accumulate)
    centre = np.where(once, (sums / number).astype(np.float64), centre)
    error = np.where(once | empty, 0.0, error)
    centre = np.where(empty, 0.0, centre)
    if not np.isfinite(error).all():
        raise VoidError(RANGE)
    return exactly(centre).off(error)
