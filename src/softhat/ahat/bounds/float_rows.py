"""A row of attention in floats: how far below the maximum other keys stay, and equal ones apart.

Theorem 31. Let the keys of a row lie D_j below the maximum (times β), and let their float scores
be off against the maximum's by at most e_j. Then the floats' weights outside the argmax set are at
most ρ = Σ_j e^(e_j - D_j), in units of a maximal key's weight, which is exactly 1 if one key is
maximal or equal scores have equal floats. If one key is maximal, the head's result in floats is off
from that key's value by at most 16(1+γ)·ρ·max|v|, in whatever order sums are taken: adding t to a
float moves it by at most 2t, rounding included, so what leaks cannot round more than it weighs; the
division and the rounding to storage double it at most, since the value is a float. If several are,
their values lie on a grid g on which sums fit the significand, and what leaks is below g·u/4, it
vanishes in every sum that is not 0: there are one division and storage besides 4(1+γ)·ρ·max|v|.
γ = (1+u)^T - 1 for T keys.

D_j is at least βγ(n) by the gap law, m times that for all but c·m keys where `peaks.crowd` is c,
and at least the distance of the intervals that the scores of two blocks of positions lie in. e_j is
the rounding of the keys (in proportion to what a block holds), of the products and of β·s, half a
unit in the last place at the size of the score; the query's own rounding counts with the distance
of two keys. Scores on one grid that fits the significand have e_j = 0 but for the product with β.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.blocks import Blocks
from softhat.numbers.laws import Law
from softhat.numerics.formats import NARROW, WIDE_DIGITS
from softhat.numerics.rounding import SLACK, Arithmetic, Rounded

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
FAR = 60.0  # keys this far below the maximum are not counted as its neighbours
HOPELESS = 600.0


@dataclass(frozen=True, slots=True)
class Steep:
    """How far below the maximum a head's other keys are."""

    drop: float  # βγ, at least
    crowd: int | None  # at most so many keys at each multiple of it; None: any number
    least: float = 0.0  # β, at least
    gap: Law | None = None  # given: row i is the last of a word of length i, with this gap
    slopes: tuple[float, ...] | None = None
    """Given: the m-th neighbour of the maximum lies m gaps below it, and each row of its key
    differs from the maximum's by at most m times this."""
    own: tuple[float, ...] | None = None
    """Given: the head returns its own score, and in the reals each row of its value is off by at
    most this (Theorem 44)."""

    def drops(self, blocks: Blocks) -> Floats:
        """βγ for the rows of each block."""
        if self.gap is None:
            return np.full(len(blocks.parts), self.drop)
        here = self.gap.log_at(blocks.low)
        ratios = [
            math.exp(min(self.gap.log_at(max(1, min(b.last, blocks.high))) - here, 600.0))
            for b in blocks.parts
        ]
        return self.drop * np.maximum(1.0, np.array(ratios) * (1 - 1e-9))


@dataclass(frozen=True, slots=True)
class BlockRow:
    """What the rows of each block of queries are like."""

    leak: Floats  # (blocks,): ρ; inf if not known
    winners: Truths  # [I, J]: may the maximum of a row of block I lie in block J?
    apart: float  # of the scores of two maximal keys, in floats
    spread: float  # how far two keys' scores can be off against each other
    away: Floats | None = None  # (blocks,): how far any key's score can be off against a maximum


