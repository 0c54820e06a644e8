"""Whole words through all layers, with a bound of the rounding at every step.

This decides a word for every kernel at once: if a margin exceeds its bound, no order of sums and no
fused attention can turn the decision. Enumerating all words of a length this way is a proof, for a
model of any depth.

`bounded_logits` takes many words at once, with errors in boxes. Boxes grow at every product; where
they are too coarse, `Prefixes` walks one position after the other with errors as generators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.trained.checkpoint import Block, Checkpoint
from softhat.trained.points import Points, own_error
from softhat.trained.reads import head_parts, score_slack, swayed
from softhat.trained.rounding import Array, Rounding, raised
from softhat.trained.walk import embedding, feed_forward, logits, queries_keys_values
from softhat.trained.zonotopes import Zonotope

MANY = 400
"""Prefixes whose keys are kept with their errors as generators; more would take much memory."""


def bounded_logits(
    model: Checkpoint, ids: NDArray[np.int64], offset: int, rounding: Rounding
) -> Points:
    """(words, positions, outputs): the logits of words of one length, and their errors."""
    x = embedding(model, ids, np.arange(offset, offset + ids.shape[1])[None], rounding)
    for block in model.blocks:
        mixed = queries_keys_values(x, block, model, rounding)
        x = feed_forward(attended(x, mixed, block, model, rounding), block, model, rounding)
    return logits(x, model, rounding)


def attended(
    x: Points, mixed: Points, block: Block, model: Checkpoint, rounding: Rounding
) -> Points:
    """The first half of a layer: causal attention, its projection, the sum. `mixed` are queries,
    keys and values of all positions, `x` the streams of the last of them."""
    length, asking, width = mixed.centre.shape[-2], x.centre.shape[-2], model.width
    size = width // model.heads
    hidden = np.triu(np.ones((length, length), bool), 1)[-asking:]
    read = np.zeros_like(x.centre)
    error = np.zeros_like(x.centre)
    sizes = []
    for head in range(model.heads):
        query, key, value = head_parts(mixed, head, model)
        query = Points(query.centre[..., -asking:, :], query.error[..., -asking:, :])
        projection = block.projection.weight[head * size : (head + 1) * size]
        scores, off = _scores(query, key, hidden, rounding)
        weights = _softmax(scores)
        projected = value.centre @ projection
        mean = weights @ projected
        largest = _most(value.size, asking)
        inner = _value_error(weights, off, value, largest, rounding)
        spread = _most(projected, asking) + _most(-projected, asking)
        read = read + mean
        error = error + _moved(weights, off, projected, mean, spread) + inner @ np.abs(projection)
        sizes.append(largest)
    size_of_reads = np.concatenate(sizes, -1)
    whole = size_of_reads @ np.abs(block.projection.weight) + np.abs(block.projection.bias)
    error = error + own_error(4 * length + 4 * width + 16) * whole
    error = error + block.projection.error(size_of_reads, rounding)
    output = Points(read + block.projection.bias, raised(error, 4 * width + 32))
    return x.added(output, rounding)


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
    whole = _most(value.error, most.shape[-2]) + rounding.gamma(steps) * largest
    flushed = weights.shape[-1] * rounding.least * largest
    # Where a score may overflow there is no mean at all.
    flushed = np.where(np.isfinite(most), flushed, np.inf)
    return np.asarray(raised(np.fmin(mean_error, whole) + flushed, 2 * weights.shape[-1] + 16))


def _most(values: Array, asking: int) -> Array:
    """The largest value up to each of the last positions."""
    if asking == 1:
        return values.max(-2, keepdims=True)
    return np.asarray(np.maximum.accumulate(values, -2)[..., -asking:, :])


def _scores(
    query: Points, key: Points, hidden: NDArray[np.bool_], rounding: Rounding
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Masked scores, and how far the logarithm of each weight can be off: 0 where masked."""
    size = query.centre.shape[-1]
    turned = np.swapaxes(key.centre, -1, -2)
    keys, key_error = np.abs(turned), np.swapaxes(key.error, -1, -2)
    error = query.error @ keys + query.size @ key_error
    whole = query.size @ (keys + key_error)
    error = error + rounding.gamma(size + 6) * whole + rounding.overflow(whole)
    error = raised(error + size * rounding.least, 3 * size + 16)
    scores = np.where(hidden, -np.inf, query.centre @ turned)
    distance = scores.max(-1, keepdims=True) - np.where(hidden, 0.0, scores)
    # The row's maximum may be off as well, and stand elsewhere.
    distance = distance + np.where(hidden, 0.0, error).max(-1, keepdims=True)
    off = score_slack(error, np.maximum(distance, 0.0), scores.shape[-1], rounding)
    return scores, np.where(hidden, 0.0, off)


@dataclass(frozen=True, slots=True)
class _ConcreteRow:
    """What later positions need of one, in one layer: queries, keys and values in a box, and the
    errors of the keys as generators."""

    mixed: Points
    keys: Array
    """(generators, width)."""
    rest: Array
    """(width,): the box beside them."""


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A prefix: the rows of its last position, layer by layer, and its logits."""

    rows: tuple[_ConcreteRow, ...]
    logits: Zonotope


class Prefixes:
    """Prefixes of words, each computed once from the one before it."""

    def __init__(self, model: Checkpoint, offset: int, rounding: Rounding) -> None:
        self.model, self.offset, self.rounding = model, offset, rounding
        self.known: dict[tuple[int, ...], _Prefix] = {}

    def logits(self, ids: Sequence[int]) -> Zonotope:
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
        x = Zonotope(token.centre, np.zeros((0, model.width)), token.error)
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

    def _row(self, mixed: Zonotope) -> _ConcreteRow:
        box = Points(mixed.centre, raised(mixed.radius + mixed.error, 4))
        keys = slice(self.model.width, 2 * self.model.width)
        if len(self.known) > MANY:
            return _ConcreteRow(box, np.zeros((0, self.model.width)), box.error[keys])
        return _ConcreteRow(box, mixed.generators[:, keys], mixed.error[keys])

    def _attended(
        self, x: Zonotope, mixed: Zonotope, rows: Sequence[_ConcreteRow], block: Block
    ) -> Zonotope:
        """Attention of the last position to all, its errors as generators."""
        model, rounding = self.model, self.rounding
        stacked = Points(
            np.array([row.mixed.centre for row in rows]),
            np.array([row.mixed.error for row in rows]),
        )
        size, width = model.width // model.heads, model.width
        centre, sizes = block.projection.bias, list[Array]()
        generators = [np.zeros((len(x.generators), width))]
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
        read = Zonotope(centre, np.vstack(generators), raised(off_by, width + 16))
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
