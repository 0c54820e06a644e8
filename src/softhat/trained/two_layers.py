"""The proof for models of two layers.

The first layer's sets, one for each state of a refined machine at each position (`first_layer`,
`refinement`), go through the rest of that layer: sets of queries, keys and values for the second.
There the scores of a query's set against a key's set lie in a range, and so do the values along
axes; the largest mean over all words is a path of the machine (`paths`). What the second layer
reads is then a box along the axes, added to the query's own stream.

Scores matter up to a shift of a row, so keys are taken from their mean. A query's set that is too
wide is cut in two, and each half attends for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from softhat.trained.first_layer import Cell, FirstLayer, score_slack
from softhat.trained.one_layer import OneLayer, Outcome, PieceBound, cell_length, cut, in_pieces
from softhat.trained.paths import Nodes, largest_means
from softhat.trained.points import own_error
from softhat.trained.question import TrainedQuestion
from softhat.trained.refinement import Refined
from softhat.trained.rounding import Array, raised
from softhat.trained.walk import feed_forward, queries_keys_values
from softhat.trained.zonotopes import ActivationSet

KEPT = 24
"""Generators of a key's set that are kept; the others are boxed."""
PIECES = 24
"""A query's set is cut into at most so many pieces, each of which attends."""
INNER = 24
"""What it then reads is cut into at most so many."""


@dataclass
class _Keys:
    """Keys and values of every state at every position: (positions, states, …)."""

    there: NDArray[np.bool_]
    centre: Array
    """(…, 2 width): keys, then values."""
    generators: Array
    """(…, KEPT, 2 width)."""
    error: Array
    """(…, 2 width)."""


