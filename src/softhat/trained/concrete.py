"""Whole words through all layers, with a bound of the rounding at every step.

This decides a word for every kernel at once: if a margin exceeds its bound, no order of sums and no
fused attention can turn the decision. Enumerating all words of a length this way is a proof, for a
model of any depth.

`PositionWalk` takes many prefixes at once, with errors in balls (`balls`). Where those are too
coarse, `Prefixes` walks single prefixes with errors as generators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.trained.balls import Balls, Growths, HeadWays, lengths
from softhat.trained.checkpoint import Block, Checkpoint
from softhat.trained.first_layer import head_parts, score_slack, swayed
from softhat.trained.points import Points, own_error
from softhat.trained.rounding import Array, Rounding, raised
from softhat.trained.steepness import LastSteps
from softhat.trained.walk import embedding, feed_forward, logits, queries_keys_values
from softhat.trained.zonotopes import ActivationSet

MANY = 400
"""Prefixes whose keys are kept with their errors as generators; more would take much memory."""


@dataclass(frozen=True, slots=True)
class PrefixRows:
    """Queries, keys and values of all positions of some prefixes, in one layer: (prefixes,
    positions, …). Their errors: what entered the norm before them, a ball that goes through the
    weights, and a radius for each head's."""

    centre: Array
    radius: Array
    ball: Array
    """(prefixes, positions)."""

    def chosen(self, prefixes: NDArray[np.int64]) -> PrefixRows:
        return PrefixRows(self.centre[prefixes], self.radius[prefixes], self.ball[prefixes])

    def longer(self, row: Balls) -> PrefixRows:
        """With one position more."""
        assert row.carried is not None
        return PrefixRows(
            np.concatenate([self.centre, row.centre[:, None]], 1),
            np.concatenate([self.radius, row.radius[:, None]], 1),
            np.concatenate([self.ball, row.carried.radius[:, None]], 1),
        )


class PositionWalk:
    """A model, walked one position after the other, for many prefixes of one length at a time."""

    def __init__(self, model: Checkpoint, offset: int, rounding: Rounding) -> None:
        self.model, self.offset, self.rounding = model, offset, rounding
        self.growths = Growths(model)
        self.last = LastSteps(model, self.growths, rounding)

    def longer(
        self, before: Sequence[PrefixRows], ids: NDArray[np.int64], asked: NDArray[np.bool_]
    ) -> tuple[tuple[PrefixRows, ...], Balls]:
        """Prefixes with one token more: the rows of each layer, and the stream after the last
        layer's attention where it is asked for."""
        model, rounding = self.model, self.rounding
        place = self.offset + (before[0].centre.shape[1] if before else 0)
        token = embedding(model, ids, np.array([place]), rounding)
        x = Balls(token.centre, lengths(token.error)[:, None], self.growths)
        rows = []
        for layer, block in enumerate(model.blocks):
            mixed = queries_keys_values(x, block, model, rounding)
            count, parts = mixed.radius.shape
            none = np.zeros((count, 0, mixed.centre.shape[1]))
            earlier = before[layer] if before else PrefixRows(none, none[..., :parts], none[..., 0])
            now = earlier.longer(mixed)
            rows.append(now)
            if layer == len(model.blocks) - 1:
                chosen = np.flatnonzero(asked)
                x, now = x.chosen(chosen), now.chosen(chosen)
            x = attended(x, now, block, model, rounding)
            if layer < len(model.blocks) - 1:
                x = feed_forward(x, block, model, rounding)
        return tuple(rows), x

    def logits(self, read: Balls) -> Points:
        """The logits of streams after the last layer's attention."""
        after = feed_forward(read, self.model.blocks[-1], self.model, self.rounding)
        out = logits(after, self.model, self.rounding)
        return Points(out.centre, out.entries)


def bounded_logits(
    model: Checkpoint, ids: NDArray[np.int64], offset: int, rounding: Rounding
) -> Points:
    """(words, positions, outputs): the logits of words of one length, and their errors."""
    positions = PositionWalk(model, offset, rounding)
    rows: tuple[PrefixRows, ...] = ()
    every, centres, errors = np.ones(len(ids), bool), [], []
    for at in range(ids.shape[1]):
        rows, read = positions.longer(rows, ids[:, at], every)
        out = positions.logits(read)
        centres.append(out.centre)
        errors.append(out.error)
    return Points(np.stack(centres, 1), np.stack(errors, 1))


