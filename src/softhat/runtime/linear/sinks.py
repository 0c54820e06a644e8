"""Nothing reads what a head says at the sink at its far end.

A head that looks back runs from `<bos>` to the last position, one that looks ahead from `<eos>` to
the first. The row of the other sink has no time: it sees every key, and `i` and `r` are 0 there.
Its value could only be seen through the columns that a later head reads of that sink as a key, and
every gate that stores something is shut at the sinks. That is read from the weights here: a bound
of each column at a sink, and whether the column depends on such a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from softhat.numbers.positions import DigitFeature, Feature, Holds, Mod, Named
from softhat.runtime.linear.layers import LinearEmbedding, LinearFeedForward, LinearLayer, keys_read
from softhat.transformer.rows import IntegerRow, Row, UnknownShapeError
from softhat.transformer.shapes import HeadForm, Local, Ramp, Residues
from softhat.transformer.weights import Mask

SEEING: tuple[tuple[Mask, ...], ...] = (("<=", "<", "none"), (">=", ">", "none"))
"""The masks of heads at the word's own positions that see `<bos>`, and `<eos>`."""
LARGEST_KEY = 127.0
"""Integers read of a key fit 8 bits."""


@dataclass
class _Range:
    """What a column may hold at a sink; `far`: it depends on a head's value at its far end."""

    low: float = 0.0
    high: float = 0.0
    far: bool = False

    def add(self, other: _Range, weight: float) -> None:
        if not weight:
            return
        ends = (weight * other.low, weight * other.high)
        self.low, self.high = self.low + min(ends), self.high + max(ends)
        self.far |= other.far


@dataclass
class _SinkRow:
    """The columns of one sink."""

    columns: dict[int, _Range] = field(default_factory=dict)

    def __getitem__(self, c: int) -> _Range:
        return self.columns.setdefault(c, _Range())

    def sum(self, row: Row) -> _Range:
        total = _Range()
        for c, weight in row:
            total.add(self[c], weight)
        return total


def check_sinks(embedding: LinearEmbedding, layers: Sequence[LinearLayer], symbols: int) -> None:
    """Raise `UnknownShapeError` if a head may read of a sink what no pass computes."""
    for which, masks in enumerate(SEEING):
        row = _SinkRow()
        for c, table in embedding.tokens.items():
            if symbols + which < len(table):
                held = float(table[symbols + which])
                row[c].add(_Range(held, held), 1.0)
        for c, parts in embedding.positions.items():
            for feature, weight in parts:
                row[c].add(_feature(feature), weight)
        for layer in layers:
            for head in layer.heads:
                if head.mask in masks and any(row[c].far for c in keys_read(head)):
                    raise UnknownShapeError("a head reads what another one says at a sink")
            for head in layer.heads:
                for value, targets in zip(head.values, head.targets, strict=True):
                    written = _written(head, value, head.mask not in masks)
                    for c, weight in targets:
                        row[c].add(written, weight)
            if layer.feed_forward is not None:
                _feed_forward(row, layer.feed_forward)


def _feature(feature: Feature) -> _Range:
    """A position feature at a sink, at any length."""
    match feature:
        case Named("1", False):
            return _Range(1.0, 1.0)
        case Named("ordinary" | "first" | "last" | "i" | "r") | DigitFeature() | Holds():
            return _Range()
        case Mod(sinks=sinks):
            return _Range(0.0, float(sinks))
        case Named("(-1)^i", False):
            return _Range(-1.0, 1.0)
    return _Range(-inf, inf)


def _written(head: HeadForm, value: Row, far: bool) -> _Range:
    """The range of what a head may write for a value: a mean of what its keys hold."""
    match head.shape:
        case Local() | Residues():
            return _Range(0.0, float(IntegerRow(value).quantum), far)  # a bit
        case Ramp():
            whole = sum(weight for _, weight in value)
            return _Range(min(whole, 0.0), max(whole, 0.0), far)
    most = LARGEST_KEY * sum(abs(weight) for _, weight in value)
    return _Range(-most, most, far)


def _feed_forward(row: _SinkRow, layer: LinearFeedForward) -> None:
    """Hidden units add nothing where they are shut, and clear a column of one sign for good."""
    clearing: dict[int, set[float]] = {}
    for incoming, units in layer.units:
        for bias, out in units:
            clearing_of = _cleared(incoming, bias, out)
            if clearing_of is not None:
                clearing.setdefault(clearing_of[0], set()).add(clearing_of[1])
    cleared = {
        c
        for c, signs in clearing.items()
        if (row[c].low >= 0 or -1.0 in signs) and (row[c].high <= 0 or 1.0 in signs)
    }
    added = _SinkRow()
    for incoming, units in layer.units:
        total = row.sum(incoming)
        for bias, out in units:
            clearing_of = _cleared(incoming, bias, out)
            if total.high + bias <= 0 or (clearing_of is not None and clearing_of[0] in cleared):
                continue
            hidden = _Range(max(0.0, total.low + bias), total.high + bias, total.far)
            for c, weight in out:
                added[c].add(hidden, weight)
    for c in cleared:
        row.columns[c] = _Range()
    for c, delta in added.columns.items():
        row[c].add(delta, 1.0)
    for c, bias in layer.bias.items():
        row[c].add(_Range(bias, bias), 1.0)


def _cleared(incoming: Row, bias: float, out: Row) -> tuple[int, float] | None:
    """The column that a unit sets to 0 where it has a sign, and that sign."""
    if len(incoming) != 1 or bias or len(out) != 1:
        return None
    ((c, weight),) = incoming
    return (c, weight) if abs(weight) == 1 and out == ((c, -weight),) else None
