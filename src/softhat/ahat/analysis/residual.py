"""What one position of the residual stream can hold, in every word of every length, as data.

Each coordinate is its *content* plus a linear form in *atoms*. The content of a position is one
of finitely many *classes* (its symbol, its residue, whether it is a sink, what a head that picks
one key has copied there). Atoms are the numbers that depend on where a position stands or on
averages: i, 1/i, i/n …, and what averaging heads and ReLUs of atoms give. Of an atom we know the
grid it lies on, the grid of its differences between positions, and how large it grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from softhat.ahat.model import EOS, Head, Sink, Vector
from softhat.numbers.grids import Grid, common
from softhat.numbers.growth import Interval, hull
from softhat.numbers.rationals import common_divisor

NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class PositionAtom:
    """One number a position, of which grid and growth are known at every length."""

    name: str
    whole: Grid  # its values
    spread: Grid  # differences of its values at two positions of a word
    range: Interval
    rises: int = 0  # 1: strictly increasing over the ordinary positions; -1: decreasing
    of_position: bool = False  # positive there, and 0 at the sinks
    share: Fraction = NOTHING  # not 0: it is exactly this over the number of positions and sinks


@dataclass(frozen=True, slots=True)
class ContentClass:
    """A content: one number for each coordinate."""

    content: Vector
    sink: Sink | None = None  # which one it is the content of


Form = Mapping[int, Fraction]  # atom → coefficient


@dataclass(frozen=True, slots=True)
class Functional:
    """A linear functional of the residual: its content in each class, and its form."""

    content: tuple[Fraction, ...]
    form: Form

    @property
    def constant(self) -> bool:
        """Is it one number, whatever the word and position?"""
        return not self.form and len(set(self.content)) == 1


@dataclass(frozen=True, slots=True)
class StreamState:
    """The residual stream between two layers."""

    classes: tuple[ContentClass, ...]
    forms: tuple[Form, ...]  # of each coordinate
    atoms: tuple[PositionAtom, ...]
    residues: Mapping[int, Mapping[Fraction, tuple[int, int]]] = field(default_factory=dict)
    """Coordinates that hold a residue alone: what each content of theirs says of the position."""

    def residue(self, c: int) -> tuple[int, int] | None:
        """(m, r) if an ordinary position of class c is known to be ≡ r mod m."""
        known = (
            told[self.classes[c].content[d]]
            for d, told in self.residues.items()
            if self.classes[c].content[d] in told
        )
        return next(known, None)

    def read(self, row: Vector, bias: Fraction = NOTHING) -> Functional:
        """row · x + bias."""
        used = [(c, w) for c, w in enumerate(row) if w]
        content = tuple(sum((w * k.content[c] for c, w in used), bias) for k in self.classes)
        return Functional(content, combined((self.forms[c], w) for c, w in used))

    def whole(self, x: Functional) -> Grid:
        """The grid of its values."""
        parts = (self.atoms[a].whole.scaled(w) for a, w in x.form.items())
        return common([Grid(common_divisor(x.content)), *parts])

    def spread(self, x: Functional) -> Grid:
        """The grid of its differences between two positions (local generators not yet paired)."""
        first = x.content[0]
        parts = (self.atoms[a].spread.scaled(w) for a, w in x.form.items())
        return common([Grid(common_divisor(c - first for c in x.content)), *parts])

    def range(self, x: Functional) -> Interval:
        """Its values at all positions."""
        return hull(x.content) + self.form_range(x.form)

    @property
    def has_eos(self) -> bool:
        """Are there two sinks, at which position features are 0 alike?"""
        return any(k.sink == EOS for k in self.classes)

    def form_range(self, form: Form) -> Interval:
        """The values of a form, at the sinks too."""
        result = Interval()
        ends = any(k.sink for k in self.classes)
        for a, w in form.items():
            atom = self.atoms[a]
            here = atom.range.with_zero if ends and atom.of_position else atom.range
            result = result + here * w
        return result


@dataclass(frozen=True, slots=True)
class HeadView:
    """What a head reads, in the state before its layer."""

    head: Head
    state: StreamState
    query: tuple[Functional, ...]
    key: tuple[Functional, ...]
    value: tuple[Functional, ...]


def combined(parts: Iterable[tuple[Form, Fraction]]) -> dict[int, Fraction]:
    """Σ factor · form."""
    result: dict[int, Fraction] = {}
    for form, factor in parts:
        for atom, w in form.items():
            result[atom] = result.get(atom, NOTHING) + factor * w
    return {atom: w for atom, w in result.items() if w}


def bilinear(view: HeadView) -> list[tuple[int, int, Fraction]]:
    """Coefficients of (atom of the query)·(atom of the key) in the scores."""
    total: dict[tuple[int, int], Fraction] = {}
    for q, k in zip(view.query, view.key, strict=True):
        for x, a in q.form.items():
            for y, b in k.form.items():
                total[x, y] = total.get((x, y), NOTHING) + a * b
    return [(x, y, w) for (x, y), w in total.items() if w]