def attended(
    x: Balls, rows: PrefixRows, block: Block, model: Checkpoint, rounding: Rounding
) -> Balls:
    """The first half of a layer, for the last position: attention to all, its projection, the
    sum."""
    count, length, _ = rows.centre.shape
    heads, size = model.heads, model.width // model.heads
    parts = rows.centre.reshape(count, length, 3, heads, size)
    radii = rows.radius.reshape(count, length, 3, heads)
    reads, sizes, error, generators = [], [], np.zeros(count), []
    for head in range(heads):
        ways = x.growths.head(block, head)
        query = Points(parts[:, -1, 0, head] * model.scale, radii[:, -1:, 0, head] * model.scale)
        key = Points(parts[:, :, 1, head], radii[:, :, 1, head])
        value = Points(parts[:, :, 2, head], radii[:, :, 2, head])
        scores = np.einsum("njd,nd->nj", key.centre, query.centre)
        weights = _softmax(scores)
        off = _score_ball(query, key, rows.ball, weights, ways, model.scale, rounding)
        distance = scores.max(1, keepdims=True) - scores + off.max(1, keepdims=True)
        off = score_slack(off, distance, length, rounding)
        read = np.einsum("nj,njd->nd", weights, value.centre)
        reads.append(read)
        inner, largest, moves = _read_ball(weights, off, value, rows.ball, read, ways, rounding)
        error = error + inner
        sizes.append(largest)
        projection = block.projection.weight[head * size : (head + 1) * size]
        generators.append((moves[:, :, None] * (value.centre - read[:, None])) @ projection)
    # The mean that is computed is no longer than the longest value, but for its rounding.
    read = Balls(np.concatenate(reads, 1), raised(np.stack(sizes, 1), 8), x.growths)
    step = block.projection
    radius = error[:, None] + read.rounded(step, model.width, rounding)
    centre = read.centre @ step.weight + step.bias
    after = x.added(Balls(centre, raised(radius, 16), x.growths), rounding)
    # The sum is rounded as if it were as long as generators can make it.
    moved = np.concatenate(generators, 1)
    long = lengths(moved).sum(1)[:, None]
    radius = raised(after.radius + rounding.gamma(1) * long + rounding.overflow(long), 64)
    return Balls(after.centre, radius, x.growths, None, moved)


def _score_ball(
    query: Points, key: Points, ball: Array, weights: Array, ways: HeadWays, scale: float,
    rounding: Rounding,
) -> Array:  # fmt: skip
    """(prefixes, positions): how far scores can be off, but for a shift of all of them.

    The query q + δ meets keys k_j + κ_j: the scores move by δ·k_j + q·κ_j + δ·κ_j, and δ·m is a
    shift, for any m: here the mean of the keys by their weights. Of δ and κ_j, the part that
    entered the norm is e W for a ball of e, so its product with z is at most |e| |W z|.
    """
    size, length = query.centre.shape[-1], key.centre.shape[1]
    middle = np.einsum("nj,njd->nd", weights, key.centre)
    long, asks = lengths(key.centre), lengths(query.centre)[:, None]
    apart = key.centre - middle[:, None]
    slack = own_error(2 * length + 16) * (long + long.max(1, keepdims=True))
    mine = raised(ball[:, -1:] * scale, 4)
    error = mine * (ways.query.length(apart) + ways.query.stretch * slack)
    error = error + query.error * (lengths(apart) + slack)
    error = error + ball * ways.key.length(query.centre)[:, None] + key.error * asks
    its_ball = query.error + mine * ways.query.stretch
    balls = key.error + ball * ways.key.stretch
    error = error + its_ball * balls
    whole = (asks + its_ball) * (long + balls)
    error = error + rounding.gamma(size + 6) * whole + rounding.overflow(whole)
    return np.asarray(raised(error + size * rounding.least, 3 * size + 16))


