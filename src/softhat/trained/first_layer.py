"""What the first layer's attention can read, over all words that lead to a state.

In the first layer keys and values depend on one symbol and its position only, so the set of a
head's outputs has an exact support function (`support`). Its bounds along axes make a box; boxes of
all heads, the query's own embedding and every rounding error make a zonotope: the residual stream
after attention, for one cell. The axes are the principal ones of what some words of the cell read:
any would do, those make the box narrow.

A cell is a number of symbols read, the last of them, and the states that the machine is in then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softhat.trained.checkpoint import Checkpoint
from softhat.trained.points import Points, own_error
from softhat.trained.question import TrainedQuestion
from softhat.trained.rounding import FUNCTION_ULPS, Array, Rounding, raised
from softhat.trained.support import QueryRows, Transitions, machine_of, supports
from softhat.trained.walk import embedded, queries_keys_values
from softhat.trained.zonotopes import ActivationSet

AXES = 128
"""At most so many directions a head: what is orthogonal to them is bounded by a box."""
SAMPLES = 24
"""Words of a cell whose reads say which axes are good."""
BLOCK = 16
"""Keys that a fused kernel takes at a time, at least: the least side of a tensor core's tile."""
FLAT = 1e-9
"""Axes along which values differ by less, relative to the largest, are left out."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Words of `read` symbols, the last one `last`, that lead to one of `states`."""

    read: int
    last: int
    states: tuple[int, ...]


Box = tuple[Array, Array, Array, Array]


@dataclass(frozen=True)
class TokenHead:
    """A head of the first layer for every token at every position: (tokens, positions, …)."""

    query: Points
    """Scaled."""
    key: Points
    value: Points
    projection: Array
    """(size, width): from this head's output to the residual stream."""
    middle: Array
    axes: Array
    """(directions, width): where the projected values lie, orthonormal but for rounding."""
    variances: Array
    """Of the values along each axis."""
    along: Array
    """(directions, tokens, positions): the projected values minus the middle, along the axes."""
    used: Array
    """(values, width): the projected values that words have, minus the middle."""
    spread: tuple[Array, Array]
    """Least and largest projected value."""


