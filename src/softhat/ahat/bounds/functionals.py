"""Which linear functionals of the error have to be tracked, from the last layer to the first.

A box around the error of every coordinate forgets that errors cancel: attention that moves weight
from one symbol of a one-hot to another errs by -L and +L. So the error (of Theorem 33) is bounded
in exactly the directions that are read later: the output, the rows a ReLU reads, the rows a query
or key reads, and what the heads' values turn into those. Directions that touch only coordinates
without error are dropped; too many directions fall back to coordinates.

An error is stored as upper bounds of the tracked functionals, then of their negatives: a vector of
2r numbers, read by non-negative matrices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.structure import HeadStructure, erroneous, structure
from softhat.ahat.model import AHAT, FeedForward, Head, Vector

Floats = npt.NDArray[np.float64]
MAX_DIRECTIONS = 48


@dataclass(frozen=True, slots=True)
class DirectionSpace:
    """Tracked directions (each normalised) over the coordinates that may carry error."""

    rows: tuple[Vector, ...]
    wrong: frozenset[int]

    def matrix(self) -> Floats:
        """(r, d_model)."""
        d = len(self.rows[0]) if self.rows else 0
        return np.array([[float(x) for x in row] for row in self.rows]).reshape(len(self.rows), d)

    def reader(self, functionals: Iterable[Vector]) -> Floats:
        """(2r, 2p): turns bounds of the tracked directions into bounds of these functionals."""
        wanted = [self._parts(f) for f in functionals]
        r, p = len(self.rows), len(wanted)
        result = np.zeros((2 * r, 2 * p))
        for column, parts in enumerate(wanted):
            for row, weight in parts:
                size, flipped = abs(float(weight)), weight < 0
                result[row + r * flipped, column] += size
                result[row + r * (not flipped), column + p] += size
        return result

    def find(self, f: Vector) -> tuple[int, Fraction] | None:
        """f = factor · tracked direction, where it is one."""
        direction, factor = normalised(f, self.wrong)
        return (self.rows.index(direction), factor) if direction in self.rows else None

    def _parts(self, f: Vector) -> list[tuple[int, Fraction]]:
        direction, factor = normalised(f, self.wrong)
        if not any(direction):
            return []
        if direction in self.rows:
            return [(self.rows.index(direction), factor)]
        parts = []
        for c in sorted(self.wrong):
            if f[c]:
                axis = self.find(tuple(Fraction(int(c == k)) for k in range(len(f))))
                assert axis is not None, "a functional that is neither tracked nor spanned"
                parts.append((axis[0], axis[1] * f[c]))
        return parts


@dataclass(frozen=True, slots=True)
class HeadPlan:
    """How one head reads and writes error."""

    head: Head
    fact: HeadStructure
    query: Floats  # readers of the tracked error before the layer
    key: Floats
    value: Floats
    output: Floats  # (r after, d_v): the exact values' effect on the directions after attention

    @property
    def narrowed(self) -> tuple[HeadPlan, npt.NDArray[np.int64]]:
        """The same for the directions alone that the head moves, and which these are."""
        r = len(self.output)
        passed = np.asarray(self.value.any(axis=0))
        moved = np.flatnonzero(self.output.any(axis=1) | passed[:r] | passed[r:])
        columns = np.concatenate([moved, moved + r])
        return replace(self, value=self.value[:, columns], output=self.output[moved]), moved


@dataclass(frozen=True, slots=True)
class UnitGroup:
    """Hidden units that read one direction: unit u has pre-activation change scale_u · y."""

    reader: Floats  # (2r, 2): y, the error along the direction
    units: tuple[int, ...]
    scales: Floats
    effects: Floats  # (r after, units)
    linear: Floats  # (r after,): the residual's own part along this direction


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """One layer: what is tracked before it, after attention, and after the feed-forward."""

    heads: tuple[HeadPlan, ...]
    residual: Floats  # reader, before → middle
    groups: tuple[UnitGroup, ...]
    passed: Floats  # reader, middle → after, for directions that no group takes along
    before: DirectionSpace
    middle: DirectionSpace
    after: DirectionSpace
    forward: FeedForward | None


@dataclass(frozen=True, slots=True)
class ErrorPlan:
    """All layers, and the reader of the model's value."""

    model: AHAT
    layers: tuple[LayerPlan, ...]
    start: DirectionSpace
    value: Floats  # (2r, 2)


