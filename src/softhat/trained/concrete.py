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
from softhat.trained.reads import head_parts, score_slack
from softhat.trained.rounding import Array, Rounding, raised
from softhat.trained.walk import feed_forward, logits, queries_keys_values
from softhat.trained.zonotopes import Zonotope

MANY = 400
"""Prefixes whose keys are kept with their errors as generators; more would take much memory."""


def bounded_logits(
    model: Checkpoint, ids: NDArray[np.int64], offset: int, rounding: Rounding
) -> Points:
    """(words, positions, outputs): the logits of words of one length, and their errors."""
    token = model.tokens[ids]
    place = np.broadcast_to(model.positions[offset : offset + ids.shape[1]], token.shape)
    moved = rounding.weights
    x = Points(token, moved * np.abs(token)).added(Points(place, moved * np.abs(place)), rounding)
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
    sizes = np.zeros_like(x.centre)
    count = np.arange(length)[-asking:, None]
    counted = np.array([rounding.gamma(2 * k + 12) for k in range(length)])[-asking:, None]
    for head in range(model.heads):
        query, key, value = head_parts(mixed, head, model)
        query = Points(query.centre[..., -asking:, :], query.error[..., -asking:, :])
        projection = block.projection.weight[head * size : (head + 1) * size]
        scores, off = _scores(query, key, hidden, rounding)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        projected = value.centre @ projection
        spread = _most(projected, asking) + _most(-projected, asking)
        largest = _most(value.size, asking)
        inner = _most(value.error, asking)
        inner = inner + (counted + count * rounding.least) * largest
        read = read + weights @ projected
        error = error + spread * np.tanh(off / 2) + inner @ np.abs(projection)
        sizes = sizes + largest @ np.abs(projection)
    sizes = sizes + np.abs(block.projection.bias)
    error = error + (rounding.product(width + 2) + own_error(4 * length + 4 * width + 16)) * sizes
    output = Points(read + block.projection.bias, raised(error, 4 * width + 32))
    return x.added(output, rounding)


def _most(values: Array, asking: int) -> Array:
    """The largest value up to each of the last positions."""
    if asking == 1:
        return values.max(-2, keepdims=True)
    return np.asarray(np.maximum.accumulate(values, -2)[..., -asking:, :])


def _scores(
    query: Points, key: Points, hidden: NDArray[np.bool_], rounding: Rounding
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Masked scores, and for each row how far the logarithm of a weight can be off."""
    size = query.centre.shape[-1]
    turned = np.swapaxes(key.centre, -1, -2)
    keys, key_error = np.abs(turned), np.swapaxes(key.error, -1, -2)
    error = query.error @ keys + query.size @ key_error
    error = error + rounding.gamma(size + 6) * (query.size @ (keys + key_error))
    error = raised(error + size * rounding.least, 3 * size + 16)
    scores = query.centre @ turned
    distance = np.where(hidden, -np.inf, scores).max(-1) - np.where(hidden, np.inf, scores).min(-1)
    off = score_slack(np.where(hidden, 0.0, error).max(-1), distance, rounding)
    return np.where(hidden, -np.inf, scores), off[..., None]


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
        token, place = model.tokens[ids[-1]], model.positions[self.offset + len(ids) - 1]
        none, moved = np.zeros((0, model.width)), rounding.weights
        x = Zonotope(token, none, moved * np.abs(token))
        x = x.added(Zonotope(place, none, moved * np.abs(place)), rounding)
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
        centre, sizes = block.projection.bias, np.abs(block.projection.bias)
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
            off = score_slack(error.max(), scores.max() - scores.min(), rounding)
            weights = np.exp(scores - scores.max())
            weights = weights / weights.sum()
            projection = block.projection.weight[chosen]
            spread = value.centre.max(0) - value.centre.min(0)
            largest = value.size.max(0)
            inner = spread * np.tanh(off / 2) + value.error.max(0)
            inner = inner + rounding.gamma(2 * len(rows) + 12) * largest
            inner = inner + len(rows) * rounding.least * largest
            generators.append(raised(inner, len(rows) + 16)[:, None] * projection)
            centre = centre + (weights @ value.centre) @ projection
            sizes = sizes + largest @ np.abs(projection)
        relative = rounding.product(width + 2) + own_error(4 * len(rows) + 4 * width + 16)
        read = Zonotope(centre, np.vstack(generators), raised(relative * sizes, width + 16))
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
    rounded = rounding.gamma(size + 6) * (key.size @ query.size)
    return np.asarray(raised(error + rounded + size * rounding.least, 3 * size + 16))