def _read_ball(
    weights: Array, off: Array, value: Points, ball: Array, read: Array, ways: HeadWays,
    rounding: Rounding,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """How far the mean o = Σ a_j v_j of a head can be off after the projection, and how long it can
    be before it: (prefixes,). Where the logarithms of weights move, it moves by Σ c_j (v_j - o), as
    `_moved` says: the largest |c_j| come last (prefixes, positions). They are 0 where the mean
    cannot move so far, from one value to another; that is in the radius then. There too: errors of
    the values, and rounding of the mean, as in `_value_error`."""
    length, balls = weights.shape[1], value.error
    long = lengths(value.centre)
    largest = (long + balls + ball * ways.value.stretch).max(1)
    most = off.max(1, keepdims=True)
    factors = raised(weights * np.expm1(off) * np.exp(most), 2 * length + 32)
    slack = own_error(4 * length + 16) * long.max(1, keepdims=True) * ways.output.stretch
    apart = ways.output.length(value.centre - read[:, None]) + slack
    whole = raised(2 * apart.max(1) * swayed(most[:, 0]), 8)
    near = (factors * apart).sum(1) < whole  # false for NaN
    moved = np.where(near, (factors.sum(1) + 1) * slack[:, 0], whole)
    gamma = rounding.gamma(2 * length + 12)
    each = ball * ways.both + (balls + gamma * largest[:, None]) * ways.output.stretch
    grown = raised(weights * np.exp(off + most), 32)
    inner = np.fmin((grown * each).sum(1), each.max(1))
    flushed = length * rounding.least * largest * np.sqrt(read.shape[-1]) * ways.output.stretch
    flushed = np.where(np.isfinite(most[:, 0]), flushed + slack[:, 0], np.inf)
    radius = raised(moved + inner + flushed, 2 * length + 32)
    return radius, largest * (1 + gamma), np.where(near[:, None], factors, 0.0)


def _softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True))


def _moved(weights: Array, off: Array, values: Array, mean: Array, spread: Array) -> Array:
    """How far the mean o = Σ a_j v_j moves when the logarithm of each weight moves by t_j, |t_j| at
    most `off` (…, queries, keys).

    Since Σ a_j (v_j - o) = 0, it moves by Σ a_j (exp t_j - 1)(v_j - o) / Σ a_j exp t_j: little
    where one weight is nearly 1, as its v_j is nearly o. And never by more than the values' spread
    times tanh(t/2) with t the largest.
    """
    most = off.max(-1, keepdims=True)
    factors = weights * np.expm1(off) * np.exp(most)
    apart = np.abs(values[..., None, :, :] - mean[..., :, None, :])
    moved = np.einsum("...ij,...ijd->...id", factors, apart)
    # The mean is the proof's own, rounded: as far as that is off, so are the distances from it.
    slack = own_error(4 * weights.shape[-1] + 16) * (spread + np.abs(mean))
    moved = raised(moved + slack * factors.sum(-1, keepdims=True), 2 * weights.shape[-1] + 32)
    return np.asarray(np.fmin(moved, raised(spread * swayed(most), 8)))


def _value_error(
    weights: Array, off: Array, value: Points, largest: Array, rounding: Rounding
) -> Array:
    """(…, queries, size): errors of the values in a mean, and rounding of the mean itself: two
    roundings a term and twelve more, and each weight may be flushed to zero."""
    most = off.max(-1, keepdims=True)
    grown = raised(weights * np.exp(off + most), 32)
    steps = 2 * weights.shape[-1] + 12
    mean_error = grown @ value.error + rounding.gamma(steps) * (grown @ value.size)
    whole = value.error.max(-2, keepdims=True) + rounding.gamma(steps) * largest
    flushed = weights.shape[-1] * rounding.least * largest
    # Where a score may overflow there is no mean at all.
    flushed = np.where(np.isfinite(most), flushed, np.inf)
    return np.asarray(raised(np.fmin(mean_error, whole) + flushed, 2 * weights.shape[-1] + 16))


