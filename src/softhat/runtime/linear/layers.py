"""Embedding, feed-forward layers and read-out on columns: the weights applied as they are.

A column is one coordinate at all positions of a piece of the word; None stands for 0 throughout.
Only the columns that something reads are computed, and what heads do is in their kernels.
"""

from __future__ import annotations

from collections.abc import Set
from copy import copy
from typing import Any

import numpy as np

from softhat.numbers.positions import Feature, Named, floats
from softhat.numerics.formats import Format
from softhat.runtime.linear.classes import ClassKernel
from softhat.runtime.linear.columns import Array, Column
from softhat.runtime.linear.kernels import (
    HeadKernel,
    LocalKernel,
    RampKernel,
    StrictKernel,
    UniformKernel,
    Word,
)
from softhat.runtime.linear.lookups import LookupKernel
from softhat.runtime.linear.shifts import ShiftKernel
from softhat.transformer.rows import Row, hidden_units, rows_of
from softhat.transformer.shape_reader import Reader
from softhat.transformer.shapes import (
    Classes,
    HeadForm,
    Local,
    Numbered,
    Ramp,
    Residues,
    Uniform,
)
from softhat.transformer.weights import Layer, Transformer

UNKNOWN_LENGTH = 1 << 62
"""Stands for n where the end is not known: no position is the last."""


class LinearEmbedding:
    """Symbol codes (sinks included) to the columns that something reads."""

    def __init__(self, transformer: Transformer, form: Format, needed: set[int]) -> None:
        self.form = form
        self.propositional = transformer.propositional
        self.eos = transformer.has_eos
        dense = form.load(transformer.embedding.dense())
        places = transformer.position_embedding
        weights = form.load(places.values).tolist()
        self.tokens: dict[int, Array] = {}
        self.positions: dict[int, list[tuple[Feature, float]]] = {}
        for c in sorted(needed):
            if dense[:, c].any():
                self.tokens[c] = np.ascontiguousarray(dense[:, c])
        for c, f, w in zip(*(axis.tolist() for axis in places.where), weights, strict=True):
            if c in needed:
                self.positions.setdefault(c, []).append((transformer.positions[f], w))
        self.d_model = transformer.d_model

    def __call__(self, codes: Array, start: int, word: Word, wanted: Set[int]) -> list[Column]:
        """Columns of the positions from `start` on, those that are wanted; a propositional row has
        a bit a token."""
        columns: list[Column] = [None] * self.d_model
        for c, table in self.tokens.items():
            if c in wanted:
                columns[c] = self._mixed(codes, table) if self.propositional else table.take(codes)
        for c, parts in self.positions.items():
            for feature, weight in parts if c in wanted else ():
                column = self.feature(feature, start, start + len(codes), word)
                if column is None:
                    continue
                part = column if weight == 1 else column * self.form.accumulate(weight)
                before = columns[c]
                columns[c] = part if before is None else self.form.round(before + part)
        return columns

    def _mixed(self, codes: Array, table: Array) -> Array:
        """Σ over the propositions that hold."""
        total = np.zeros(len(codes), self.form.accumulate)
        for p in np.flatnonzero(table).tolist():
            total += codes[:, p] * table[p]
        return total

    def feature(self, feature: Feature, start: int, stop: int, word: Word) -> Column:
        """One position feature; None where it is 0 throughout."""
        n = UNKNOWN_LENGTH if word.length is None else word.length
        inside = start >= 1 and stop <= n + 1
        match feature:
            case Named("1", False):
                return np.ones(stop - start, self.form.accumulate)
            case Named("ordinary", False) if inside:
                return np.ones(stop - start, self.form.accumulate)
            case Named("first") if start > 1:
                return None
            case Named("last") if stop <= n:
                return None
        scale = int(word.scale)
        table = floats((feature,), n, eos=self.eos, scale=scale, start=start, stop=stop)
        return self.form.load(table[:, 0])