@dataclass(frozen=True)
class FirstLayer:
    """All that attention of the first layer can compute."""

    question: TrainedQuestion
    axes: int = AXES
    """Directions a head, at most."""

    @cached_property
    def machine(self) -> Transitions:
        return machine_of(self.question.spec.step, self.question.spec.start, self.question.most)

    @cached_property
    def stream(self) -> Points:
        """(tokens, positions, width): the embeddings; token 0 is `bos`."""
        ids = [self.question.spec.bos, *self.question.spec.ids]
        positions = range(self.question.offset, self.question.offset + self.question.most + 1)
        return embedded(self.question.model, ids, positions, self.question.rounding)

    @cached_property
    def heads(self) -> tuple[TokenHead, ...]:
        model = self.question.model
        mixed = queries_keys_values(self.stream, model.blocks[0], model, self.question.rounding)
        return tuple(self._head(mixed, head) for head in range(model.heads))

    def _head(self, mixed: Points, head: int) -> TokenHead:
        model = self.question.model
        query, key, value = head_parts(mixed, head, model)
        size = model.width // model.heads
        projection = model.blocks[0].projection.weight[head * size : (head + 1) * size]
        projected = value.centre @ projection
        used = np.concatenate([projected[1:, 1:].reshape(-1, model.width), projected[:1, 0]])
        middle = used.mean(0)
        _, sizes, axes = np.linalg.svd(used - middle, full_matrices=False)
        wide = max(1, np.count_nonzero(sizes > FLAT * sizes[0]))
        axes = axes[: min(self.axes, size, wide)]
        along = (projected - middle) @ axes.T
        return TokenHead(
            query, key, value, projection, middle, axes, sizes[: len(axes)] ** 2 / len(used),
            np.moveaxis(along, -1, 0), used - middle, (used.min(0), used.max(0)),
        )  # fmt: skip

    def weights(self, head: TokenHead, cells: Sequence[Cell]) -> tuple[Array, Array]:
        """(cells, tokens, positions) softmax weights up to a factor, and for each cell how far
        their logarithms can be from the model's."""
        read = np.array([cell.read for cell in cells])
        token = np.array([cell.last + 1 for cell in cells])
        query, query_error = head.query.centre[token, read], head.query.error[token, read]
        scores = np.einsum("rd,tjd->rtj", query, head.key.centre)
        size = query.shape[-1]
        keys, key_error = np.abs(head.key.centre), head.key.error
        reach = np.abs(query) + query_error
        error = np.einsum("rd,tjd->rtj", query_error, keys)
        error = error + np.einsum("rd,tjd->rtj", reach, key_error)
        whole = np.einsum("rd,tjd->rtj", reach, keys + key_error)
        rounded = self.question.rounding.gamma(size + 6) * whole + self.question.rounding.overflow(
            whole
        )
        error = raised(error + rounded + size * self.question.rounding.least, 3 * size + 16)
        there = np.arange(scores.shape[2])[None, None] <= read[:, None, None]
        there = there & _possible(*scores.shape[1:])
        scores = np.where(there, scores, -np.inf)
        top = scores.max((1, 2), keepdims=True)
        lowest = np.where(there, scores, np.inf).min((1, 2))
        off = score_slack(
            np.where(there, error, 0.0).max((1, 2)), top[:, 0, 0] - lowest, int(read.max()) + 1,
            self.question.rounding,
        )  # fmt: skip
        return np.exp(scores - top), off

    def zonotopes(self, cells: Sequence[Cell]) -> list[ActivationSet | None]:
        """The residual stream after attention, for each cell; None where nothing can be said."""
        order = sorted(range(len(cells)), key=lambda k: -cells[k].read)
        ordered = [cells[k] for k in order]
        boxes = [self._boxes(head, ordered) for head in self.heads]
        result: list[ActivationSet | None] = [None] * len(cells)
        for at, k in enumerate(order):
            result[k] = self._assembled(ordered[at], [box[at] for box in boxes])
        return result

    def rows(self, cells: Sequence[Cell]) -> QueryRows:
        before = np.zeros((len(cells), self.machine.states), bool)
        for at, cell in enumerate(cells):
            leads = np.isin(self.question.spec.step[:, cell.last], cell.states)
            places = self.machine.place[leads]
            before[at, places[places >= 0]] = True
        read = np.array([cell.read for cell in cells])
        return QueryRows(read, np.array([cell.last for cell in cells]), before)

    def _boxes(self, head: TokenHead, cells: Sequence[Cell]) -> list[Box]:
        """For each cell what a head gives: centre, generators, errors of its output before the
        projection, and after it."""
        weights, off = self.weights(head, cells)
        turned = self._turned(head, cells, weights)
        along = np.einsum("rkl,ltj->rktj", turned, head.along)
        both = np.concatenate([along, -along], 1)
        bounds = supports(weights, both, self.machine, self.rows(cells))
        count = len(head.axes)
        high, low = bounds[:, :count], -bounds[:, count:]
        half = np.maximum((high - low) / 2, 0.0) * (1 + own_error(4)) + own_error(4) * np.abs(high)
        least, most = head.spread
        largest = np.maximum(np.abs(least), np.abs(most))
        size = head.value.size.max((0, 1))
        sizes = size @ np.abs(head.projection)
        used = head.value.centre[1:, 1:].reshape(-1, len(size))
        used = np.concatenate([used, head.value.centre[:1, 0]])
        value_low, value_high = used.min(0), used.max(0)
        parts = []
        for at, cell in enumerate(cells):
            axes = turned[at] @ head.axes
            rest = head.used - (head.used @ axes.T) @ axes
            below, above = rest.min(0), rest.max(0)
            centre = head.middle + ((high[at] + low[at]) / 2) @ axes + (below + above) / 2
            inner = (value_high - value_low) * swayed(off[at]) + head.value.error.max((0, 1))
            inner = inner + self.question.rounding.gamma(2 * cell.read + 12) * size
            inner = inner + cell.read * self.question.rounding.least * size
            error = (above - below) / 2 + own_error(8 * count + 3 * len(head.projection) + 16) * (
                largest + np.abs(head.middle) + sizes
            )
            rounds = 3 * len(head.projection) + 16
            boxed = half[at][:, None] * axes
            parts.append((centre, boxed, raised(inner, rounds), raised(error, rounds)))
        return parts

    def _turned(self, head: TokenHead, cells: Sequence[Cell], weights: Array) -> Array:
        """(cells, directions, directions): for each cell a rotation of the head's axes, to the
        principal ones of what sampled words read."""
        count = len(head.axes)
        floor = np.diag(head.variances) * 1e-6 + np.eye(count) * 1e-15
        rotations = np.empty((len(cells), count, count))
        for at, (cell, words) in enumerate(zip(cells, self._sampled(cells), strict=True)):
            places = np.arange(cell.read + 1)
            heavy = weights[at][words, places]
            with np.errstate(all="ignore"):
                heavy = heavy / heavy.sum(1, keepdims=True)
            reads = np.einsum("kwj,wj->wk", head.along[:, words, places], heavy)
            if not np.isfinite(reads).all():
                rotations[at] = np.eye(count)
                continue
            reads = reads - reads.mean(0)
            rotations[at] = np.linalg.eigh(reads.T @ reads / len(words) + floor)[1].T[::-1]
        return rotations

    def _sampled(self, cells: Sequence[Cell]) -> list[NDArray[np.int64]]:
        """For each cell tokens (`bos` first) of words that belong to it: random ones, and ones
        that take the same turn wherever they can."""
        machine, random = self.machine, np.random.default_rng(0)
        rows = self.rows(cells)
        read = np.repeat(rows.read, SAMPLES)
        most, every = int(read.max()), np.arange(len(read))
        there = self._reached
        before = np.repeat(rows.before, SAMPLES, 0) & there[read - 1]
        state = np.where(before, random.random(before.shape), -1.0).argmax(1)
        tokens = np.zeros((len(read), most + 1), np.int64)
        tokens[every, read] = np.repeat(rows.last, SAMPLES) + 1
        passes = len(machine.sources)
        habit = random.random((len(read), passes))
        loyal = np.tile(np.linspace(0, 1, SAMPLES), len(cells))[:, None]
        for back in range(1, most):
            at = read - back
            active = at >= 1
            sources = machine.sources[:, state].T
            known = np.minimum(sources, machine.states - 1)
            possible = (sources < machine.states) & there[np.maximum(at - 1, 0)[:, None], known]
            fresh = random.random((len(read), passes))
            wish = np.where(random.random((len(read), 1)) < loyal, habit, fresh)
            chosen = np.where(possible, wish, -1.0).argmax(1)
            symbol = machine.symbols[chosen, state]
            tokens[every[active], at[active]] = symbol[active] + 1
            state = np.where(active, known[every, chosen], state)
        return [
            tokens[SAMPLES * k : SAMPLES * (k + 1), : cell.read + 1] for k, cell in enumerate(cells)
        ]

    @cached_property
    def _reached(self) -> NDArray[np.bool_]:
        """(symbols read, states of the machine): what is reached by words of just that length."""
        reached = self.question.spec.reachable(self.question.most)
        there = np.zeros((self.question.most + 1, self.machine.states), bool)
        known = self.machine.place >= 0
        there[:, self.machine.place[known]] = reached[:, known]
        return there

    def _assembled(self, cell: Cell, boxes: Sequence[Box]) -> ActivationSet | None:
        bias = self.question.model.blocks[0].projection.bias
        centre, error = bias.copy(), np.zeros_like(bias)
        generators = []
        for head, (middle, half, inner, off) in zip(self.heads, boxes, strict=True):
            centre = centre + middle
            error = error + off
            generators += [half, inner[:, None] * head.projection]
        read = ActivationSet(centre, np.vstack(generators), error)
        width = self.question.model.width
        size = read.size + sum(np.abs(middle) for middle, _, _, _ in boxes)
        rounded = self._projected + own_error(8) * size
        read = ActivationSet(centre, read.generators, raised(error + rounded, width + 16))
        token = cell.last + 1
        stream = ActivationSet(
            self.stream.centre[token, cell.read],
            np.zeros((0, width)),
            self.stream.error[token, cell.read],
        )
        result = stream.added(read, self.question.rounding)
        if not np.isfinite(result.size).all():
            return None
        return result

    @cached_property
    def _projected(self) -> Array:
        """The error of the projection of all heads' outputs."""
        sizes = [(np.abs(h.value.centre) + h.value.error).max((0, 1)) for h in self.heads]
        return self.question.model.blocks[0].projection.error(
            np.concatenate(sizes), self.question.rounding
        )


