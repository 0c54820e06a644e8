"""Two keys of one query: how far apart can their scores be, at every length?

For a query of class a at position i and keys u, v the difference of scores is

    T + Σ L_y·(y(u) - y(v)) + Σ M_x·x(i) + Σ B_xy·x(i)·(y(u) - y(v)),

T from contents, x and y atoms. Its grid and an interval are known, so a difference that is not 0 is
at least the grid's least number, and at least the interval's distance from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from softhat.numbers.grids import Grid, common
from softhat.numbers.growth import GrowingInterval, point, symmetric
from softhat.numbers.laws import Constant, Law, Lcm, Length, Minimum, Power, Product
from softhat.proof.simulations.residual import LinearReading, Sight, combined
from softhat.proof.simulations.source import NOTHING

MOST_PAIRS = 3_000  # beyond, all differences of a query are put on one grid
Monomial = tuple[Fraction, dict[Law, int]]


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """The score of one key minus that of another."""

    apart: Fraction  # T
    grid: Grid  # of the rest
    interval: GrowingInterval | None  # of the whole; None: not known
    ordered: bool  # T = 0, and the rest is never 0

    @property
    def whole(self) -> Grid:
        """The grid of the difference."""
        return common([Grid(abs(self.apart)), self.grid])

    @property
    def margin(self) -> Fraction:
        """The difference is at least this in absolute value."""
        if self.interval is None:
            return NOTHING
        ends = (self.interval.low.least, (self.interval * Fraction(-1)).low.least)
        return max([Fraction(x) for x in ends if x != float("-inf")], default=NOTHING)

    @property
    def never_zero(self) -> bool:
        """Have the two keys always different scores?"""
        if self.ordered:
            return True
        if self.interval is not None:
            whole = self.interval
            if whole.low.above_zero or (whole * Fraction(-1)).low.above_zero:
                return True
        if not self.apart:
            return False
        rest = self.grid
        return not rest.unit or (not rest.degrees and (self.apart / rest.unit).denominator > 1)

    def at_least(self, law: Law) -> bool:
        """Is the difference 0 or at least the law, at every n?"""
        whole = self.whole
        if not whole.unit or at_most(law, whole.least):
            return True
        return self.margin > 0 and at_most(law, Constant(self.margin))


@dataclass(frozen=True, slots=True)
class _Key:
    """What a query sees of a class of keys."""

    score: Fraction
    contents: tuple[Fraction, ...]  # in the rows where the query has atoms
    sink: str | None


def pairs(sight: Sight) -> Iterator[ScoreDifference]:
    """All differences of two keys' scores, up to what the query can tell apart."""
    stream = sight.stream
    numeric = [r for r, q in enumerate(sight.query) if q.form]
    asked = dict.fromkeys(
        (tuple(q.content[a] for q in sight.query), asker.sink is not None)
        for a, asker in enumerate(stream.classes)
    )
    seen = {
        query: list(
            dict.fromkeys(
                _Key(
                    sum((q * k.content[c] for q, k in _rows(query[0], sight)), NOTHING),
                    tuple(sight.key[r].content[c] for r in numeric),
                    kind.sink,
                )
                for c, kind in enumerate(stream.classes)
            )
        )
        for query in asked
    }  # fmt: skip
    many = sum(len(keys) ** 2 for keys in seen.values()) > 2 * MOST_PAIRS
    for (contents, at_sink), keys in seen.items():
        query = _Query(sight, contents, at_sink, numeric)
        if many:
            yield query.all_at_once(keys)
            continue
        for m, u in enumerate(keys):
            for v in keys[m:]:
                if u is not v or u.sink is None:  # a word has each sink once
                    yield query.pair(u, v)


def _rows(contents: tuple[Fraction, ...], sight: Sight) -> Iterator[tuple[Fraction, LinearReading]]:
    return zip(contents, sight.key, strict=True)


