"""How far the softmax transformer in floats is from hard attention, or from softmax in the reals.

|float - hard| ≤ |float - soft| + |soft - hard|: where the second part is proved elsewhere (laws,
sets, words), this is the first; given how steep each head is (βγ, `Temperatures.steep`), it is
the left side at once. It follows the dense runtime step by step: every rounding (of weights,
position features, projections, scores, weights, averages, residuals), the format's range (a value,
score or β that may overflow voids the bound) and underflow. Integers and dyadic numbers that fit
the significand are exact, so equal scores made of them stay equal; so do quotients of them, which
are rounded once.

A row whose scores are off by at most e, pairwise, moves its attention by at most tanh(e/4) in
total variation; if it leaks at most L and has one maximum, by at most L·(e^e - 1). From hard
attention it is off by at most ρ + tanh(t/4), where ρ is what leaks in floats (`float_rows`) and t
how far scores that should be equal are apart: the theorem of temperature laws (`row_error` of
proofs/Ties.v).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.blocks import Blocks, blocks
from softhat.ahat.bounds.envelope import Envelope, feature_box, symbol_rows, token_box
from softhat.ahat.bounds.float_rows import FAR, BlockRow, BlockScores, Steep
from softhat.ahat.bounds.weights import HeadEntries, LayerWeights, Weights
from softhat.io.errors import VoidError
from softhat.numbers.positions import Feature, Named, Table
from softhat.numerics import walk
from softhat.numerics.boxes import Box
from softhat.numerics.entries import Entries, dyadic
from softhat.numerics.formats import WIDE_DIGITS, Format
from softhat.numerics.rounding import RANGE, SLACK, Arithmetic, Rounded, gamma

Floats = npt.NDArray[np.float64]
HeadId = tuple[int, int]
FOREVER = 1 << 24  # no length beyond is asked for


@dataclass(frozen=True, slots=True)
class Temperatures:
    """β and leak of every head at a length (or bounds over a stretch of lengths)."""

    beta: Mapping[HeadId, float]
    leak: Mapping[HeadId, float]  # of softmax in the reals; 1 if nothing is known
    single: Mapping[HeadId, bool]  # one key is maximal in every row
    near: Mapping[HeadId, int]  # at most so many keys have a weight that does not underflow to 0
    steep: Mapping[HeadId, Steep] | None = None  # given: errors are against hard attention
    benign: Collection[HeadId] = ()  # maximal keys of a row have equal values


def float_error(used: Weights, low: int, high: int, heads: Temperatures, form: Format) -> float:
    """A bound on |float value - softmax value| for all words of length low … high; inf if there is
    none. With `heads.steep` it is one on |float value - hard value|."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            error = _float_error(used, blocks(used.model, low, high), heads, form)
        except VoidError:
            return math.inf
    return error if math.isfinite(error) else math.inf