def head_parts(mixed: Points, head: int, model: Checkpoint) -> tuple[Points, Points, Points]:
    """Queries (scaled), keys and values of one head."""
    size = model.width // model.heads
    parts = []
    for at, factor in enumerate((model.scale, 1.0, 1.0)):
        chosen = slice(at * model.width + head * size, at * model.width + (head + 1) * size)
        error = raised(mixed.error[..., chosen] * factor, 2)
        parts.append(Points(mixed.centre[..., chosen] * factor, error))
    return parts[0], parts[1], parts[2]


def score_slack(error: Array, distance: Array, positions: int, rounding: Rounding) -> Array:
    """How far the logarithm of a weight can be off: the score's error, the rounding of its distance
    from the row's maximum, and of exp. A fused kernel takes keys in blocks of at least `BLOCK`, and
    rescales its sums when a block has a larger maximum: one exp and two products each time, over
    distances that add up to the row's. The maximum itself cancels."""
    rescales = positions // BLOCK
    functions = rounding.gamma((2 * FUNCTION_ULPS + 2) * (1 + rescales) + 2)
    return raised(error + rounding.gamma(2) * (distance + 2 * error) + functions, 8)


def swayed(off: Array) -> Array:
    """The largest share of the values' spread by which a mean moves when logarithms of weights move
    by at most `off`; ∞ where a score may overflow."""
    return np.where(np.isfinite(off), np.tanh(off / 2), np.inf)


def _possible(tokens: int, positions: int) -> np.ndarray:
    """`bos` stands at position 0 and nowhere else."""
    there = np.ones((tokens, positions), bool)
    there[0, 1:] = False
    there[1:, 0] = False
    return there
