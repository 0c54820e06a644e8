"""Heads of an attention program: what each kind of hard attention computes, as data.

Positions are 1..n. A head that finds nothing reads `<bos>`, where every signal is 0: an empty
selection gives 0. All kinds give a bit at every position except the *numeric* ones (`Average`,
`MatchMean`, `Width`), which give a rational number.

A kind is a record of what it computes. Which signals it reads, how it is renumbered, and what its
attention scores depend on follow from the fields (`_Kind`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Self
from typing import Literal as Choice

from softhat.program.literals import Literal, Places, signals_of

Direction = Choice["past", "future"]
Range = Choice["past", "future", "total"]
Mask = Choice["none", "<=", "<", ">=", ">"]
"""Which keys j a query i sees: all, j <= i, j < i, j >= i, j > i."""
Terms = tuple[tuple[int, int], ...]
"""Σ a·signal as pairs (a, signal); signal -1 is the constant true, which is 0 at the sinks."""
_READ_OUT = ("value", "terms")
"""The fields that say what is read at the keys, and not which keys are attended to."""


def _of_all(literals: tuple[Literal, ...]) -> tuple[int, ...]:
    return signals_of(*literals)


def _of_terms(terms: Terms) -> tuple[int, ...]:
    return tuple([read for _, read in terms if read >= 0])


def _of_one(signal: int | None) -> tuple[int, ...]:
    return () if signal is None else (signal,)


_READS: dict[str, Callable[[Any], tuple[int, ...]]] = {
    "bad": signals_of,
    "value": signals_of,
    "queries": _of_all,
    "keys": _of_all,
    "terms": _of_terms,
    "past": _of_one,
    "future": _of_one,
    "total": _of_one,
    "selector": attrgetter("reads"),
}
"""The signals in each field that holds some."""


class _Kind:
    """What all kinds share. A field's name says what it holds, and means the same in every kind."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]
    numeric: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[int, ...]:
        """The signals that the head reads, in the order of its fields."""
        fields = [name for name in self.__match_args__ if name in _READS]
        return tuple([at for name in fields for at in _READS[name](getattr(self, name))])

    @property
    def scores(self) -> Hashable:
        """Signals of one layer with equal `scores` are one head with several values."""
        fields = [name for name in self.__match_args__ if name not in _READ_OUT]
        return (type(self), *[getattr(self, name) for name in fields])

    def moved(self, places: Places) -> Self:
        """The same head where the signals stand at other places."""
        fields = self.__match_args__
        return type(self)(*[_moved(name, getattr(self, name), places) for name in fields])


@dataclass(frozen=True, slots=True)
class Latest(_Kind):
    """`value` at the last j <= i without `bad` (the first j >= i for the future), else 0.

    Requires that `value` implies not `bad`: then it is the hard attention that computes
    `f S g`, with bad = f ∧ ¬g and value = g: walk back to where the answer is decided.
    """

    bad: Literal
    value: Literal
    direction: Direction


@dataclass(frozen=True, slots=True)
class StrictLatest(_Kind):
    """`value` at the last j < i without `bad` (the first j > i for the future), else 0.

    Requires that `value` implies not `bad`. It is `Y(f S g)` (`X(f U g)`) in one head; 0 at the
    first (last) position.
    """

    bad: Literal
    value: Literal
    direction: Direction


@dataclass(frozen=True, slots=True)
class Previous(_Kind):
    """`value` at i-1 (at i+1 for the future), 0 where there is no such position."""

    value: Literal
    direction: Direction


@dataclass(frozen=True, slots=True)
class Shift(_Kind):
    """`value` at i - distance (at i + distance for the future), 0 where there is no such position.

    `distance` >= 2: `Previous` is the head for 1. It is `distance` times `Y` (`X`) in one head.
    """

    value: Literal
    distance: int
    direction: Direction


@dataclass(frozen=True, slots=True)
class Average(_Kind):
    """Mean of Σ a·signal over a range of positions, the sinks (where it is 0) included.

    The mean is the sum over the ordinary positions of the range divided by i+1 for the past,
    n+2-i for the future and n+2 for the total.
    """

    terms: Terms
    range: Range
    numeric: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Sign(_Kind):
    """1 if (sum of the averaged counts) + position·i + length·n >= threshold, else 0.

    Each average stands for the sum that it is the mean of.
    """

    past: int | None
    future: int | None
    total: int | None
    position: int
    length: int
    threshold: int

    @property
    def averages(self) -> tuple[int, ...]:
        return tuple(a for a in (self.past, self.future, self.total) if a is not None)


@dataclass(frozen=True, slots=True)
class Selector(_Kind):
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


@dataclass(frozen=True, slots=True)
class Match(_Kind):
    """`value` at the selected positions, which must all agree on it; 0 if none is selected."""

    selector: Selector
    value: Literal


@dataclass(frozen=True, slots=True)
class MatchMean(_Kind):
    """The mean of Σ a·signal over the selected positions; 0 if none is selected."""

    selector: Selector
    terms: Terms
    numeric: ClassVar[bool] = True

    @property
    def scores(self) -> Hashable:
        return (Match, self.selector)  # the scores of Match: both can be one head


@dataclass(frozen=True, slots=True)
class Width(_Kind):
    """1/(1+w), where w is the number of selected positions. The gates `Steps` and `Total` decode
    it."""

    selector: Selector
    numeric: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class At(_Kind):
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


@dataclass(frozen=True, slots=True)
class Recall(_Kind):
    """`value` at the last j <= i without `bad` whose code is i's; 0 if there is none.

    The code of a key is the bits `keys`, that of a query the bits `queries`, compared digit by
    digit. Requires that `value` implies not `bad`. It is what 2^digits `Latest`s compute, one for
    each code.
    """

    bad: Literal
    queries: tuple[Literal, ...]
    keys: tuple[Literal, ...]
    value: Literal


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


def _moved(field: str, part: Any, places: Places) -> Any:
    """One field of a head where the signals stand at other places."""
    match field:
        case "bad" | "value" | "selector":
            return part.moved(places)
        case "queries" | "keys":
            return tuple([literal.moved(places) for literal in part])
        case "terms":
            return tuple([(a, places[read]) for a, read in part])
        case "past" | "future" | "total":
            return None if part is None else places[part]
    return part