class _Query:
    """One query: what all pairs of its keys have in common."""

    def __init__(
        self, sight: Sight, contents: tuple[Fraction, ...], at_sink: bool, numeric: list[int]
    ) -> None:
        self.sight, self.numeric = sight, numeric
        self.atoms = sight.stream.atoms
        self.gone = {x for x, atom in enumerate(self.atoms) if at_sink and atom.inner}
        self.linear = combined((k.form, q) for q, k in zip(contents, sight.key, strict=True) if q)
        self.bilinear = [t for t in sight.bilinear if t[0] not in self.gone]
        self.known: dict[tuple[bool, bool], tuple[Grid, GrowingInterval, bool]] = {}

    def pair(self, u: _Key, v: _Key) -> ScoreDifference:
        """The score of u minus that of v, at two positions."""
        grid, interval, ordered = self._moving(u.sink is not None, v.sink is not None)
        shift = combined(
            (self.sight.query[r].form, x - y)
            for r, x, y in zip(self.numeric, u.contents, v.contents, strict=True)
            if x != y
        )
        moved = {x: w for x, w in shift.items() if x not in self.gone}
        apart = u.score - v.score
        interval = interval + point(apart)
        for x, w in moved.items():
            interval = interval + self.atoms[x].range * w
        grid = common([grid, *(self.atoms[x].whole.scaled(w) for x, w in moved.items())])
        return ScoreDifference(apart, grid, interval, ordered and not apart and not moved)

    def all_at_once(self, keys: list[_Key]) -> ScoreDifference:
        """One pair for all: its grid holds every difference."""
        word = next((k for k in keys if k.sink is None), keys[0])
        differences = [self.pair(k, keys[0]) for k in keys] + [self.pair(word, word)]
        return ScoreDifference(NOTHING, common(p.whole for p in differences), None, False)

    def _moving(self, u: bool, v: bool) -> tuple[Grid, GrowingInterval, bool]:
        """What the keys' atoms contribute; u, v: is the key a sink?"""
        if (u, v) not in self.known:
            grids = [self.atoms[y].apart.paired().scaled(w) for y, w in self.linear.items()]
            interval = GrowingInterval()
            for y, w in self.linear.items():
                interval = interval + self._step(y, u, v) * w
            for x, y, w in self.bilinear:
                grids.append((self.atoms[x].whole * self.atoms[y].apart.paired()).scaled(w))
                size = self.atoms[x].range.size.times(self._step(y, u, v).size)
                interval = interval + symmetric(size * abs(w))
            self.known[u, v] = common(grids), interval, self._ordered(u, v)
        return self.known[u, v]

    def _step(self, y: int, u: bool, v: bool) -> GrowingInterval:
        """An atom at the first key minus the same at the second."""
        atom = self.atoms[y]
        if not atom.apart.unit or (atom.inner and u and v):
            return GrowingInterval()
        if atom.inner and u != v:
            return atom.range * Fraction(-1 if u else 1)
        return atom.range.difference

    def _ordered(self, u: bool, v: bool) -> bool:
        """Atoms that all rise (or all fall) differ between any two positions; inner atoms, which
        are positive, differ from the 0 of a sink."""
        moving = [(self.atoms[y], w) for y, w in self.linear.items() if self.atoms[y].apart.unit]
        if self.bilinear or not moving or (u and v):
            return False
        if u or v:
            return all(a.inner for a, _ in moving) and len({w > 0 for _, w in moving}) == 1
        return all(a.rises for a, _ in moving) and len({w * a.rises > 0 for a, w in moving}) == 1


def at_most(law: Law, bound: Law) -> bool:
    """Is law(n) ≤ bound(n) at every n? True only where it can be read off term by term."""
    below, above = monomials(law), monomials(bound)
    if below is None or above is None:
        return False
    return all(any(_within(x, y) for x in below) for y in above)


def monomials(law: Law) -> list[Monomial] | None:
    """Monomials whose least the law is; None if it is otherwise."""
    match law:
        case Minimum(parts):
            of_parts = [monomials(part) for part in parts]
            return None if None in of_parts else [m for ms in of_parts for m in ms or ()]
        case Constant(x):
            return [(x, {})]
        case Length() | Lcm():
            return [(Fraction(1), {law: 1})]
        case Power(base, k) if isinstance(base, Length | Lcm):
            return [(Fraction(1), {base: k})]
        case Product(factors):
            coefficient, degrees = Fraction(1), dict[Law, int]()
            for factor in factors:
                part = monomials(factor)
                if part is None or len(part) != 1:
                    return None
                coefficient *= part[0][0]
                for inner, k in part[0][1].items():
                    degrees[inner] = degrees.get(inner, 0) + k
            return [(coefficient, degrees)]
    return None


def _within(x: Monomial, y: Monomial) -> bool:
    """x ≤ y at every n: no greater coefficient, and each base above has a greater one below."""
    if x[0] > y[0]:
        return False
    degrees = {base: x[1].get(base, 0) - y[1].get(base, 0) for base in x[1].keys() | y[1].keys()}
    left = {base: -k for base, k in degrees.items() if k < 0}
    for base, k in degrees.items():
        for other in list(left):
            if k > 0 and _no_greater(base, other):
                used = min(k, left[other])
                k, left[other] = k - used, left[other] - used
        if k > 0:
            return False
    return True


def _no_greater(base: Law, other: Law) -> bool:
    """n + s ≤ n + t and n + s ≤ lcm(1 … n + t), for s ≤ t."""
    match base, other:
        case (Length(s), Length(t) | Lcm(t)) | (Lcm(s), Lcm(t)):
            return s <= t
    return False
