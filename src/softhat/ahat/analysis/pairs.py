"""Two keys of one query: how far apart can their scores be, at every length?

For a query of class a and keys of classes c and c', the difference of their scores is a constant
T (content against content) plus a part in atoms, of which the grid and an interval are known. So a
nonzero difference is at least the grid's least number, and at least T minus the interval where
that is positive. The least over all pairs of classes is a lower bound of the head's gap, for every
word of every length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from softhat.ahat.analysis.residual import NOTHING, HeadView, bilinear, combined
from softhat.numbers.grids import Grid, common
from softhat.numbers.growth import Interval, Polynomial, point, symmetric
from softhat.numbers.laws import Law, as_law, minimum

MAX_PAIRS = 3_000  # of keys that the queries tell apart; beyond, they are taken together


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The score of one key minus that of another, at two different positions."""

    apart: Fraction  # T
    numeric: Grid  # of the rest
    interval: Interval  # of the whole
    monotone: bool  # T = 0, and the rest is never 0

    @property
    def margin(self) -> Fraction | float:
        """The difference is at least this, in absolute value; 0 if nothing is known."""
        return max(self.interval.low.least, (self.interval * Fraction(-1)).low.least, NOTHING)

    @property
    def never_zero(self) -> bool:
        """Do the two keys always have different scores?"""
        whole = self.interval
        if self.monotone or whole.low.above_zero or (whole * Fraction(-1)).low.above_zero:
            return True
        if not self.apart:
            return False
        rest = self.numeric
        return not rest.unit or (not rest.degrees and (self.apart / rest.unit).denominator > 1)

    @property
    def grid(self) -> Grid:
        """Of the whole difference."""
        return common([Grid(abs(self.apart)), self.numeric])


def gap_law(view: HeadView) -> Law:
    """A lower bound of the head's gap, at every n; 1 if no two keys ever differ."""
    grids: dict[tuple[object, ...], Grid] = {}
    constants: list[Fraction] = []
    for pair in all_pairs(view):
        grid, margin = pair.grid, pair.margin
        if not grid.unit:
            continue
        if margin > 0 and (grid.degrees or margin > grid.unit):
            constants.append(Fraction(margin))
            continue
        known = grids.get(grid.degrees)
        if known is None or grid.unit < known.unit:
            grids[grid.degrees] = grid
    # A grid's least number is at most its unit: larger constants say nothing.
    units = [grid.unit for grid in grids.values()]
    kept = [c for c in constants if not units or c < min(units)]
    laws = [grid.least for grid in _minimal(list(grids.values()))]
    if kept:
        laws.append(as_law(min(kept)))
    return minimum(*laws) if laws else as_law(1)


def _minimal(grids: list[Grid]) -> list[Grid]:
    """Without those that another one is finer than at every n."""

    def finer(a: Grid, b: Grid) -> bool:
        degrees = dict(a.degrees)
        return a.unit <= b.unit and all(degrees.get(g, 0) >= k for g, k in b.degrees)

    return [
        b
        for k, b in enumerate(grids)
        if not any(
            finer(a, b) and (not finer(b, a) or m < k) for m, a in enumerate(grids) if m != k
        )
    ]


@dataclass(frozen=True, slots=True)
class _Group:
    """Keys that one query does not tell apart by their content."""

    score: Fraction
    keys: tuple[Fraction, ...]  # their content in the rows where the query has atoms
    bos: bool


def all_pairs(view: HeadView) -> Iterator[KeyPair]:
    """All pairs of keys, up to what the scores can see of them."""
    numeric = [r for r, q in enumerate(view.query) if q.form]
    queries = dict.fromkeys(
        (tuple(q.content[a] for q in view.query), asker.sink is not None)
        for a, asker in enumerate(view.state.classes)
    )
    grouped = {query: _groups(view, query[0], numeric) for query in queries}
    many = sum(len(groups) ** 2 for groups in grouped.values()) > 2 * MAX_PAIRS
    for (contents, at_bos), groups in grouped.items():
        query = _QueryView(view, contents, at_bos, numeric)
        if many:
            yield _all_at_once(query, groups)
            continue
        for m, g in enumerate(groups):
            for other in groups[m:]:
                if g is not other or not g.bos:
                    yield query.pair(g, other)


