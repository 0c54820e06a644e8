"""What one position of the residual stream can hold, in every word of every length.

A position's vector is its *content* plus, in each coordinate, a linear *form* in *atoms*. Contents
are finitely many vectors, the *classes*; each belongs to the positions of words, or to one sink.
Atoms are numbers that vary with position or word. Of an atom is known: the grid that its values lie
on (`whole`), the grid of its differences between two positions of one word (`apart`), and its range
as a function of n. An atom that is `inner` is 0 at the sinks, and its range speaks of the other
positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from softhat.numbers.grids import Grid, common
from softhat.numbers.growth import GrowingInterval, hull
from softhat.numbers.rationals import common_divisor
from softhat.proof.simulations.source import NOTHING, SourceHead, Vector

Form: TypeAlias = Mapping[int, Fraction]  # atom → coefficient
Residues: TypeAlias = Mapping[int, Mapping[Fraction, tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Atom:
    """A number a position."""

    name: str
    whole: Grid
    apart: Grid
    range: GrowingInterval
    rises: int = 0  # ±1: strictly rising or falling from each position of a word to the next
    inner: bool = False
    share: Fraction = NOTHING  # not 0: it is this over the number of all positions, everywhere


@dataclass(frozen=True, slots=True)
class Class:
    """A content, and the sink that it belongs to, if it is a sink's."""

    content: Vector
    sink: str | None = None


@dataclass(frozen=True, slots=True)
class LinearReading:
    """A linear functional: its number in each class, and its form."""

    content: tuple[Fraction, ...]
    form: Form

    @property
    def zero(self) -> bool:
        return not self.form and not any(self.content)


@dataclass(frozen=True, slots=True)
class ResidualStream:
    """The residual stream between two layers."""

    classes: tuple[Class, ...]
    forms: tuple[Form, ...]
    atoms: tuple[Atom, ...]
    residues: Residues = field(default_factory=dict)
    """Coordinates that hold a residue alone: what each content says of the position."""

    def read(self, row: Vector, bias: Fraction = NOTHING) -> LinearReading:
        """row · x + bias."""
        used = [(c, w) for c, w in enumerate(row) if w]
        content = tuple(sum((w * k.content[c] for c, w in used), bias) for k in self.classes)
        return LinearReading(content, combined((self.forms[c], w) for c, w in used))

    def whole(self, x: LinearReading) -> Grid:
        """A grid that holds its values."""
        parts = [self.atoms[a].whole.scaled(w) for a, w in x.form.items()]
        return common([Grid(common_divisor(x.content)), *parts])

    def apart(self, x: LinearReading) -> Grid:
        """A grid that holds its differences between two positions (each with its own sizes)."""
        parts = [self.atoms[a].apart.scaled(w) for a, w in x.form.items()]
        return common([Grid(common_divisor(c - x.content[0] for c in x.content)), *parts])

    def range(self, x: LinearReading) -> GrowingInterval:
        """Its values at all positions."""
        return hull(x.content) + self.form_range(x.form)

    def form_range(self, form: Form) -> GrowingInterval:
        """The values of a form at all positions."""
        sinks = any(k.sink for k in self.classes)
        total = GrowingInterval()
        for a, w in form.items():
            atom = self.atoms[a]
            total = total + (atom.range.with_zero if sinks and atom.inner else atom.range) * w
        return total

    def steady(self, x: LinearReading) -> bool:
        """Is it the same at all positions of a word?"""
        return not self.apart(x).unit

    def has(self, sink: str) -> bool:
        return any(k.sink == sink for k in self.classes)

    def residue(self, c: int) -> tuple[int, int] | None:
        """(m, r) if a position of class c is known to be ≡ r mod m."""
        content = self.classes[c].content
        known = (told[content[d]] for d, told in self.residues.items() if content[d] in told)
        return next(known, None)


@dataclass(frozen=True, slots=True)
class Sight:
    """What a head reads of the stream before its layer."""

    head: SourceHead
    stream: ResidualStream
    query: tuple[LinearReading, ...]
    key: tuple[LinearReading, ...]
    value: tuple[LinearReading, ...]

    @property
    def bilinear(self) -> list[tuple[int, int, Fraction]]:
        """Coefficients of (atom at the query)·(atom at the key) in the scores."""
        total: dict[tuple[int, int], Fraction] = {}
        for q, k in zip(self.query, self.key, strict=True):
            for x, a in q.form.items():
                for y, b in k.form.items():
                    total[x, y] = total.get((x, y), NOTHING) + a * b
        return [(x, y, w) for (x, y), w in total.items() if w]

    def asked_rows(self) -> list[int]:
        """The rows of query and key that can change the order of keys: the query is not 0, and
        keys of one word differ."""
        return [
            r
            for r, (q, k) in enumerate(zip(self.query, self.key, strict=True))
            if not q.zero and not self.stream.steady(k)
        ]


def sight(head: SourceHead, stream: ResidualStream) -> Sight:
    """The head's sight of the stream."""
    query, key, value = (
        tuple(stream.read(row) for row in part) for part in (head.query, head.key, head.value)
    )
    return Sight(head, stream, query, key, value)


def combined(parts: Iterable[tuple[Form, Fraction]]) -> dict[int, Fraction]:
    """Σ factor · form."""
    result: dict[int, Fraction] = {}
    for form, factor in parts:
        for atom, w in form.items():
            result[atom] = result.get(atom, NOTHING) + factor * w
    return {atom: w for atom, w in result.items() if w}