class BlockScores:
    """The scores of a head in floats, for every two blocks."""

    def __init__(
        self, at: Arithmetic, q: Rounded, k: Rounded, seen: Truths, sure: Truths, beta: float
    ) -> None:
        self.at, self.q, self.k, self.seen, self.beta = at, q, k, seen, beta
        rows, form = q.error.shape[1], at.form
        self.rows = rows
        wide = rows > NARROW and form.kernel.wide_scores
        u_sum = 2.0**-WIDE_DIGITS if wide else at.u_sum
        tiny = 5e-324 if wide or form.sum_digits == WIDE_DIGITS else 2.0**-149
        parts = q.hat[:, None, :] * k.hat[None, :, :]
        size = parts.sum(axis=2)
        at.fits(size)
        at.fits(beta * size)
        self.low, self.high = self._range(size)
        steps = (q.grid[:, None, :] * k.grid[None, :, :]).min(axis=2)
        self.exact = (steps >= tiny) & (size * u_sum <= steps)
        scaled = _powers(q)[:, None, :] | _powers(k)[None, :, :]
        rounding = np.where(scaled, 0.0, parts).sum(axis=2)
        reals = np.maximum(np.abs(self.low), np.abs(self.high))
        if rows > 1:
            rounding = rounding + max(0, rows - 2) * size + np.minimum(size, reals)
        arithmetic = SLACK * u_sum * rounding + (rows + 1) * tiny
        # The product with β, and its rounding: of its 6 bits the last is at least β/64.
        self.final = self.exact & (size * (1 if beta == 1 else 64) <= at.most * steps)
        # One key's score, before β: its own rounding and the products'.
        self.one = q.hat @ k.error.T + np.where(self.exact, 0.0, arithmetic)
        if form.kernel.scales_queries and beta != 1:
            self.one = self.one + np.where(self.final, 0.0, SLACK * at.u_sum * size)
        self.untouched = beta == 1 and not wide and not at.narrow
        self.double = SLACK * u_sum if wide or at.narrow else 0.0
        self.sure = np.where(sure & seen, self.low, -np.inf).max(axis=1)
        self.weights = (form.lost + form.kernel.exp_units) * at.u_sum + at.u

    def _range(self, size: Floats) -> tuple[Floats, Floats]:
        """Scores in the reals, from the signs of their products."""
        q, k = self.q.box, self.k.box
        ends = [a[:, None, :] * b[None, :, :] for a in (q.low, q.high) for b in (k.low, k.high)]
        low, high = np.minimum.reduce(ends).sum(axis=2), np.maximum.reduce(ends).sum(axis=2)
        return low - 1e-11 * size, high + 1e-11 * size

    def _stored(self, low: Floats) -> Floats:
        """How much a score between `low` and `high` rounds when it is multiplied by β."""
        if self.untouched:
            return np.zeros_like(low)
        size = self.beta * (np.maximum(np.abs(low), np.abs(self.high)) + self.one)
        rounds = self.at.u * 2.0 ** np.floor(np.log2(np.maximum(size, 1e-300) * (1 + 1e-9)))
        rounds = rounds + self.double * size + self.at.tiny
        error: Floats = np.where(self.final, 0.0, rounds)
        return error

    def off(self) -> tuple[Floats, Floats]:
        """[I, W, J]: how far a key in block J can be off against a maximum in block W, and how
        much of that is the query's own rounding."""
        best = self._stored(np.maximum(self.low, self.sure[:, None]))
        other = self._stored(self.low)
        k = self.k.box
        far = np.maximum(k.high[None, :] - k.low[:, None], k.high[:, None] - k.low[None, :])
        query = self.beta * np.einsum("ir,wjr->iwj", self.q.error, far)
        keys = (self.beta * self.one + other)[:, None, :] + (self.beta * self.one + best)[
            :, :, None
        ]
        return query + keys + 2 * self.weights, query

    def row(self, steep: Steep | None, blocks: Blocks, single: bool) -> BlockRow:
        """Rows against hard attention; without `steep`, only how far scores are off."""
        pairs = self.seen[:, :, None] & self.seen[:, None, :]
        off, query = self.off()
        if steep is None:
            spread = float(np.where(pairs, off, 0.0).max())
            return BlockRow(
                np.full(len(off), np.inf), self.seen, self._apart(self.seen, spread), spread
            )
        winners = self.seen & (self.high >= self.sure[:, None])
        both = winners[:, :, None] & winners[:, None, :]
        spread = float(np.where(both, off, 0.0).max())
        apart = 0.0 if single else self._apart(winners, spread)
        leak = self._leak(steep, blocks, off, query, pairs)
        away = np.where(winners[:, :, None] & pairs, off, 0.0).max(axis=(1, 2))
        return BlockRow(np.where(winners, leak, 0.0).max(axis=1), winners, apart, spread, away)

    def _leak(
        self, steep: Steep, blocks: Blocks, off: Floats, query: Floats, pairs: Truths
    ) -> Floats:
        """[I, W]: ρ for a maximum in block W."""
        drop = steep.drops(blocks)[:, None, None]
        if steep.drop <= 0:
            return np.full(off.shape[:2], np.inf)
        top = np.maximum(self.low, self.sure[:, None])[:, :, None]
        below = steep.least * (top - self.high[:, None, :])
        away = np.maximum(drop, below)
        each = np.where(pairs, blocks.counts * _exp(off - away), 0.0)
        leak = each.sum(axis=2)
        if steep.crowd is None:
            return leak
        near = pairs & (below - off < FAR + np.log(blocks.counts))
        rest = np.where(near, 0.0, each).sum(axis=2)
        crowded = rest + _geometric(steep.crowd, drop[:, :, 0], np.where(near, off, 0).max(axis=2))
        leak = np.minimum(leak, crowded)
        if steep.slopes is not None:
            tilt = self.beta * (self.q.error @ np.array(steep.slopes))[:, None]
            still = np.where(near, off - query, 0.0).max(axis=2)
            leak = np.minimum(leak, rest + _geometric(steep.crowd, drop[:, :, 0] - tilt, still))
        return leak

    def _apart(self, winners: Truths, spread: float) -> float:
        """How far scores that should be equal can be apart; 0 where equal ones stay equal."""
        if np.where(winners, self.exact, True).all():
            return 0.0
        if self.rows == 1 and not self.q.error.any() and math.isfinite(self.k.tied[0]):
            # Equal scores have equal keys: equal floats, or floats that stand for 0.
            return 2.02 * self.beta * float(self.q.hat.max() * self.k.tied[0])
        return spread


def _powers(x: Rounded) -> Truths:
    """Where a quantity is one number, 0 or a power of two: products with it are exact."""
    steps = np.where(x.grid > 0, x.grid, 1.0)
    one = (x.grid > 0) & (x.box.high - x.box.low < steps / 4)  # a multiple of the grid
    value = np.round((x.box.low + x.box.high) / 2 / steps) * steps
    power = (np.abs(np.frexp(value)[0]) == 0.5) & (np.abs(value) >= 1)
    return np.asarray((one & power) | x.still)


def _exp(x: Floats) -> Floats:
    powers: Floats = np.exp(np.minimum(x, HOPELESS))
    return powers


def _geometric(crowd: int, drop: Floats, off: Floats) -> Floats:
    """Σ crowd·e^(off - m·drop) over m = 1, 2, …"""
    steep = np.maximum(drop, 1e-300)
    series: Floats = crowd / np.expm1(np.minimum(steep, HOPELESS)) * _exp(off)
    return np.where(drop > 0, series, np.inf)
