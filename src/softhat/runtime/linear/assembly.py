"""A pass on the inside of a word as a program: numbers that `compiled` goes through.

Away from the ends of a word nothing is special: no sink, no position that is the first or the last,
no head that has seen less than its window. There a pass is the same few steps for every piece:
gather the columns of the symbols, then for each layer the heads, their sums and the feed-forward
layer. A step is a number that says which, its length, and its operands: places of columns, means
and states, and of constants in a table beside the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softhat.numbers.positions import Named
from softhat.runtime.linear.columns import Array
from softhat.runtime.linear.kernels import (
    LocalKernel,
    RampKernel,
    StrictKernel,
    StrictState,
    UniformKernel,
    beyond_64_bits,
)
from softhat.runtime.linear.layers import (
    LinearEmbedding,
    LinearFeedForward,
    LinearLayer,
    LinearReadOut,
    reads,
)
from softhat.runtime.linear.passes import HeadRun, LayerRun, Pass, way_of
from softhat.transformer.rows import IntegerRow, Row

STEPS = (
    "TAKE", "TAKE_BITS", "LOCAL", "AVERAGE", "EXPONENTS", "SHARE", "ADD", "FEED_FORWARD",
    "READ_OUT",
)  # fmt: skip
TAKE, TAKE_BITS, LOCAL, AVERAGE, EXPONENTS, SHARE, ADD, FEED_FORWARD, READ_OUT = range(len(STEPS))
"""The steps: see the functions of `compiled` for their operands."""
ENDS = (Named("first"), Named("last"))
"""Features that are 0 inside a word."""
ONES = (Named("1"), Named("ordinary"))
"""Features that are 1 there."""
WIDTH = 62
"""Symbols that are bits of a number."""

States = list[list[Any]]
"""The state of every kernel, by layer and head."""


@dataclass(frozen=True, slots=True)
class Other:
    """A head that its kernel computes, and the first of its rows of means."""

    layer: int
    run: HeadRun
    first: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps from one number of the program to another; ramps whose exponentials are taken after
    them; and heads that are computed after them."""

    start: int
    stop: int
    ramps: tuple[Other, ...]
    others: tuple[Other, ...]


@dataclass(frozen=True, slots=True)
class Carried:
    """One value of a head that the program computes: at which step, and where its state stands
    among integers, and among means that are held. `largest` is the most that a position adds to the
    sum of an average."""

    step: int
    layer: int
    head: int
    value: int
    integer: int
    held: int | None = None
    largest: int = 0

    def load(self, states: States, integers: Array, held: Array, size: int) -> None:
        """The state before a piece of so many positions."""
        state = states[self.layer][self.head]
        if self.held is None:
            if abs(state[self.value]) + self.largest * size >= 2**63:
                raise beyond_64_bits()
            integers[self.integer] = state[self.value]
            return
        inner = state.inner if isinstance(state, StrictState) else state
        integers[self.integer] = inner.good
        integers[self.integer + 1] = inner.values[self.value]
        held[self.held] = inner.held[self.value]
        if isinstance(state, StrictState):
            held[self.held + 1] = state.before[self.value]

    def store(self, states: States, integers: Array, held: Array) -> None:
        """The state after it."""
        state = states[self.layer][self.head]
        if self.held is None:
            state[self.value] = int(integers[self.integer])
            return
        inner = state.inner if isinstance(state, StrictState) else state
        inner.good = int(integers[self.integer])
        inner.values[self.value] = int(integers[self.integer + 1])
        inner.held[self.value] = float(held[self.held])
        if isinstance(state, StrictState):
            state.before[self.value] = float(held[self.held + 1])