class TwoLayers:
    """Proves cells of a model of two layers, by a finer machine."""

    def __init__(self, question: TrainedQuestion, finer: Refined) -> None:
        self.question, self.finer = question, finer
        self.model, self.spec, self.rounding = question.model, question.spec, question.rounding
        model, most = question.model, question.most
        self.last = OneLayer(replace(question, spec=finer.spec))
        self.first: FirstLayer = self.last.first
        states = self.first.machine.states
        self.states = states
        shape = (most + 1, states)
        wide = 2 * model.width
        self.keys = _Keys(
            np.zeros(shape, bool), np.zeros((*shape, wide)), np.zeros((*shape, KEPT, wide)),
            np.zeros((*shape, wide)),
        )  # fmt: skip
        self.symbol = self._symbols()
        self.reached = finer.spec.reachable(most)
        self.ready = -1
        """Keys are known for so many symbols read."""
        self.streams: dict[tuple[int, int], ActivationSet | None] = {}
        self.axes: dict[tuple[int, int], tuple[Array, Array]] = {}

    def _symbols(self) -> dict[int, list[int]]:
        """By which symbols each state of the finer machine is reached."""
        symbols: dict[int, list[int]] = {}
        for k in range(len(self.spec.symbols)):
            for to in np.unique(self.finer.spec.step[:, k]):
                if to >= 0:
                    symbols.setdefault(int(to), []).append(k)
        return symbols

    def prove(
        self, cells: Sequence[Cell], deadline: float, limit: Callable[[], int]
    ) -> Iterator[Outcome]:
        """An outcome for each cell: all states of the finer machine that belong to it."""
        order = sorted(cells, key=lambda cell: cell.read)
        base = self.finer.base
        for cell in order:
            length = cell_length(self.question, cell)
            if length > limit():
                continue
            if not self._prepare(cell.read, deadline):
                return
            fine = [
                state for state in np.flatnonzero(self.reached[cell.read])
                if base[state] in cell.states and cell.last in self.symbol.get(int(state), ())
            ]  # fmt: skip
            least, proved = np.inf, bool(fine)
            for state in fine:
                if thread_time() > deadline:
                    return
                margin, good = self._cell(Cell(cell.read, cell.last, (int(state),)), deadline)
                least, proved = min(least, margin), proved and good
                if not good:
                    break
            yield Outcome(cell, length, least, proved)

    # The first layer's output

    def _prepare(self, read: int, deadline: float) -> bool:
        """Keys and values of all positions up to this one."""
        while self.ready < read:
            if thread_time() > deadline:
                return False
            at = self.ready + 1
            if at == 0:
                self._keep(0, self.first.machine.start, self._bos())
            else:
                cells = [
                    Cell(at, k, (int(state),))
                    for state in np.flatnonzero(self.reached[at])
                    for k in self.symbol[int(state)]
                    if self._possible(at, int(state), k)
                ]
                if any(len(self.symbol[cell.states[0]]) > 1 for cell in cells):
                    raise ValueError("the finer machine remembers the last symbol")
                for cell, stream in zip(cells, self.first.zonotopes(cells), strict=True):
                    state = cell.states[0]
                    self.streams[at, state] = stream
                    self._keep(at, int(self.first.machine.place[state]), stream)
            self.ready = at
        return True

    def _possible(self, read: int, state: int, symbol: int) -> bool:
        return bool((self.finer.spec.step[self.reached[read - 1], symbol] == state).any())

    def _bos(self) -> ActivationSet:
        """The stream of `bos` after attention: it reads itself."""
        first, model, rounding = self.first, self.model, self.rounding
        x = first.stream
        stream = ActivationSet(x.centre[0, 0], np.zeros((0, model.width)), x.error[0, 0])
        mixed = queries_keys_values(stream, model.blocks[0], model, rounding)
        values = slice(2 * model.width, 3 * model.width)
        size = mixed.size[values]
        kernel = rounding.gamma(14) * size + rounding.least * size
        read = ActivationSet(
            mixed.centre[values], mixed.generators[:, values], mixed.error[values] + kernel
        )
        read = read.affine(model.blocks[0].projection, rounding)
        return stream.added(read, rounding)

    def _mixed(self, stream: ActivationSet) -> tuple[ActivationSet, ActivationSet]:
        """A stream after the first layer, and its queries, keys and values."""
        model, rounding = self.model, self.rounding
        after = feed_forward(stream, model.blocks[0], model, rounding).folded()
        return after, queries_keys_values(after, model.blocks[1], model, rounding)

    def _keep(self, at: int, place: int, stream: ActivationSet | None) -> None:
        width = self.model.width
        keys = self.keys
        keys.there[at, place] = True
        try:
            if stream is None:
                raise FloatingPointError("nothing is known of the stream")
            with np.errstate(all="ignore"):
                mixed = self._mixed(stream)[1]
        except FloatingPointError:
            keys.error[at, place] = np.inf
            return
        generators = mixed.generators[:, width:]
        largest = np.argsort(-np.abs(generators).sum(1))
        chosen, rest = largest[:KEPT], largest[KEPT:]
        keys.centre[at, place] = mixed.centre[width:]
        keys.generators[at, place, : len(chosen)] = generators[chosen]
        boxed = np.abs(generators[rest]).sum(0) + mixed.error[width:]
        keys.error[at, place] = raised(boxed, len(rest) + 4)

    # The second layer

    def _cell(self, cell: Cell, deadline: float) -> tuple[float, bool]:
        """A lower bound of the margins of one cell of the finer machine."""
        state = cell.states[0]

        def bound(piece: ActivationSet) -> PieceBound:
            try:
                with np.errstate(all="ignore"):
                    after, mixed = self._mixed(piece)
                    read = self._attended(after, mixed, cell)
            except FloatingPointError:
                return PieceBound(-np.inf, False)
            moved = np.abs(mixed.generators[: len(piece.generators)]).sum(1)
            margin, proved = self.last.cell(read, state, INNER, deadline)
            return PieceBound(margin, proved, lambda piece: cut(piece, int(moved.argmax())))

        return in_pieces(self.streams[cell.read, state], bound, PIECES, deadline)

    def _attended(
        self, after: ActivationSet, mixed: ActivationSet, cell: Cell
    ) -> ActivationSet | None:
        """The stream after the second layer's attention; None where nothing can be said."""
        model, rounding, read = self.model, self.rounding, cell.read
        width, size = model.width, model.width // model.heads
        block = model.blocks[1]
        place = self.first.rows([cell]).before
        centre, sizes = block.projection.bias.copy(), list[Array]()
        generators = []
        inner_box = np.zeros(width)
        for head in range(model.heads):
            chosen = slice(head * size, (head + 1) * size)
            box = self._head(mixed, chosen, read, place)
            if box is None:
                return None
            middle, half, largest, own = box
            projection = block.projection.weight[chosen]
            kernel = rounding.gamma(2 * read + 12) * largest + read * rounding.least * largest
            centre = centre + middle @ projection
            generators += [half @ projection, raised(kernel + own, 16)[:, None] * projection]
            sizes.append(largest)
            inner_box = inner_box + (np.abs(half).sum(0) + np.abs(middle)) @ np.abs(projection)
        size_of_reads = np.concatenate(sizes)
        whole = size_of_reads @ np.abs(block.projection.weight) + np.abs(block.projection.bias)
        error = block.projection.error(size_of_reads, rounding)
        error = error + own_error(8 * width + 32) * (whole + inner_box)
        result = after.added(
            ActivationSet(centre, np.vstack(generators), raised(error, width + 16)), rounding
        )
        return result if np.isfinite(result.size).all() else None

    def _head(
        self, mixed: ActivationSet, chosen: slice, read: int, before: NDArray[np.bool_]
    ) -> tuple[Array, Array, Array, Array] | None:
        """What a head can read: the middle and the generators of a box along axes, the largest
        value in each entry, and errors of the proof's own."""
        keys, width = self.keys, self.model.width
        there = keys.there[:read]
        # `mixed` has the queries of all heads, then their keys and values; `keys` has no queries.
        second, third = (
            slice(part * width + chosen.start, part * width + chosen.stop) for part in (1, 2)
        )
        weights = self._weights(mixed, chosen, second, read)
        if weights is None:
            return None
        low, high, own_low, own_high = weights
        values, spread = keys.centre[:read, :, second], keys.generators[:read, :, :, second]
        boxed = keys.error[:read, :, second]
        mine, my_spread = mixed.centre[third], mixed.generators[:, third]
        my_error = mixed.error[third]
        middle, axes = self._axes(read, second)
        along = (values - middle) @ axes.T
        reach = np.abs(spread @ axes.T).sum(2) + boxed @ np.abs(axes.T)
        my_along = (mine - middle) @ axes.T
        my_reach = np.abs(my_spread @ axes.T).sum(0) + my_error @ np.abs(axes.T)
        largest = np.abs(values) + np.abs(spread).sum(2) + boxed
        largest = np.where(there[..., None], largest, 0.0).max((0, 1))
        largest = np.maximum(largest, np.abs(mine) + np.abs(my_spread).sum(0) + my_error)
        largest = raised(largest, KEPT + len(my_spread) + 8)
        terms = 4 * len(middle) + KEPT + len(my_spread) + 32
        slack = own_error(terms) * (largest + np.abs(middle)).sum()
        reach, my_reach = raised(reach, terms) + slack, raised(my_reach, terms) + slack
        nodes = Nodes(
            low[None, ..., None], high[None, ..., None],
            np.concatenate([along + reach, -along + reach], -1)[:, :, None],
            np.array([own_low]), np.array([own_high]),
            np.concatenate([my_along + my_reach, -my_along + my_reach])[None], before,
        )  # fmt: skip
        bounds = largest_means(nodes, self.first.machine)[0]
        if not np.isfinite(bounds).all():
            return None
        count = len(axes)
        above, below = bounds[:count], -bounds[count:]
        half = np.maximum((above - below) / 2, 0.0)
        half = half * (1 + own_error(4)) + own_error(4) * (np.abs(above) + np.abs(below))
        # The axes are orthonormal but for rounding: what they miss of a vector is computed.
        missed = np.abs(np.eye(count) - axes.T @ axes) + own_error(count + 4) * (
            np.abs(axes.T) @ np.abs(axes)
        )
        own = missed @ (largest + np.abs(middle)) + slack
        return middle + (above + below) / 2 @ axes, half[:, None] * axes, largest, own

    def _axes(self, read: int, chosen: slice) -> tuple[Array, Array]:
        """The middle of all values before a position, and their principal axes."""
        key = (read, chosen.start)
        if key not in self.axes:
            used = self.keys.centre[:read, :, chosen][self.keys.there[:read]]
            middle = used.mean(0)
            rows = np.vstack([used - middle, np.eye(len(middle)) * 1e-9])
            self.axes = {k: v for k, v in self.axes.items() if k[0] == read}
            self.axes[key] = (middle, np.linalg.svd(rows, full_matrices=False)[2])
        return self.axes[key]

    def _weights(
        self, mixed: ActivationSet, chosen: slice, own: slice, read: int
    ) -> tuple[Array, Array, float, float] | None:
        """Ranges of the softmax weights, up to one factor: of all nodes, and of the query's own
        position. A head's queries are at `chosen` in `mixed`, its keys at `own`; in what is kept of
        other positions its keys are at `chosen`."""
        model, keys, rounding = self.model, self.keys, self.rounding
        there = keys.there[:read]
        query = mixed.centre[chosen] * model.scale
        turned = mixed.generators[:, chosen] * model.scale
        rest = mixed.error[chosen] * model.scale
        centre, error = keys.centre[:read, :, chosen], keys.error[:read, :, chosen]
        if not np.isfinite(error[there]).all():
            return None
        middle = centre[there].mean(0)
        centres = np.concatenate([centre.reshape(-1, len(query)), mixed.centre[None, own]])
        apart = centres - middle
        scores = apart @ query
        spread = keys.generators[:read, :, :, chosen]
        radius = np.abs(spread).sum(2) + error
        mine = mixed.generators[:, own]
        my_radius = np.abs(mine).sum(0) + mixed.error[own]
        along = (np.abs(spread @ query).sum(2) + error @ np.abs(query)).reshape(-1)
        mine_along = np.abs(mine @ query).sum() + mixed.error[own] @ np.abs(query)
        along = np.append(along, mine_along)
        radius = np.concatenate([radius.reshape(-1, len(query)), my_radius[None]])
        query_radius = np.abs(turned).sum(0) + rest
        moved = along + np.abs(apart @ turned.T).sum(1) + np.abs(apart) @ rest
        moved = moved + radius @ query_radius
        size = len(query)
        sizes = (np.abs(centres) + np.abs(middle) + radius) @ (np.abs(query) + query_radius)
        terms = 4 * size + KEPT + len(turned) + 32
        moved = raised(moved, terms) + own_error(terms) * sizes
        exists = np.append(there.reshape(-1), True)
        whole = (np.abs(centres) + radius) @ (np.abs(query) + query_radius)
        rounded = rounding.gamma(size + 6) * whole + size * rounding.least
        rounded = rounded + rounding.overflow(whole)
        upper, lower = scores + moved, scores - moved
        distance = upper[exists].max() - lower[exists].min()
        slack = score_slack(raised(rounded, size + 8), np.asarray(distance), read + 1, rounding)
        moved = raised(moved + slack, 8)
        upper, lower = scores + moved, scores - moved
        top = upper[exists].max()
        if not (np.isfinite(distance) and np.isfinite(moved[exists]).all()):
            return None
        heavy = np.exp(upper - top) * (1 + own_error(64))
        light = np.exp(lower - top) * (1 - own_error(64))
        heavy, light = np.where(exists, heavy, -1.0), np.where(exists, light, 0.0)
        heavy = np.where(exists & (heavy <= 0), 1e-300, heavy)
        shape = there.shape
        return (
            light[:-1].reshape(shape), heavy[:-1].reshape(shape), float(light[-1]), float(heavy[-1])
        )  # fmt: skip
