"""Whole models in linear time and constant memory.

A word is read in pieces that fit a core's cache, in as many passes as its heads take turns to look
back and ahead (`passes`); every pass goes through all the layers that it can, so no array has the
length of the word but the answers. A causal model takes one pass, and then the word may have no
end. What a head says at the sink at its far end is not computed: `sinks` makes sure that nothing
reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from softhat.numbers.positions import needs_end
from softhat.numerics.formats import Format
from softhat.runtime.linear.classes import ClassKernel
from softhat.runtime.linear.columns import Array, Column, StoredColumns, View
from softhat.runtime.linear.kernels import UniformKernel, Word
from softhat.runtime.linear.layers import LinearEmbedding, LinearLayer, LinearReadOut, reads
from softhat.runtime.linear.passes import HeadRun, Pass, passes, way_of
from softhat.runtime.linear.sinks import check_sinks
from softhat.transformer.shape_reader import Reader
from softhat.transformer.shapes import HeadForm
from softhat.transformer.weights import Transformer, scale

CHUNK = 1 << 16
"""Positions computed at a time: enough to hide the cost of a NumPy call."""
ENDLESS = float(1 << 62)
"""P of a stream. P cancels in every score but Latest's penalty on bad positions, which only
grows with it, so a P beyond any length gives the logits of every shorter word."""


class Tokens(Protocol):
    """An encoded word, or what can be read like one."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: slice, /) -> Array: ...


States = list[list[Any]]
"""The state of every kernel, by layer and head."""


