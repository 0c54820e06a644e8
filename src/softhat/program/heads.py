"""Heads of an attention program: what each kind of hard attention computes, as data.

Positions are 1..n. A head that finds nothing reads `<bos>`, where every signal is 0: an empty
selection gives 0. All kinds give a bit at every position except the *numeric* ones (`Average`,
`MatchMean`, `Width`), which give a rational number.

`scores` says what the attention scores depend on: signals of one layer with equal ones are one
head with several values.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar
from typing import Literal as Choice

from softhat.program.literals import Literal, Places, signals_of

Direction = Choice["past", "future"]
Range = Choice["past", "future", "total"]
Mask = Choice["none", "<=", "<", ">=", ">"]
"""Which keys j a query i sees: all, j <= i, j < i, j >= i, j > i."""


@dataclass(frozen=True, slots=True)
class Latest:
    """`value` at the last j <= i without `bad` (the first j >= i for the future), else 0.

    Requires that `value` implies not `bad`: then it is the hard attention that computes
    `f S g`, with bad = f ∧ ¬g and value = g: walk back to where the answer is decided.
    """

    bad: Literal
    value: Literal
    direction: Direction
    numeric: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[int, ...]:
        return signals_of(self.bad, self.value)

    @property
    def scores(self) -> Hashable:
        return (Latest, self.bad, self.direction)

    def moved(self, places: Places) -> Latest:
        return Latest(self.bad.moved(places), self.value.moved(places), self.direction)


@dataclass(frozen=True, slots=True)
class StrictLatest:
    """`value` at the last j < i without `bad` (the first j > i for the future), else 0.

    Requires that `value` implies not `bad`. It is `Y(f S g)` (`X(f U g)`) in one head; 0 at the
    first (last) position.
    """

    bad: Literal
    value: Literal
    direction: Direction
    numeric: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[int, ...]:
        return signals_of(self.bad, self.value)

    @property
    def scores(self) -> Hashable:
        return (StrictLatest, self.bad, self.direction)

    def moved(self, places: Places) -> StrictLatest:
        return StrictLatest(self.bad.moved(places), self.value.moved(places), self.direction)


@dataclass(frozen=True, slots=True)
class Previous:
    """`value` at i-1 (at i+1 for the future), 0 where there is no such position."""

    value: Literal
    direction: Direction
    numeric: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[int, ...]:
        return signals_of(self.value)

    @property
    def scores(self) -> Hashable:
        return (Previous, self.direction)

    def moved(self, places: Places) -> Previous:
        return Previous(self.value.moved(places), self.direction)


@dataclass(frozen=True, slots=True)
class Shift:
    """`value` at i - distance (at i + distance for the future), 0 where there is no such position.

    `distance` >= 2: `Previous` is the head for 1. It is `distance` times `Y` (`X`) in one head.
    """

    value: Literal
    distance: int
    direction: Direction
    numeric: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[int, ...]:
        return signals_of(self.value)

    @property
    def scores(self) -> Hashable:
        return (Shift, self.distance, self.direction)

    def moved(self, places: Places) -> Shift:
        return Shift(self.value.moved(places), self.distance, self.direction)


@dataclass(frozen=True, slots=True)
class Average:
    """Mean of Σ a·signal over a range of positions, the sinks (where it is 0) included.

    The mean is the sum over the ordinary positions of the range divided by i+1 for the past,
    n+2-i for the future and n+2 for the total.
    """

    terms: tuple[tuple[int, int], ...]
    """(coefficient, signal); signal -1 is the constant true, which is 0 at the sinks."""
    range: Range
    numeric: ClassVar[bool] = True

    @property
    def reads(self) -> tuple[int, ...]:
        return tuple(read for _, read in self.terms if read >= 0)

    @property
    def scores(self) -> Hashable:
        return (Average, self.range)

    def moved(self, places: Places) -> Average:
        return Average(tuple((a, places[read]) for a, read in self.terms), self.range)


@dataclass(frozen=True, slots=True)
class Sign:
    """1 if (sum of the averaged counts) + position·i + length·n >= threshold, else 0.

    Each average stands for the sum that it is the mean of.
    """

    past: int | None
    future: int | None
    total: int | None
    position: int
    length: int
    threshold: int
    numeric: ClassVar[bool] = False

    @property
    def averages(self) -> tuple[int, ...]:
        return tuple(a for a in (self.past, self.future, self.total) if a is not None)

    @property
    def reads(self) -> tuple[int, ...]:
        return self.averages

    @property
    def scores(self) -> Hashable:
        return self  # every comparison has scores of its own

    def moved(self, places: Places) -> Sign:
        past, future, total = (
            None if at is None else places[at] for at in (self.past, self.future, self.total)
        )
        return Sign(past, future, total, self.position, self.length, self.threshold)


@dataclass(frozen=True, slots=True)
class Selector:
    """Which keys j a query i selects: those that the mask shows and whose category matches i's.

    The *category* of a key is the one literal of `keys` that holds there; at most one may hold,
    and where none does the position matches nothing. `table` has the pairs (place in `queries`,
    place in `keys`) that match; at a position several of `queries` may hold, but no two that
    match the same key. `longest` is the length of the longest word for which the head must be
    sharp enough.
    """

    queries: tuple[Literal, ...]
    keys: tuple[Literal, ...]
    table: tuple[tuple[int, int], ...]
    mask: Mask
    longest: int

    @property
    def reads(self) -> tuple[int, ...]:
        return signals_of(*self.queries, *self.keys)

    def moved(self, places: Places) -> Selector:
        queries, keys = (
            tuple(literal.moved(places) for literal in side) for side in (self.queries, self.keys)
        )
        return Selector(queries, keys, self.table, self.mask, self.longest)


@dataclass(frozen=True, slots=True)
class Match:
    """`value` at the selected positions, which must all agree on it; 0 if none is selected."""

    selector: Selector
    value: Literal
    numeric: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[int, ...]:
        return self.selector.reads + signals_of(self.value)

    @property
    def scores(self) -> Hashable:
        return (Match, self.selector)

    def moved(self, places: Places) -> Match:
        return Match(self.selector.moved(places), self.value.moved(places))


@dataclass(frozen=True, slots=True)
class MatchMean:
    """The mean of Σ a·signal over the selected positions; 0 if none is selected."""

    selector: Selector
    terms: tuple[tuple[int, int], ...]
    """(coefficient, signal); signal -1 is the constant true."""
    numeric: ClassVar[bool] = True

    @property
    def reads(self) -> tuple[int, ...]:
        return self.selector.reads + tuple(read for _, read in self.terms if read >= 0)

    @property
    def scores(self) -> Hashable:
        return (Match, self.selector)  # the scores of Match: both can be one head

    def moved(self, places: Places) -> MatchMean:
        terms = tuple((a, places[read]) for a, read in self.terms)
        return MatchMean(self.selector.moved(places), terms)


@dataclass(frozen=True, slots=True)
class Width:
    """1/(1+w), where w is the number of selected positions. The gates `Steps` and `Total` decode
    it."""

    selector: Selector
    numeric: ClassVar[bool] = True

    @property
    def reads(self) -> tuple[int, ...]:
        return self.selector.reads

    @property
    def scores(self) -> Hashable:
        return (Width, self.selector)

    def moved(self, places: Places) -> Width:
        return Width(self.selector.moved(places))


@dataclass(frozen=True, slots=True)
class At:
    """`value` at the position whose code is i's; 0 if there is none.

    The code of a key is the bits `keys`, that of a query the bits `queries`, compared digit by
    digit; constants are allowed (a digit that one side sets to true says "defined"). Positions
    with the same code must agree on the value. `longest` as in `Selector`.
    """

    queries: tuple[Literal, ...]
    keys: tuple[Literal, ...]
    value: Literal
    mask: Mask
    longest: int
    numeric: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[int, ...]:
        return signals_of(*self.queries, *self.keys, self.value)

    @property
    def scores(self) -> Hashable:
        return (At, self.queries, self.keys, self.mask, self.longest)

    def moved(self, places: Places) -> At:
        queries, keys = (
            tuple(literal.moved(places) for literal in side) for side in (self.queries, self.keys)
        )
        return At(queries, keys, self.value.moved(places), self.mask, self.longest)


@dataclass(frozen=True, slots=True)
class Recall:
    """`value` at the last j <= i without `bad` whose code is i's; 0 if there is none.

    The code of a key is the bits `keys`, that of a query the bits `queries`, compared digit by
    digit. Requires that `value` implies not `bad`. It is what 2^digits `Latest`s compute, one for
    each code.
    """

    bad: Literal
    queries: tuple[Literal, ...]
    keys: tuple[Literal, ...]
    value: Literal
    numeric: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[int, ...]:
        return signals_of(self.bad, *self.queries, *self.keys, self.value)

    @property
    def scores(self) -> Hashable:
        return (Recall, self.bad, self.queries, self.keys)

    def moved(self, places: Places) -> Recall:
        queries, keys = (
            tuple(literal.moved(places) for literal in side) for side in (self.queries, self.keys)
        )
        return Recall(self.bad.moved(places), queries, keys, self.value.moved(places))


Head = (
    Latest
    | StrictLatest
    | Previous
    | Shift
    | Average
    | Sign
    | Match
    | MatchMean
    | Width
    | At
    | Recall
)
