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

from softhat.ahat.bounds.blocks import blocks
from softhat.ahat.bounds.envelope import LayerBoxes, envelope, feature_box, symbol_rows
from softhat.ahat.bounds.float_rows import BlockRow, BlockScores, Steep
from softhat.ahat.bounds.weights import HeadEntries, LayerWeights, Weights
from softhat.io.errors import VoidError
from softhat.numbers.positions import Feature, Named, Table
from softhat.numerics.boxes import Box
from softhat.numerics.entries import dyadic
from softhat.numerics.formats import Format
from softhat.numerics.rounding import INEXACT, RANGE, SLACK, Arithmetic, Rounded, gamma, scaled

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
            found = _BoxWalk(used, low, high, heads, form).run()
        except VoidError:
            return math.inf
    return found if math.isfinite(found) else math.inf


class _BoxWalk:
    """One forward pass of bounds, in the order of the dense runtime."""

    def __init__(
        self, used: Weights, low: int, high: int, heads: Temperatures, form: Format
    ) -> None:
        self.used, self.heads, self.form, self.at = used, heads, form, Arithmetic(form)
        self.blocks = blocks(used.model, low, high)
        self.keys = high + used.model.sinks

    def run(self) -> float:
        boxes, end = envelope(self.used, self.blocks)
        x = self._embedding(boxes[0].before if boxes else end)
        for l, (layer, box) in enumerate(zip(self.used.layers, boxes, strict=True)):
            x = self._attention(l, layer.heads, x, box)
            after = boxes[l + 1].before if l + 1 < len(boxes) else end
            x = self._forward(layer, x, box, after)
        y = self.at.shifted(self.at.linear(x, self.used.readout, stored=False), self.used.bias)
        return float(y.error.max()) * (1 + 1e-9)

    def _embedding(self, box: Box) -> Rounded:
        """Token row plus position features through their matrix, then rounded."""
        used, at, form = self.used, self.at, self.form
        features = feature_box(used, self.blocks)
        steps = np.array([_feature_grid(f) for f in used.model.positions], dtype=np.float64)
        self.at.fits(features.size)
        grid = at.on_grid(np.broadcast_to(steps, features.size.shape), features.size)
        error = np.where(grid > 0, 0.0, SLACK * at.u * features.size + at.tiny)
        nothing = np.full(len(steps), np.inf)
        placed = at.linear(Rounded(error, features, grid, nothing), used.places, stored=False)
        rows = symbol_rows(used, self.blocks)
        size = np.stack([used.tokens.size[r].max(axis=0) for r in rows])
        token_grid = np.stack([used.tokens.grid(form)[r].min(axis=0) for r in rows])
        total = size + placed.hat
        at.fits(total)
        both = (size > 0) & (placed.hat > 0)
        one = at.operations(used.places)[1]
        relative = at.u * (token_grid == 0) + at.u_sum * both
        relative = relative + at.u * (at.narrow & (both | ((placed.hat > 0) & ~one)))
        error = placed.error + SLACK * relative * total + at.tiny * (relative > 0)
        grid = at.on_grid(np.minimum(token_grid, placed.grid), total)
        error = np.where((grid > 0) | (total == 0), 0.0, error)
        return Rounded(error, box, grid, np.where((error > 0).any(axis=0), np.inf, 0.0))

    def _attention(
        self, l: int, heads: tuple[HeadEntries, ...], x: Rounded, box: LayerBoxes
    ) -> Rounded:
        """The heads' results through one matrix, added to the residual, then rounded."""
        if not heads:
            return x
        at, still = self.at, x.still
        terms, powers = np.zeros(len(x.tied)), np.ones(len(x.tied), dtype=bool)
        error, added, loaded = np.zeros_like(x.error), np.zeros_like(x.error), powers.copy()
        tied = np.where(still.all(axis=0), 0.0, np.inf)
        for h, head in enumerate(heads):
            o = self._head((l, h), head, x)
            at.fits(head.output.size)  # a weight that overflows makes 0 times it no number
            tied = tied + scaled(head.output, o.tied)
            error = error + o.error @ head.output.size.T
            added = added + o.hat @ head.output.size.T
            used = head.output.size > 0
            grown = head.output.grid(self.form) > 0
            terms = terms + used.sum(axis=1)
            loaded &= np.where(used, grown, True).all(axis=1)
            one = grown & (head.output.digits == 1) & (head.output.size >= 1)
            powers &= np.where(used, one, True).all(axis=1)
        at.fits(added)
        sums = np.maximum(terms - 1, 0) + ~powers
        relative = at.u * ~loaded + at.u_sum * sums
        error = error + SLACK * relative * added + at.tiny * (terms + 1) * ~powers
        total = np.minimum(x.size + added, box.middle.size) + x.error + error
        error = x.error + error
        relative = at.u_sum * ~still + at.u * (at.narrow & ~(still & (terms == 1) & powers))
        error = error + SLACK * relative * total
        touched = terms > 0
        error = np.where(touched, error, x.error)
        at.fits(box.middle.size + error)
        grid = np.where(touched, INEXACT, x.grid)
        tied = np.where(touched, np.where(terms == 1, tied, np.inf), x.tied)
        return Rounded(error, box.middle, grid, tied)

    def _head(self, name: HeadId, head: HeadEntries, x: Rounded) -> Rounded:
        """What a head averages, before its output matrix."""
        at, v = self.at, self.at.linear(x, head.value)
        seen, empty = self.blocks.seen(head.mask), head.mask in ("<", ">")
        row = self._row(name, head, x, seen)
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
        kept = np.where(winners, v.size[None], 0.0).max(axis=1)
        whole = (grid > 0) & (self.keys * kept * at.u_sum <= grid) & (row.apart == 0)
        leaked = np.where(leak == 0, 0.0, growth * leak)
        whole &= (leaked <= at.u_sum / 4) & (leaked * hat <= at.u_sum * grid / 4)
        stored = at.u if at.narrow else 0.0
        # The value of a single key is a float: dividing and storing may at most double what leaked.
        rounds = 16 * leaked if single else 4 * leaked + at.u_sum + stored
        closed = _most(v.error, row.winners) + SLACK * rounds * hat
        closed = np.where(single | whole, closed + at.tiny, np.inf)
        count = min(self.keys, self.heads.near.get(name, self.keys))  # adding 0 rounds nothing
        rounding = 2 * gamma(count + around, at.u_sum) + SLACK * stored
        shift = np.minimum(1.0, moved + self.keys * at.tiny)[:, None]
        error = worst + shift * (hull.high - hull.low + 2 * worst) + rounding * hat + at.tiny
        error = np.minimum(error, np.where(np.isnan(closed), np.inf, closed))
        nothing = (v.size == 0).all(axis=0) & (v.error == 0).all(axis=0)
        error = np.where(nothing, 0.0, error)
        size = (SLACK * leaked * hat + at.tiny * (leak > 0)).max(axis=0)
        tied = np.where(whole.all(axis=0), size, np.inf)
        return Rounded(error, hull, np.zeros_like(error), np.where(nothing, 0.0, tied))

    def _row(
        self, name: HeadId, head: HeadEntries, x: Rounded, seen: npt.NDArray[np.bool_]
    ) -> BlockRow:
        """The rows of a head, by the blocks of their queries."""
        if not len(head.query.values):
            return BlockRow(np.zeros(len(seen)), seen, 0.0, 0.0)
        beta = self.heads.beta.get(name, 1.0)
        if not math.isfinite(beta) or beta > self.form.largest:
            raise VoidError(RANGE)
        q, k = self.at.linear(x, head.query), self.at.linear(x, head.key)
        scores = BlockScores(self.at, q, k, seen, self.blocks.surely(head.mask), beta)
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

    def _forward(self, layer: LayerWeights, x: Rounded, box: LayerBoxes, after: Box) -> Rounded:
        """The hidden units, rounded; their sum with the residual, rounded."""
        if layer.into is None or layer.out is None or box.sums is None:
            return x
        assert layer.into_bias is not None and layer.out_bias is not None
        at, out = self.at, layer.out
        at.fits(out.size)
        sums = at.linear(x, layer.into, stored=False)
        hidden = at.shifted(sums, layer.into_bias)
        active = np.maximum(np.minimum(hidden.box.high, hidden.size), 0.0)
        # An error of the sum passes through all units that share it at once.
        own = np.maximum(hidden.error - sums.error, 0.0)
        passed = own @ out.size.T
        for units in layer.alike:
            passed = passed + sums.error[:, units[:1]] * _steepest(layer, units)
        bias = layer.out_bias.size[0]
        added = (active + hidden.error) @ out.size.T + bias
        total = x.size + added
        used = out.size > 0
        terms = used.sum(axis=1) + (bias > 0)
        exact_weights = np.where(used, out.grid(self.form) > 0, True).all(axis=1)
        powers = np.where(used, (out.digits == 1) & (out.grid(self.form) > 0), True).all(axis=1)
        sums_of = np.maximum(terms - 1, 0) + ~powers
        relative = at.u * ~(exact_weights & (layer.out_bias.grid(self.form)[0] > 0))
        error = x.error + passed + SLACK * (relative + at.u_sum * sums_of) * added
        last = at.u_sum * ~x.still + at.u * at.narrow
        error = error + SLACK * last * (total + x.error) + at.tiny * (terms + 1)
        grid = np.minimum(
            out.product_grid(hidden.grid, self.form), layer.out_bias.grid(self.form)[0]
        )
        grid = np.where(x.still, grid, np.minimum(grid, x.grid))
        grid = at.on_grid(grid, total)
        touched = terms > 0
        error = np.where(touched, np.where(grid > 0, 0.0, error), x.error)
        at.fits(total + error)
        grid = np.where(touched, grid, x.grid)
        tied = np.where(touched, np.where((grid > 0).all(axis=0), 0.0, np.inf), x.tied)
        return Rounded(error, after, grid, tied)