class LinearModel:
    """A transformer's heads as kernels, in one number format.

    Raises `UnknownShapeError` if the weights of some head have none of the known shapes.
    """

    def __init__(self, transformer: Transformer, form: Format) -> None:
        reader = Reader(transformer, form)
        self.transformer = transformer
        self.form = form
        self.layers = [LinearLayer(reader, k) for k in range(len(transformer.layers))]
        self.readout = LinearReadOut(transformer, form)
        self.read_last = {c for row in self.readout.rows for c, _ in row}
        self.needed = {c for layer in self.layers for head in layer.heads for c in reads(head)}
        for layer in self.layers:
            if layer.feed_forward is not None:
                self.needed |= layer.feed_forward.reads()
        self.needed |= self.read_last
        self.embedding = LinearEmbedding(transformer, form, self.needed)
        if not self.causal:
            check_sinks(self.embedding, self.layers, len(transformer.symbols))

    @property
    def causal(self) -> bool:
        """Every head looks back only: one pass, in constant memory."""
        return not self.transformer.has_eos and all(
            mask in ("<=", "<") for layer in self.transformer.layers for mask in layer.masks
        )

    @property
    def streamable(self) -> bool:
        """Causal, and no feature depends on where the word ends."""
        return self.causal and not any(map(needs_end, self.transformer.positions))

    @cached_property
    def shortest(self) -> tuple[Pass, ...]:
        """The fewest passes; the last one goes either way. They may keep bits."""
        return passes(self.layers, self.read_last, None, keeping=True)

    @cached_property
    def in_order(self) -> tuple[Pass, ...]:
        """Passes that keep nothing, of which the last one goes from the first position on."""
        return passes(self.layers, self.read_last, "onward", keeping=False)

    def margins(self, tokens: Array) -> Array:
        """(n, outputs) for one encoded word."""
        out = np.empty((len(tokens), len(self.transformer.outputs)), self.form.accumulate)
        for at, margins in self.pieces(tokens, self.shortest):
            out[at : at + len(margins)] = margins
        return out

    def pieces(self, tokens: Tokens, plan: tuple[Pass, ...]) -> Iterator[tuple[int, Array]]:
        """(tokens before a piece, margins of the piece), in the order of the plan's last pass."""
        n = len(tokens)
        for start, columns, _ in self._run(tokens, plan):
            size = min(CHUNK, self._rows(n) - start)
            own = slice(start == 0, min(size, n + 1 - start))
            if own.start < own.stop:
                yield start + own.start - 1, self.readout(columns, size)[own]

    def head_outputs(self, tokens: Array) -> list[list[list[Array]]]:
        """Per layer and head its values' means at every position, sinks included; 0 at the sink
        at the head's far end."""
        everything = set(range(self.transformer.d_model))
        plan = passes(self.layers, everything, "onward", keeping=False)
        pieces = [means for _, _, means in self._run(tokens, plan)]
        return [
            [
                [np.concatenate([piece[k][h][v] for piece in pieces]) for v in range(len(values))]
                for h, values in enumerate(heads)
            ]
            for k, heads in enumerate(pieces[0])
        ]

    # Pieces of a word

    def fresh(self) -> States:
        """The state of every kernel before its first position."""
        return [[kernel.fresh() for kernel in layer.kernels] for layer in self.layers]

    def advance(self, states: States, codes: Array, start: int, word: Word) -> Array:
        """Margins (size, outputs) of the next positions of a causal model."""
        (onward,) = self.in_order
        columns = self.embedding(codes, start, word, onward.columns)
        self._through(onward, states, columns, start, len(codes), word)
        return self.readout(columns, len(codes))

    def _rows(self, n: int) -> int:
        return n + 1 + self.transformer.has_eos

    def _run(
        self, tokens: Tokens, plan: tuple[Pass, ...]
    ) -> Iterator[tuple[int, list[Column], list[list[list[Array]]]]]:
        """The pieces of the last pass: where each starts, its last columns, its heads' means."""
        rows = self._rows(len(tokens))
        word = Word(len(tokens), float(scale(self.transformer.attention, len(tokens))))
        starts = range(0, rows, CHUNK)
        marks: dict[tuple[int, int], list[Any]] = {}
        gathered: dict[tuple[int, int], Any] = {}
        stored: list[StoredColumns] = [StoredColumns() for _ in starts]
        for step in plan:
            states = self.fresh()
            runs = [(layer.number, run.number, run.how) for layer in step.layers
                    for run in layer.heads]  # fmt: skip
            for k, h, how in runs:
                if how == "whole":
                    states[k][h] = gathered[k, h]
                elif how == "carried" and not step.final:
                    marks[k, h] = [None] * len(starts)
            order = range(len(starts))
            for piece in order if step.way == "onward" else reversed(order):
                for k, h, how in runs:
                    if how == "marked":
                        states[k][h] = deepcopy(marks[k, h][piece])
                    elif how == "carried" and not step.final:
                        marks[k, h][piece] = deepcopy(states[k][h])
                start = starts[piece]
                stop = min(start + CHUNK, rows)
                codes = self._codes(tokens, start, stop)
                columns = self.embedding(codes, start, word, step.columns - stored[piece].columns)
                stored[piece].put_into(columns, step.columns, stop - start, self.form.accumulate)
                before = columns.copy()
                means = self._through(step, states, columns, start, stop - start, word)
                if step.keeps:
                    stored[piece].take(columns, before, step.keeps)
                if step.final:
                    yield start, columns, means
            gathered.update(((k, h), states[k][h]) for k, h, how in runs if how == "gathered")

    def _through(
        self,
        step: Pass,
        states: States,
        columns: list[Column],
        start: int,
        size: int,
        word: Word,
    ) -> list[list[list[Array]]]:
        """One piece through the layers of a pass: its columns become those after the last one."""
        means = []
        for layer in step.layers:
            view = View(columns, size)
            heads = [
                self._head(layer.number, run, states[layer.number], view, start, word)
                for run in layer.heads
            ]
            means.append(heads)
            for c, column in self._added(columns, layer.heads, heads).items():
                columns[c] = column
            if layer.feed_forward is not None:
                for c, column in layer.feed_forward(columns, size).items():
                    columns[c] = column
        return means

    def _head(
        self, number: int, run: HeadRun, states: list[Any], view: View, start: int, word: Word
    ) -> list[Array]:
        """One head at every position of a piece; nothing if nothing reads it there."""
        head, kernel = (
            self.layers[number].heads[run.number],
            self.layers[number].kernels[run.number],
        )
        state = states[run.number]
        if run.how == "whole":
            assert isinstance(kernel, ClassKernel | UniformKernel)
            assert word.length is not None
            return kernel.answers(state, view, self._rows(word.length))
        places, time = self._times(head, view.size, start, word)
        part = view if places == slice(0, view.size) else view.part(places)
        if not run.answers:
            if part.size:
                kernel.absorb(state, part, time, word)
            return []
        if part.size == view.size:
            means = kernel.chunk(state, part, time, word)
            return means if part is view else [mean[::-1] for mean in means]
        whole = [np.zeros(view.size) for _ in head.values]
        if part.size:
            for into, mean in zip(whole, kernel.chunk(state, part, time, word), strict=True):
                into[places] = mean
        return whole

    def _times(self, head: HeadForm, size: int, start: int, word: Word) -> tuple[slice, int]:
        """The rows of a piece in the order of a head's times, and the first of these: time t is row
        t on the way onward and the row t before the last on the way back. The sink at the far end
        has none."""
        way = way_of(head)
        if word.length is None or way is None:
            return slice(0, size), start
        rows = self._rows(word.length)
        far = rows == word.length + 2
        if way == "onward":
            return slice(0, min(size, rows - far - start)), start
        return slice(None, 0 if far and start == 0 else None, -1), rows - start - size

    def _added(
        self, columns: list[Column], runs: tuple[HeadRun, ...], means: list[list[Array]]
    ) -> dict[int, Array]:
        """x + O·(head outputs), rounded as the dense runtime does."""
        deltas: dict[int, Array] = {}
        for run, values in zip(runs, means, strict=True):
            if not values:
                continue
            for target, mean in zip(run.targets, values, strict=True):
                rounded = self.form.round(mean.astype(self.form.accumulate, copy=False))
                for c, w in target:
                    part = rounded if w == 1 else rounded * self.form.accumulate(w)
                    deltas[c] = deltas[c] + part if c in deltas else part
        for c, delta in deltas.items():
            before = columns[c]
            if before is not None:
                deltas[c] = self.form.round(before + delta)
        return deltas

    # Tokens

    def sink(self, which: int) -> Array:
        """The code of `<bos>` (0) or `<eos>` (1), in the form `codes` returns."""
        k = len(self.transformer.symbols) + which
        if not self.transformer.propositional:
            return np.array([k])
        row = np.zeros((1, len(self.transformer.tokens)), self.form.accumulate)
        row[0, k] = 1
        return row

    def codes(self, tokens: Array) -> Array:
        """Encoded symbols as they are; propositions with a column for each sink."""
        if not self.transformer.propositional:
            return tokens
        wide = np.zeros((len(self.transformer.tokens), len(tokens)), self.form.accumulate)
        wide[: tokens.shape[1]] = tokens.T
        return wide.T

    def _codes(self, tokens: Tokens, start: int, stop: int) -> Array:
        """The rows from `start` to `stop` of a word with its sinks."""
        pieces = [self.codes(tokens[max(0, start - 1) : stop - 1])]
        if start == 0:
            pieces.insert(0, self.sink(0))
        if stop == len(tokens) + 2:
            pieces.append(self.sink(1))
        return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