class LinearFeedForward:
    """Hidden units with equal incoming weights share one sum, as in the dense runtime."""

    def __init__(self, layer: Layer, form: Format) -> None:
        self.form = form
        self.units = hidden_units(layer, form)
        loaded = form.load(layer.out_bias)
        self.bias = {int(c): float(loaded[c]) for c in np.flatnonzero(loaded)}

    def restricted(self, columns: set[int]) -> LinearFeedForward:
        """What of it some columns are computed from."""
        part = copy(self)
        part.units = []
        for row, units in self.units:
            writing = [(bias, tuple(x for x in out if x[0] in columns)) for bias, out in units]
            writing = [(bias, out) for bias, out in writing if out]
            if writing:
                part.units.append((row, writing))
        part.bias = {c: value for c, value in self.bias.items() if c in columns}
        return part

    def reads(self) -> set[int]:
        """The coordinates that its sums are of."""
        return {c for row, _ in self.units for c, _ in row}

    def __call__(self, columns: list[Column], size: int) -> dict[int, Array]:
        """The new columns where this layer changes one."""
        deltas: dict[int, Array] = {}
        zeros = np.zeros(size, self.form.accumulate)  # an array: several times a scalar's speed
        for row, units in self.units:
            total = weighted(row, columns, size, self.form)
            for bias, out in units:
                hidden = total + self.form.accumulate(bias) if bias else total.copy()
                hidden = self.form.round(np.maximum(hidden, zeros, out=hidden))
                for c, weight in out:
                    part = hidden if weight == 1 else hidden * self.form.accumulate(weight)
                    if c in deltas:
                        deltas[c] += part
                    else:
                        deltas[c] = part.copy() if part is hidden else part
        changed: dict[int, Array] = {}
        for c in deltas.keys() | self.bias.keys():
            delta: Any = deltas.get(c, self.form.accumulate(0))
            delta = delta + self.form.accumulate(self.bias.get(c, 0.0))
            before = columns[c]
            new = np.full(size, delta) if np.ndim(delta) == 0 else delta
            changed[c] = self.form.round(new if before is None else before + new)
        return changed


class LinearReadOut:
    """The margins of all outputs."""

    def __init__(self, transformer: Transformer, form: Format) -> None:
        self.form = form
        self.rows = rows_of(transformer.readout, form)
        self.bias = form.load(transformer.readout_bias).tolist()

    def __call__(self, columns: list[Column], size: int) -> Array:
        """(size, outputs)."""
        out = np.empty((size, len(self.rows)), self.form.accumulate)
        for k, (row, bias) in enumerate(zip(self.rows, self.bias, strict=True)):
            np.add(weighted(row, columns, size, self.form), bias, out=out[:, k])
        return self.form.round(out)


class LinearLayer:
    """One layer: its heads with their kernels, and its feed-forward."""

    def __init__(self, reader: Reader, number: int) -> None:
        self.heads: tuple[HeadForm, ...] = reader.heads(number)
        self.kernels: tuple[HeadKernel, ...] = tuple(kernel(head) for head in self.heads)
        layer = reader.transformer.layers[number]
        self.feed_forward = LinearFeedForward(layer, reader.form) if layer.into_bias.size else None


def keys_read(head: HeadForm) -> set[int]:
    """The coordinates that a head reads of its keys, position features in scores excepted."""
    coordinates = {c for row in head.values for c, _ in row}
    match head.shape:
        case Local(penalty=penalty) if penalty is not None:
            coordinates |= {c for c, _ in penalty.row}
        case Classes(_, keys):
            coordinates |= set(keys)
    return coordinates


def reads(head: HeadForm) -> set[int]:
    """The coordinates that a head reads of its keys and of its queries."""
    match head.shape:
        case Ramp(contents=contents):
            return keys_read(head) | {c for c, _, _ in contents}
        case Classes(queries, _) | Numbered(queries):
            return keys_read(head) | set(queries)
    return keys_read(head)


def kernel(head: HeadForm) -> HeadKernel:
    """The kernel of a head's shape."""
    match head.shape:
        case Local() if head.mask in ("<", ">"):
            return StrictKernel(head, head.shape)
        case Local():
            return LocalKernel(head, head.shape)
        case Residues():
            return ShiftKernel(head, head.shape)
        case Uniform():
            return UniformKernel(head)
        case Ramp():
            return RampKernel(head, head.shape)
        case Classes():
            return ClassKernel(head, head.shape)
        case Numbered():
            return LookupKernel(head, head.shape)


def weighted(row: Row, columns: list[Column], size: int, form: Format) -> Array:
    """Σ w·x_c, a new array."""
    total: Array | None = None
    for c, w in row:
        column = columns[c]
        if column is None:
            continue
        if total is None:
            total = column * form.accumulate(w)
        elif w == 1:
            total += column
        elif w == -1:
            total -= column
        else:
            total += column * form.accumulate(w)
    return np.zeros(size, form.accumulate) if total is None else total