def _groups(view: HeadView, contents: tuple[Fraction, ...], numeric: list[int]) -> list[_Group]:
    """The keys that a query with these contents can tell apart."""
    used = [r for r, q in enumerate(contents) if q]
    found = (
        _Group(
            sum((contents[r] * view.key[r].content[c] for r in used), NOTHING),
            tuple(view.key[r].content[c] for r in numeric),
            key.sink is not None,
        )
        for c, key in enumerate(view.state.classes)
    )
    return list(dict.fromkeys(found))


class _QueryView:
    """One query's view of its keys' atoms: what all pairs of groups have in common."""

    def __init__(
        self, view: HeadView, contents: tuple[Fraction, ...], at_bos: bool, numeric: list[int]
    ) -> None:
        self.view, self.at_bos, self.numeric = view, at_bos, numeric
        self.atoms = view.state.atoms
        self.linear = combined((k.form, q) for q, k in zip(contents, view.key, strict=True) if q)
        # At <bos> the query's own position features are 0.
        self.bilinear = [t for t in bilinear(view) if not (at_bos and self.atoms[t[0]].of_position)]
        self._known: dict[int, tuple[Grid, Interval, bool]] = {}

    def pair(self, g: _Group, other: _Group) -> KeyPair:
        """The difference between a key of one group and a key of another."""
        grid, interval, monotone = self._rest(int(g.bos) - int(other.bos))
        shift = combined(
            (self.view.query[r].form, x - y)
            for r, x, y in zip(self.numeric, g.keys, other.keys, strict=True)
            if x != y
        )
        moved = {x: w for x, w in shift.items() if not (self.at_bos and self.atoms[x].of_position)}
        apart = g.score - other.score
        interval = interval + point(apart)
        for x, w in moved.items():
            interval = interval + self.atoms[x].range * w
        grid = common([grid, *(self.atoms[x].whole.scaled(w) for x, w in moved.items())])
        return KeyPair(apart, grid, interval, monotone and not apart and not moved)

    def _rest(self, side: int) -> tuple[Grid, Interval, bool]:
        """Grid and interval of what keys' atoms contribute, and whether it is never 0; side 1:
        the first key is `<bos>`, -1: the second is, 0: neither."""
        if side not in self._known:
            grids = [self.atoms[y].spread.paired().scaled(w) for y, w in self.linear.items()]
            interval = Interval()
            for y, w in self.linear.items():
                interval = interval + self._moved(y, side) * w
            for x, y, w in self.bilinear:
                atom = self.atoms[x]
                grids.append((atom.whole * self.atoms[y].spread.paired()).scaled(w))
                size = atom.range.size.times(self._moved(y, side).size)
                interval = interval + symmetric(size * abs(w))
            self._known[side] = common(grids), interval, self._monotone(side)
        return self._known[side]

    def _monotone(self, side: int) -> bool:
        """Atoms that all rise or all fall with the position (or all are positive, against
        `<bos>`, where they are 0) differ between any two positions."""
        moving = [(self.atoms[y], w) for y, w in self.linear.items() if self.atoms[y].spread.unit]
        if self.bilinear or not moving:
            return False
        if side:
            return all(a.of_position for a, _ in moving) and len({w > 0 for _, w in moving}) == 1
        return all(a.rises for a, _ in moving) and len({w * a.rises > 0 for a, w in moving}) == 1

    def _moved(self, y: int, side: int) -> Interval:
        """The atom at the first key minus the atom at the second."""
        atom = self.atoms[y]
        if not atom.spread.unit:
            return Interval()
        if atom.of_position and side:
            return atom.range * Fraction(-side)
        return atom.range.difference


def _all_at_once(query: _QueryView, groups: list[_Group]) -> KeyPair:
    """One coarse pair for very many: its grid holds all differences, its interval says nothing."""
    first = groups[0]
    ordinary = next((g for g in groups if not g.bos), first)
    pairs = [(g, first) for g in groups] + [(ordinary, ordinary)]
    grid = common(query.pair(g, other).grid for g, other in pairs)
    endless = Interval(Polynomial(((1, Fraction(-1)),)), Polynomial(((1, Fraction(1)),)))
    return KeyPair(NOTHING, grid, endless, False)