class _BlockFloats(Arithmetic):
    """One layer in floats, for blocks of positions."""

    def __init__(
        self,
        form: Format,
        heads: Temperatures,
        blocks: Blocks,
        keys: int,
        l: int,
        layer: LayerWeights,
        before: Box,
    ) -> None:
        super().__init__(form, Envelope(blocks, layer, before))
        self.heads, self.blocks, self.keys, self.layer = heads, blocks, keys, layer
        self.names = {id(head): (l, h) for h, head in enumerate(layer.heads)}

    def passed(self, x: Rounded, matrix: Entries) -> Floats:
        """An error of a sum passes through all units that share it at once."""
        if x.sums is None:
            return super().passed(x, matrix)
        shared = x.sums.error
        passed: Floats = np.maximum(x.error - shared, 0.0) @ matrix.size.T
        for units in self.layer.alike:
            passed = passed + shared[:, units[:1]] * _steepest(self.layer, units)
        return passed

    def attend(self, query: Rounded, key: Rounded, value: Rounded, head: HeadEntries) -> Rounded:
        """What a head averages; storing is in the bound, since what leaks rounds with it."""
        at, v, name = self, value, self.names[id(head)]
        seen, empty = self.blocks.seen(head.mask), head.mask in ("<", ">")
        row = self._row(name, head, query, key, seen)
        hull = v.box.seen(seen, empty)
        hat, worst = _most(v.hat, seen), _most(v.error, seen)
        at.fits(self.keys * hat, summed=True)
        moved, leak, single = self._moved(name, row)
        around = 3 + self.form.kernel.between  # roundings of a mean beside those of its sums
        growth = 1 + gamma(self.keys + around, at.u_sum)
        leak = np.minimum(leak + self.keys * at.tiny, 2 * leak)[:, None]
        # One key is maximal, or the values of maximal keys are summed exactly, since what leaks is
        # less than half a unit in the last place of every sum that is not 0.
        winners = row.winners[:, :, None]
        grid = np.where(winners, v.grid[None], np.inf).min(axis=1)
        largest = np.where(winners, v.size[None], 0.0).max(axis=1)
        whole = (grid > 0) & (self.keys * largest * at.u_sum <= grid) & (row.apart == 0)
        leaked = np.where(leak == 0, 0.0, growth * leak)
        whole &= (leaked <= at.u_sum / 4) & (leaked * hat <= at.u_sum * grid / 4)
        stored = at.u if at.narrow else 0.0
        # The value of a single key is a float, and so is the one value that keys of a tie agree on:
        # dividing and storing may at most double what leaked.
        agreed = name in self.heads.benign and _most(v.error, row.winners) == 0
        rounds = 16 * leaked + np.where(single | agreed, 0.0, at.u_sum + stored)
        closed = _most(v.error, row.winners) + SLACK * rounds * hat
        closed = np.where(single | whole, closed + at.tiny, np.inf)
        count = min(self.keys, self.heads.near.get(name, self.keys))  # adding 0 rounds nothing
        rounding = 2 * gamma(count + around, at.u_sum) + SLACK * stored
        shift = np.minimum(1.0, moved + self.keys * at.tiny)[:, None]
        error = worst + shift * (hull.high - hull.low + 2 * worst) + rounding * hat + at.tiny
        error = np.minimum(error, np.where(np.isnan(closed), np.inf, closed))
        steep = None if self.heads.steep is None else self.heads.steep.get(name)
        if steep is not None and steep.own is not None and row.away is not None:
            # Weights of keys are off by e^±away against a maximal one's, and so is their mean by
            # e^(2·away) of what it is below that.
            below = np.exp(np.minimum(2 * row.away, FAR))[:, None] * np.array(steep.own)
            lost = self.keys * at.tiny * (hull.high - hull.low)
            error = np.minimum(error, worst + below + lost + rounding * hat + at.tiny)
        nothing = (v.size == 0).all(axis=0) & (v.error == 0).all(axis=0)
        error = np.where(nothing, 0.0, error)
        size = (SLACK * leaked * hat + at.tiny * (leak > 0)).max(axis=0)
        tied = np.where(whole.all(axis=0), size, np.inf)
        return Rounded(error, hull, np.zeros_like(error), np.where(nothing, 0.0, tied))

    def _row(
        self,
        name: HeadId,
        head: HeadEntries,
        q: Rounded,
        k: Rounded,
        seen: npt.NDArray[np.bool_],
    ) -> BlockRow:
        """The rows of a head, by the blocks of their queries."""
        if not len(head.query.values):
            return BlockRow(np.zeros(len(seen)), seen, 0.0, 0.0)
        beta = self.heads.beta.get(name, 1.0)
        if not math.isfinite(beta) or beta > self.form.largest:
            raise VoidError(RANGE)
        scores = BlockScores(self, q, k, seen, self.blocks.surely(head.mask), beta)
        steep = None if self.heads.steep is None else self.heads.steep.get(name)
        return scores.row(steep, self.blocks, self.heads.single.get(name, False))

    def _moved(self, name: HeadId, row: BlockRow) -> tuple[Floats, Floats, bool]:
        """For each block of queries the total variation that scores make, the weight of keys that
        are not maximal, over that of one that is (inf: not known), and whether one key is."""
        count = len(row.leak)
        if self.keys == 1:
            return np.zeros(count), np.zeros(count), True  # one key takes all
        single = self.heads.single.get(name, False)
        if self.heads.leak.get(name) == 0.0:  # all scores are equal in the reals
            return np.full(count, math.tanh(row.apart / 4)), np.zeros(count), False
        if self.heads.steep is None:
            moved = math.tanh(row.spread / 4)
            if single and row.spread < 1:
                moved = min(moved, self.heads.leak.get(name, 1.0) * math.expm1(row.spread))
            return np.full(count, moved), np.full(count, np.inf), False
        harmless = single or name in self.heads.benign
        tilt = 0.0 if harmless else math.tanh(row.apart / 4)
        right = row.leak < 0.5  # then the maximum in floats is a maximum
        return np.minimum(1.0, row.leak + tilt), np.where(right, row.leak, np.inf), single


