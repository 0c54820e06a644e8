"""Whole models in linear time.

A causal model runs chunk by chunk through all its layers, so memory does not grow with the
word. A model that looks both ways runs layer by layer: past heads from the first position to
the last, future heads from the last to the first, means over the whole word in a pass of their
own. The one row that neither pass reaches, of the sink at a head's far end, is summed densely.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from softhat.numbers.positions import Named, floats, needs_end
from softhat.numerics.formats import Format
from softhat.runtime.linear.classes import ClassKernel
from softhat.runtime.linear.columns import Array, Column, View
from softhat.runtime.linear.kernels import UniformKernel, Word
from softhat.runtime.linear.layers import LinearEmbedding, LinearLayer, LinearReadOut
from softhat.transformer.rows import Row
from softhat.transformer.shape_reader import Reader
from softhat.transformer.shapes import HeadForm, Uniform
from softhat.transformer.weights import Transformer, scale

CHUNK = 1 << 16
"""Positions computed at a time: enough to hide the cost of a NumPy call."""
ENDLESS = float(1 << 62)
"""P of a stream. P cancels in every score but Latest's penalty on bad positions, which only
grows with it, so a P beyond any length gives the logits of every shorter word."""


UNDERFLOW = 746.0
"""e^-746 is 0 in float64."""


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
        self.needed = {c for layer in self.layers for c in layer.reads()}
        self.needed |= {c for row in self.readout.rows for c, _ in row}
        self.embedding = LinearEmbedding(transformer, form, self.needed)

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

    def margins(self, tokens: Array) -> Array:
        """(n, outputs) for one encoded word."""
        n = len(tokens)
        if not self.causal:
            rows = n + 1 + self.transformer.has_eos
            return self.readout(self._layered(tokens, None), rows)[1 : n + 1]
        out = np.empty((n, len(self.transformer.outputs)), self.form.accumulate)
        done = 0
        for margins in self._chunks(tokens):
            out[done : done + len(margins)] = margins
            done += len(margins)
        return out

    def head_outputs(self, tokens: Array) -> list[list[list[Array]]]:
        """Per layer and head its values' means at every position, sinks included."""
        kept: list[list[list[Array]]] = []
        self._layered(tokens, kept)
        return kept

    # One pass

    def fresh(self) -> list[list[Any]]:
        """The state of every kernel before the first position."""
        return [[kernel.fresh() for kernel in layer.kernels] for layer in self.layers]

    def advance(self, states: list[list[Any]], codes: Array, start: int, word: Word) -> Array:
        """Margins (size, outputs) of the next positions of a causal model."""
        size = len(codes)
        columns = self.embedding(codes, start, word)
        for layer, state in zip(self.layers, states, strict=True):
            view = View(columns, size)
            means = [
                kernel.chunk(s, view, start, word)
                for kernel, s in zip(layer.kernels, state, strict=True)
            ]
            for c, column in self._added(columns, layer.heads, means).items():
                columns[c] = column
            if layer.feed_forward is not None:
                for c, column in layer.feed_forward(columns, size).items():
                    columns[c] = column
        return self.readout(columns, size)

    def _chunks(self, tokens: Array) -> Iterator[Array]:
        n = len(tokens)
        word = Word(n, float(scale(self.transformer.attention, n)))
        states = self.fresh()
        self.advance(states, self.sink(0), 0, word)
        for start in range(0, n, CHUNK):
            yield self.advance(states, self.codes(tokens[start : start + CHUNK]), start + 1, word)

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

    def _added(
        self, columns: list[Column], heads: tuple[HeadForm, ...], means: list[list[Array]]
    ) -> dict[int, Array]:
        """x + O·(head outputs), rounded as the dense runtime does."""
        deltas: dict[int, Array] = {}
        for head, values in zip(heads, means, strict=True):
            for target, mean in zip(head.targets, values, strict=True):
                rounded = self.form.round(mean.astype(self.form.accumulate))
                for c, w in target:
                    if c in self.needed:
                        part = rounded if w == 1 else rounded * self.form.accumulate(w)
                        deltas[c] = deltas[c] + part if c in deltas else part
        for c, delta in deltas.items():
            before = columns[c]
            if before is not None:
                deltas[c] = self.form.round(before + delta)
        return deltas

    # Both ways

    def _layered(self, tokens: Array, keep: list[list[list[Array]]] | None) -> list[Column]:
        """The last residual of the whole word, sinks included."""
        n, eos = len(tokens), self.transformer.has_eos
        rows = n + 1 + eos
        word = Word(n, float(scale(self.transformer.attention, n)))
        columns: list[Column] = [None] * self.transformer.d_model
        for start in range(0, rows, CHUNK):
            stop = min(start + CHUNK, rows)
            self._store(columns, self._embedded(tokens, start, stop, word), start, stop, rows)
        for layer in self.layers:
            means = [self._head(layer, h, columns, rows, word) for h in range(len(layer.heads))]
            if keep is not None:
                keep.append(means)
            for start in range(0, rows, CHUNK):
                stop = min(start + CHUNK, rows)
                part = [None if x is None else x[start:stop] for x in columns]
                sliced = [[mean[start:stop] for mean in values] for values in means]
                added = self._added(part, layer.heads, sliced)
                for c, column in added.items():
                    part[c] = column
                if layer.feed_forward is not None:
                    added |= layer.feed_forward(part, stop - start)
                self._store(columns, added, start, stop, rows)
        return columns

    def _embedded(self, tokens: Array, start: int, stop: int, word: Word) -> dict[int, Array]:
        n = len(tokens)
        pieces = [self.codes(tokens[max(0, start - 1) : stop - 1])]
        if start == 0:
            pieces.insert(0, self.sink(0))
        if stop == n + 2:
            pieces.append(self.sink(1))
        columns = self.embedding(np.concatenate(pieces), start, word)
        return {c: column for c, column in enumerate(columns) if column is not None}

    def _store(
        self, columns: list[Column], part: dict[int, Array], start: int, stop: int, rows: int
    ) -> None:
        for c, values in part.items():
            if c in self.needed:
                column = columns[c]
                if column is None:
                    column = columns[c] = np.zeros(rows, self.form.accumulate)
                column[start:stop] = values

    def _head(
        self, layer: LinearLayer, h: int, columns: list[Column], rows: int, word: Word
    ) -> list[Array]:
        """One head at every position."""
        head, kernel = layer.heads[h], layer.kernels[h]
        assert word.length is not None
        n = word.length
        out = [np.empty(rows) for _ in head.values]
        if head.mask == "none" and isinstance(kernel, ClassKernel):
            return self._whole(kernel, columns, rows)
        if head.mask == "none":
            assert isinstance(kernel, UniformKernel)
            sums = [0] * len(out)
            for start in range(0, rows, CHUNK):
                part = [None if x is None else x[start : start + CHUNK] for x in columns]
                size = min(CHUNK, rows - start)
                sums = [a + b for a, b in zip(sums, kernel.total(View(part, size)), strict=True)]
            for mean, total, unit in zip(out, sums, kernel.units, strict=True):
                mean[:] = total / rows * unit
            return out
        # Time t is position t for the past and n+1-t for the future; times 0 … n.
        past = head.mask in ("<=", "<")
        ordered = [x if past or x is None else x[::-1] for x in columns]
        target = [mean if past else mean[::-1] for mean in out]
        state = kernel.fresh()
        for start in range(0, n + 1, CHUNK):
            stop = min(start + CHUNK, n + 1)
            view = View([None if x is None else x[start:stop] for x in ordered], stop - start)
            for mean, values in zip(target, kernel.chunk(state, view, start, word), strict=True):
                mean[start:stop] = values
        if rows == n + 2:
            for mean, value in zip(target, self._far(head, columns, past, word), strict=True):
                mean[n + 1] = value
        return out

    def _whole(self, kernel: ClassKernel, columns: list[Column], rows: int) -> list[Array]:
        """A head without a mask: all keys first, then what each query reads of them."""
        state, out = kernel.fresh(), [np.empty(rows) for _ in kernel.values]
        views = []
        for start in range(0, rows, CHUNK):
            part = [None if x is None else x[start : start + CHUNK] for x in columns]
            views.append((start, View(part, min(CHUNK, rows - start))))
            kernel.absorb(state, views[-1][1])
        for start, view in views:
            for mean, values in zip(out, kernel.answers(state, view), strict=True):
                mean[start : start + view.size] = values
        return out

    def _far(self, head: HeadForm, columns: list[Column], past: bool, word: Word) -> list[float]:
        """The row of the sink at the far end, which sees every key: its softmax term by term."""
        assert word.length is not None
        rows = word.length + 2
        at = rows - 1 if past else 0
        if isinstance(head.shape, Uniform):
            return [float(_row64(row, columns, rows).sum()) / rows for row in head.values]
        logits = np.zeros(rows)
        for (left, right, power), weight in head.terms.items():
            query = self._factor(left, columns, at, at + 1, word)[0]
            factor = weight * float(query) * word.scale**power
            if factor:
                logits += factor * self._factor(right, columns, 0, rows, word)
        if head.mask in ("<", ">"):
            logits[at] = -np.inf
        logits -= logits.max()
        seen = np.flatnonzero(logits > -UNDERFLOW)
        weights = np.exp(logits[seen])
        near = [None if x is None else x[seen] for x in columns]
        return [
            float(weights @ _row64(row, near, len(seen)) / weights.sum()) for row in head.values
        ]

    def _factor(
        self, factor: str | int, columns: list[Column], start: int, stop: int, word: Word
    ) -> Array:
        if isinstance(factor, int):
            column = columns[factor]
            return np.zeros(stop - start) if column is None else column[start:stop].astype(float)
        assert word.length is not None
        eos = self.transformer.has_eos
        feature = Named(factor)
        return floats((feature,), word.length, eos=eos, start=start, stop=stop)[:, 0]


def _row64(row: Row, columns: list[Column], size: int) -> Array:
    """Σ w·x_c in float64."""
    total = np.zeros(size)
    for c, w in row:
        column = columns[c]
        if column is not None:
            total += w * column
    return total