@dataclass(frozen=True, slots=True)
class _ConcreteRow:
    """What later positions need of one, in one layer: queries, keys and values in a box, and the
    errors of the keys as generators."""

    mixed: Points
    """Queries, keys and values, side by side."""
    keys: Array
    """(generators, width)."""
    rest: Array
    """(width,): the box beside them."""


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A prefix: the rows of its last position, layer by layer, and its logits."""

    rows: tuple[_ConcreteRow, ...]
    logits: ActivationSet


class Prefixes:
    """Prefixes of words, each computed once from the one before it."""

    def __init__(self, model: Checkpoint, offset: int, rounding: Rounding) -> None:
        self.model, self.offset, self.rounding = model, offset, rounding
        self.known: dict[tuple[int, ...], _Prefix] = {}

    def logits(self, ids: Sequence[int]) -> ActivationSet:
        """All that the model's logits can be after these tokens."""
        return self._prefix(tuple(ids)).logits

    def _prefix(self, ids: tuple[int, ...]) -> _Prefix:
        for end in range(1, len(ids) + 1):
            if ids[:end] not in self.known:
                self.known[ids[:end]] = self._longer(ids[:end])
        return self.known[ids]

    def _longer(self, ids: tuple[int, ...]) -> _Prefix:
        model, rounding = self.model, self.rounding
        place = np.array(self.offset + len(ids) - 1)
        token = embedding(model, np.array(ids[-1]), place, rounding)
        x = ActivationSet(token.centre, np.zeros((0, model.width)), token.error)
        before = [self.known[ids[:end]].rows for end in range(1, len(ids))]
        rows = []
        for layer, block in enumerate(model.blocks):
            mixed = queries_keys_values(x, block, model, rounding)
            row = self._row(mixed)
            rows.append(row)
            earlier = [prefix_rows[layer] for prefix_rows in before]
            x = self._attended(x, mixed, [*earlier, row], block)
            x = feed_forward(x, block, model, rounding)
        return _Prefix(tuple(rows), logits(x, model, rounding))

    def _row(self, mixed: ActivationSet) -> _ConcreteRow:
        box = Points(mixed.centre, raised(mixed.radius + mixed.error, 4))
        keys = slice(self.model.width, 2 * self.model.width)
        if len(self.known) > MANY:
            return _ConcreteRow(box, np.zeros((0, self.model.width)), box.error[keys])
        return _ConcreteRow(box, mixed.generators[:, keys], mixed.error[keys])

    def _attended(
        self, x: ActivationSet, mixed: ActivationSet, rows: Sequence[_ConcreteRow], block: Block
    ) -> ActivationSet:
        """Attention of the last position to all, its errors as generators."""
        model, rounding = self.model, self.rounding
        stacked = Points(
            np.array([row.mixed.centre for row in rows]),
            np.array([row.mixed.error for row in rows]),
        )
        size, width = model.width // model.heads, model.width
        centre, sizes = block.projection.bias, list[Array]()
        generators = []
        for head in range(model.heads):
            query, key, value = head_parts(stacked, head, model)
            chosen = slice(head * size, (head + 1) * size)
            last = Points(query.centre[-1], query.error[-1])
            turned = mixed.generators[:, chosen] * model.scale
            error = _score_error(
                last, turned, mixed.error[chosen] * model.scale, key,
                [(row.keys[:, chosen], row.rest[chosen]) for row in rows], rounding,
            )  # fmt: skip
            scores = key.centre @ last.centre
            distance = scores.max() - scores + error.max()
            off = score_slack(error, distance, len(rows), rounding)[None]
            weights = _softmax(scores)[None]
            projection = block.projection.weight[chosen]
            mean = weights @ value.centre
            spread = value.centre.max(0) - value.centre.min(0)
            largest = value.size.max(0)
            inner = _moved(weights, off, value.centre, mean, spread)[0]
            inner = inner + _value_error(weights, off, value, largest, rounding)[0]
            generators.append(raised(inner, 4)[:, None] * projection)
            centre = centre + mean[0] @ projection
            sizes.append(largest)
        size_of_reads = np.concatenate(sizes)
        whole = size_of_reads @ np.abs(block.projection.weight) + np.abs(block.projection.bias)
        off_by = own_error(4 * len(rows) + 4 * width + 16) * whole
        off_by = off_by + block.projection.error(size_of_reads, rounding)
        read = ActivationSet(centre, np.vstack(generators), raised(off_by, width + 16))
        return x.added(read, rounding)


def _score_error(
    query: Points,
    turned: Array,
    rest: Array,
    key: Points,
    keys: Sequence[tuple[Array, Array]],
    rounding: Rounding,
) -> Array:
    """(rows,): how far scores of one query can be off, but for a shift of all of them.

    The query q + δ meets keys k_j + κ_j. The scores move by δ·k_j + q·κ_j + δ·κ_j. Of the first,
    δ·m is a shift, for any m: the mean key. Errors as generators go along, δ·(k_j - m) by the
    query's, q·κ_j by the key's; what is left are boxes.
    """
    size = len(query.centre)
    middle = key.centre.mean(0)
    apart = key.centre - middle
    error = np.abs(apart @ turned.T).sum(1) + np.abs(apart) @ rest
    error = error + key.error @ query.error
    for at, (generators, box) in enumerate(keys):
        error[at] += np.abs(generators @ query.centre).sum() + np.abs(query.centre) @ box
    steps = size + len(turned) + max(len(generators) for generators, _ in keys) + 16
    # The proof's own rounding of the sums above, relative to the sums of their absolute terms.
    whole = np.abs(turned).sum(0) + rest + query.error
    sizes = (np.abs(key.centre) + np.abs(middle)) @ whole + key.error @ (
        np.abs(query.centre) + query.error
    )
    error = error + own_error(2 * steps) * sizes
    whole = key.size @ query.size
    rounded = rounding.gamma(size + 6) * whole + rounding.overflow(whole)
    return np.asarray(raised(error + rounded + size * rounding.least, 3 * size + 16))