def plan(model: AHAT) -> ErrorPlan:
    """What to track."""
    facts = structure(model)
    wrong, middles = _wrong(model, facts)
    end = _space([model.output_weights], wrong[-1])
    layers: list[LayerPlan] = []
    after = end
    for l in reversed(range(len(model.layers))):
        layer = model.layers[l]
        alone = diagonal(layer.feed_forward)
        needed: list[Vector] = [_without(f, alone) for f in after.rows]
        used: list[int] = []
        if layer.feed_forward is not None:
            used = _used_units(layer.feed_forward, after)
            needed += [layer.feed_forward.in_weights[u] for u in used]
        middle = _space(needed, middles[l])
        reads: list[Vector] = list(middle.rows)
        values = [_value_rows(head, middle) for head in layer.heads]
        for h, head in enumerate(layer.heads):
            reads += values[h]
            if not facts[l, h].uniform:
                reads += [*head.query, *head.key]
        before = _space(reads, wrong[l])
        heads = tuple(
            _head_plan(head, facts[l, h], before, middle, values[h])
            for h, head in enumerate(layer.heads)
        )
        groups, passed = _groups(layer.feed_forward, used, alone, middle, after)
        residual = before.reader(middle.rows)
        layers.append(
            LayerPlan(heads, residual, groups, passed, before, middle, after, layer.feed_forward)
        )
        after = before
    value = end.reader([model.output_weights])
    return ErrorPlan(model, tuple(reversed(layers)), after, value)


def normalised(f: Vector, wrong: frozenset[int]) -> tuple[Vector, Fraction]:
    """f on the coordinates with error = factor · direction, whose first non-zero entry is 1."""
    restricted = tuple(x if c in wrong else Fraction(0) for c, x in enumerate(f))
    factor = next((x for x in restricted if x), Fraction(1))
    return tuple(x / factor for x in restricted), factor


def _space(functionals: list[Vector], wrong: frozenset[int]) -> DirectionSpace:
    """These directions, or the coordinates themselves where there are fewer of them."""
    width = len(functionals[0]) if functionals else 0
    unit = [tuple(Fraction(int(c == k)) for k in range(width)) for c in sorted(wrong)]
    rows: dict[Vector, None] = {}
    for f in functionals:
        direction, _ = normalised(f, wrong)
        if any(direction):
            rows[direction] = None
    if len(rows) > max(MAX_DIRECTIONS, len(wrong)):
        return DirectionSpace(tuple(unit), wrong)
    return DirectionSpace(tuple(rows), wrong)


def _wrong(
    model: AHAT, facts: dict[tuple[int, int], HeadStructure]
) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    """Coordinates with error in the reals, before each layer (and at the end), and within it."""
    wrong = erroneous(model)
    middles = []
    for l, layer in enumerate(model.layers):
        result = set(wrong[l])
        for h, head in enumerate(layer.heads):
            fact = facts[l, h]
            if not (fact.uniform and fact.exact_values):
                result |= _written(head)
        middles.append(frozenset(result))
    return wrong, middles


def _written(head: Head) -> set[int]:
    return {c for c, row in enumerate(head.output) if any(row)}


def _value_rows(head: Head, middle: DirectionSpace) -> list[Vector]:
    """f · output · value for each direction f tracked after attention."""
    rows = []
    for f in middle.rows:
        through = [
            sum((f[c] * head.output[c][k] for c in range(len(f)) if f[c]), Fraction(0))
            for k in range(len(head.value))
        ]
        width = len(f)
        rows.append(
            tuple(
                sum((t * head.value[k][c] for k, t in enumerate(through) if t), Fraction(0))
                for c in range(width)
            )
        )
    return rows