class Program:
    """A pass as steps."""

    def __init__(
        self,
        step: Pass,
        embedding: LinearEmbedding,
        layers: Sequence[LinearLayer],
        readout: LinearReadOut,
        fresh: bool,
    ) -> None:
        """`fresh`: no earlier pass has stored a column."""
        self.layers = layers
        self.numbers: list[int] = []
        self.constants: list[float] = []
        self.stretches: list[Stretch] = []
        self.carried: list[Carried] = []
        self.integers = self.held = self.means = self.ramps = 0
        """How many there are of each."""
        self.written = set[int]().union(*map(_changed, step.layers))
        self.place = {c: k for k, c in enumerate(sorted(step.columns | self.written))}
        """The row of each column."""
        tables = {c: _table(embedding, c) for c in sorted(step.columns)}
        self.tables = {c for c, table in tables.items() if table is not None}
        """Columns that depend on the symbols only: the first stretch embeds them."""
        self.symbols = {
            c: sum(1 << k for k, holds in enumerate(table) if holds)
            for c, table in tables.items()
            if table is not None and len(table) <= WIDTH and set(table) <= {0.0, 1.0}
        }
        """Of columns that are bits the symbols for which they are 1, as bits of a number."""
        floats = self._floats(step, readout) if fresh else set(tables)
        self._embedded = set(self.symbols) if fresh else set()
        """Bits of the symbols that no layer so far has changed."""
        self.taken = self.place.keys() - (tables.keys() - floats)
        """Columns that are computed: the others are read as bits of the symbols only."""
        for c, table in tables.items():
            if c not in floats:
                continue
            if c in self.symbols:
                self._write(TAKE_BITS, self.place[c], self.symbols[c])
            elif table is not None:
                self._write(TAKE, self.place[c], self._constant(*table))
        self._stretch()
        for layer in step.layers:
            self._layer(layer)
            self._embedded -= _changed(layer)
        for k, (row, bias) in enumerate(zip(readout.rows, readout.bias, strict=True)):
            if step.final:
                terms = self._terms(row)
                self._write(READ_OUT, k, self._constant(bias), *terms)
        self._stretch()

    def _floats(self, step: Pass, readout: LinearReadOut) -> set[int]:
        """The columns that something reads otherwise than as bits."""
        floats = self.written | step.keeps
        if step.final:
            floats |= {c for row in readout.rows for c, _ in row}
        for layer in step.layers:
            if layer.feed_forward is not None:
                floats |= layer.feed_forward.reads()
            for run in layer.heads:
                kernel = self.layers[layer.number].kernels[run.number]
                if not isinstance(kernel, LocalKernel | StrictKernel | UniformKernel):
                    floats |= reads(self.layers[layer.number].heads[run.number])
        return floats

    def _write(self, step: int, *operands: int) -> None:
        self.numbers += [step, 2 + len(operands), *operands]

    def _constant(self, *values: float) -> int:
        self.constants += values
        return len(self.constants) - len(values)

    def _stretch(self, ramps: Sequence[Other] = (), others: Sequence[Other] = ()) -> None:
        """The steps since the last stretch."""
        start = self.stretches[-1].stop if self.stretches else 0
        self.stretches.append(Stretch(start, len(self.numbers), tuple(ramps), tuple(others)))

    def _terms(self, row: Row) -> list[int]:
        """Column and weight of each term; columns that the pass does not have are 0."""
        terms = [(self.place[c], self._constant(weight)) for c, weight in row if c in self.place]
        return [number for term in terms for number in term]

    def _row(self, row: IntegerRow) -> list[int]:
        """The number of terms, then column and weight of each. What is a bit of the symbol is one
        term, whatever it is computed of."""
        if row.terms and all(c in self._embedded for c, _ in row.terms):
            totals = [
                sum(weight * (self.symbols[c] >> k & 1) for c, weight in row.terms)
                for k in range(WIDTH)
            ]
            if set(totals) <= {0, 1}:
                return [1, -1 - sum(1 << k for k, holds in enumerate(totals) if holds), 1]
        terms: list[int] = []
        for c, weight in row.terms:
            if c in self._embedded:
                terms += (-1 - self.symbols[c], weight)
            elif c in self.place:
                terms += (self.place[c], weight)
        return [len(terms) // 2, *terms]

    def _layer(self, layer: LayerRun) -> None:
        """All heads of a layer read what the layer finds: their means are added after the last."""
        means = 0
        shares: list[tuple[int, ...]] = []
        ramps: list[Other] = []
        others: list[Other] = []
        sums: dict[int, list[int]] = {}
        for run in layer.heads:
            head = self.layers[layer.number].heads[run.number]
            kernel = self.layers[layer.number].kernels[run.number]
            back = int(way_of(head) == "back")
            match kernel:
                case LocalKernel() | StrictKernel():
                    self._local(layer.number, run.number, kernel, means, back)
                case UniformKernel() if run.how != "whole":
                    self._average(layer.number, run.number, kernel, means, back)
                case RampKernel() if run.answers and way_of(head) is not None:
                    self._exponents(kernel, len(ramps), back)
                    for k, value in enumerate(kernel.values):
                        shares.append((means + k, len(ramps), self._constant(value)))
                    ramps.append(Other(layer.number, run, means))
                case _:
                    others.append(Other(layer.number, run, means))
            for k, row in enumerate(run.targets):
                for c, weight in row:
                    sums.setdefault(c, []).extend((means + k, self._constant(weight)))
            means += len(head.values)
        self.means = max(self.means, means)
        self.ramps = max(self.ramps, len(ramps))
        if ramps or others:
            self._stretch(ramps, others)
        for share in shares:
            self._write(SHARE, *share)
        for c, terms in sums.items():
            self._write(ADD, self.place[c], *terms)
        if layer.feed_forward is not None:
            self._write(FEED_FORWARD, *self._units(layer.feed_forward))

    def _local(
        self, layer: int, head: int, kernel: LocalKernel | StrictKernel, mean: int, back: int
    ) -> None:
        strict = isinstance(kernel, StrictKernel)
        inner = kernel.inner if isinstance(kernel, StrictKernel) else kernel
        bad = [0] if inner.bad is None else [1, *self._row(inner.bad)]
        table = inner.table / inner.table[-1] if inner.bad is None else inner.table
        entries = self._constant(*table.tolist())
        for k, row in enumerate(inner.values):
            at = len(self.numbers)
            self.carried.append(Carried(at, layer, head, k, self.integers, self.held))
            self._write(
                LOCAL, mean + k, self.integers, self.held, back, int(strict), entries,
                inner.window, self._constant(inner.weights[k]), *bad, *self._row(row),
            )  # fmt: skip
            self.integers += 2
            self.held += 2

    def _average(self, layer: int, head: int, kernel: UniformKernel, mean: int, back: int) -> None:
        for k, row in enumerate(kernel.values):
            at = len(self.numbers)
            self.carried.append(Carried(at, layer, head, k, self.integers, largest=row.largest))
            unit = self._constant(kernel.units[k])
            self._write(AVERAGE, mean + k, self.integers, back, unit, *self._row(row))
            self.integers += 1

    def _exponents(self, kernel: RampKernel, ramp: int, back: int) -> None:
        near, far = (1, 2) if kernel.past else (2, 1)
        shape = kernel.shape
        own = self._constant(shape.own[0], shape.own[near], shape.own[far], shape.slope)
        largest = self._constant(max(map(abs, kernel.values)))
        operands = [ramp, back, largest, own]
        for c, parts, steep in shape.contents:
            if c in self.place:
                linear = self._constant(parts[0], parts[near], parts[far], steep)
                operands += [self.place[c], linear]
        self._write(EXPONENTS, *operands)

    def _units(self, layer: LinearFeedForward) -> list[int]:
        changed = sorted(layer.changes())
        operands = [len(changed)]
        for c in changed:
            operands += (self.place[c], self._constant(layer.bias.get(c, 0.0)))
        for row, units in layer.units:
            terms = self._terms(row)
            operands += (len(terms) // 2, *terms, len(units))
            for bias, out in units:
                operands += (self._constant(bias), len(out))
                for c, weight in out:
                    operands += (changed.index(c), self._constant(weight))
        return operands


def _changed(layer: LayerRun) -> set[int]:
    """The columns that a layer adds to."""
    changed = {c for run in layer.heads for row in run.targets for c, _ in row}
    return changed if layer.feed_forward is None else changed | layer.feed_forward.changes()


def _table(embedding: LinearEmbedding, c: int) -> list[float] | None:
    """A column of the embedding by symbol, if that is all it depends on inside a word."""
    parts = [x for x in embedding.positions.get(c, ()) if x[0] not in ENDS]
    if embedding.propositional or any(feature not in ONES for feature, _ in parts):
        return None
    form = embedding.form
    table = embedding.tokens.get(c)
    for _, weight in parts:
        one = np.full(embedding.symbols, form.accumulate(weight))
        table = one if table is None else table + one
    return [0.0] * embedding.symbols if table is None else table.tolist()