def _float_error(used: Weights, parts: Blocks, heads: Temperatures, form: Format) -> float:
    keys = parts.high + used.model.sinks
    at = Arithmetic(form)
    x = walk.embedding(at, used.places, _tokens(used, parts, form), _features(used, parts, at))
    for l, layer in enumerate(used.layers):
        domain = _BlockFloats(form, heads, parts, keys, l, layer, x.box)
        x = walk.attention(domain, layer, x)
        if layer.into is not None:
            x = walk.feed_forward(domain, layer, x)
    y = walk.read_out(at, used.readout, used.bias, x)
    return float(y.error.max()) * (1 + 1e-9)  # of this computation's own rounding


def _tokens(used: Weights, parts: Blocks, form: Format) -> Rounded:
    """Rows of the embedding, loaded. Equal entries have equal floats."""
    rows = symbol_rows(used, parts)
    held = used.tokens.loaded(form)
    return Rounded(
        np.stack([held.load[r].max(axis=0) for r in rows]),
        token_box(used, parts),
        np.stack([held.grid[r].min(axis=0) for r in rows]),
        np.zeros(held.load.shape[1]),
    )


def _features(used: Weights, parts: Blocks, at: Arithmetic) -> Rounded:
    """Position features: the nearest float64, then the nearest of the format."""
    box = feature_box(used, parts)
    at.fits(box.size)
    steps = np.array([_feature_grid(f) for f in used.model.positions], dtype=np.float64)
    grid = at.on_grid(np.broadcast_to(steps, box.size.shape), box.size)
    rounds = at.u + (0.0 if at.form.digits == WIDE_DIGITS else (1 + at.u) * 2.0**-WIDE_DIGITS)
    error = np.where(grid > 0, 0.0, rounds * box.size + at.tiny)
    return Rounded(error, box, grid, np.full(len(steps), np.inf))


def _most(x: Floats, visible: npt.NDArray[np.bool_]) -> Floats:
    """For each block of queries the greatest over the blocks of keys."""
    greatest: Floats = np.where(visible[:, :, None], x[None], 0.0).max(axis=1)
    return greatest


def _steepest(layer: LayerWeights, units: npt.NDArray[np.int64]) -> Floats:
    """The greatest slope of what units that share a sum write to each coordinate."""
    assert layer.out is not None and layer.into_bias is not None
    order = units[np.argsort(-layer.into_bias.values[0][units], kind="stable")]
    slopes: Floats = np.abs(np.cumsum(layer.out.values[:, order], axis=1)).max(axis=1)
    return slopes * (1 + 1e-12)


def _feature_grid(feature: Feature) -> float:
    match feature:
        case Named(name):
            return 0.0 if "/" in name else 1.0
        case Table(entries):
            return min((dyadic(e)[0] for e in entries), default=1.0)
    return 1.0


def longest(fits: Callable[[int, int], bool], enough: int = FOREVER) -> int:
    """The greatest n up to `FOREVER` such that every length 1 … n is in a stretch that fits; where
    that is more than `enough`, a length from there on may be given.

    Beyond some thousands it is found to within one part in 4,096: more would take too long."""
    done, step = 0, 1
    while done < enough:
        high = min(done + step, FOREVER)
        if fits(done + 1, high):
            done, step = high, min(2 * step, max(1, high // 2))
        elif step <= max(1, done >> 12):
            return done
        else:
            step = max(1, step // 4)
    return done