def _head_plan(
    head: Head,
    fact: HeadStructure,
    before: DirectionSpace,
    middle: DirectionSpace,
    values: list[Vector],
) -> HeadPlan:
    pairs = () if fact.uniform else head.query
    keys = () if fact.uniform else head.key
    d_v = len(head.value)
    output = np.array(
        [
            [
                float(sum((f[c] * head.output[c][k] for c in range(len(f)) if f[c]), Fraction(0)))
                for k in range(d_v)
            ]
            for f in middle.rows
        ]
    ).reshape(len(middle.rows), d_v)
    return HeadPlan(
        head,
        fact,
        before.reader(pairs),
        before.reader(keys),
        before.reader(values),
        output,
    )


def _used_units(forward: FeedForward, after: DirectionSpace) -> list[int]:
    """Units whose pre-activation's error can reach something tracked."""
    return [
        u for u in range(len(forward.in_weights)) if any(_effect(f, forward, u) for f in after.rows)
    ]


def _effect(f: Vector, forward: FeedForward, u: int) -> Fraction:
    return sum((f[c] * forward.out_weights[c][u] for c in range(len(f)) if f[c]), Fraction(0))


def diagonal(forward: FeedForward | None) -> frozenset[int]:
    """The coordinates a feed-forward changes, if each of its units reads and writes just one.

    Then it acts on every coordinate by itself (a snap does), and the residual along each of
    these coordinates belongs to its own units. Else the empty set.
    """
    if forward is None:
        return frozenset()
    touched = set()
    for u, row in enumerate(forward.in_weights):
        read = {c for c, w in enumerate(row) if w}
        written = {c for c, out in enumerate(forward.out_weights) if out[u]}
        if len(read) != 1 or read != written:
            return frozenset()
        touched |= read
    return frozenset(touched)


def _without(f: Vector, coordinates: frozenset[int]) -> Vector:
    return tuple(Fraction(0) if c in coordinates else x for c, x in enumerate(f))


def _groups(
    forward: FeedForward | None,
    used: list[int],
    alone: frozenset[int],
    middle: DirectionSpace,
    after: DirectionSpace,
) -> tuple[tuple[UnitGroup, ...], Floats]:
    """Units by the direction they read, with the residual along it where that is separate.

    The residual along a direction goes with its group if the tracked functional is parallel to
    it, or if the feed-forward is diagonal; what is left of the functionals is passed on.
    """
    if forward is None:
        return (), middle.reader(after.rows)
    members: dict[Vector, list[tuple[int, Fraction]]] = {}
    for u in used:
        direction, factor = normalised(forward.in_weights[u], middle.wrong)
        if any(direction):
            members.setdefault(direction, []).append((u, factor))
    rest = [_without(f, alone & _read_alone(members)) for f in after.rows]
    groups = []
    for direction, units in members.items():
        linear = np.zeros(len(after.rows))
        place = next(c for c, x in enumerate(direction) if x)
        for k, f in enumerate(after.rows):
            own, factor = normalised(f, middle.wrong)
            if place in alone:
                linear[k] = float(f[place])
            elif own == direction:
                linear[k] = float(factor)
                rest[k] = _without(f, frozenset(range(len(f))))
        effects = [[float(_effect(f, forward, u)) for u, _ in units] for f in after.rows]
        groups.append(
            UnitGroup(
                middle.reader([direction]),
                tuple(u for u, _ in units),
                np.array([float(c) for _, c in units]),
                np.array(effects).reshape(len(after.rows), len(units)),
                linear,
            )
        )
    return tuple(groups), middle.reader(rest)


def _read_alone(members: dict[Vector, list[tuple[int, Fraction]]]) -> frozenset[int]:
    """Coordinates that are a group's direction by themselves."""
    return frozenset(
        next(c for c, x in enumerate(direction) if x)
        for direction in members
        if sum(1 for x in direction if x) == 1
    )