def _most(x: Floats, visible: npt.NDArray[np.bool_]) -> Floats:
    """For each block of queries the greatest over the blocks of keys."""
    found: Floats = np.where(visible[:, :, None], x[None], 0.0).max(axis=1)
    return found


def _steepest(layer: LayerWeights, units: npt.NDArray[np.int64]) -> Floats:
    """The greatest slope of what units that share a sum write to each coordinate."""
    assert layer.out is not None and layer.into_bias is not None
    order = units[np.argsort(-layer.into_bias.values[0][units], kind="stable")]
    found: Floats = np.abs(np.cumsum(layer.out.values[:, order], axis=1)).max(axis=1)
    return found * (1 + 1e-12)


def _feature_grid(feature: Feature) -> float:
    match feature:
        case Named(name):
            return 0.0 if "/" in name else 1.0
        case Table(entries):
            return min((dyadic(e)[0] for e in entries), default=1.0)
    return 1.0


def longest(fits: Callable[[int, int], bool]) -> int:
    """The greatest n up to `FOREVER` such that every length 1 … n is in a stretch that fits.

    Beyond some thousands it is found to within one part in 4,096: more would take too long."""
    done, step = 0, 1
    while done < FOREVER:
        high = min(done + step, FOREVER)
        if fits(done + 1, high):
            done, step = high, min(2 * step, max(1, high // 2))
        elif step <= max(1, done >> 12):
            return done
        else:
            step = max(1, step // 4)
    return done
