"""Literals: a signal of an attention program or its negation, and the two constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

Places = Mapping[int, int]
"""Where each signal stands in another program; -1, the constant, stays -1."""


class Literal(NamedTuple):
    """A signal, or its negation. `signal` -1 is the constant true."""

    signal: int
    positive: bool

    def __invert__(self) -> Literal:
        return Literal(self.signal, not self.positive)

    def moved(self, places: Places) -> Literal:
        return Literal(places[self.signal], self.positive)


TRUE = Literal(-1, True)
FALSE = Literal(-1, False)


def literals_in(part: Any) -> list[Literal]:
    """All literals in a signal, whatever its kind."""
    if isinstance(part, Literal):
        return [part]
    if isinstance(part, tuple):
        return [literal for inner in part for literal in literals_in(inner)]
    if is_dataclass(part):
        return [x for field in fields(part) for x in literals_in(getattr(part, field.name))]
    return []


def spelled(digits: Iterable[Literal], number: int) -> tuple[Literal, ...]:
    """That these binary digits, the lowest first, spell the number."""
    return tuple([d if number >> b & 1 else ~d for b, d in enumerate(digits)])


def possible(rows: Iterable[Iterable[Literal]]) -> Iterator[tuple[Literal, ...]]:
    """The conjunctions that can hold, each sorted and without what always does."""
    for row in rows:
        literals = {literal for literal in row if literal != TRUE}
        if FALSE not in literals and not any(~literal in literals for literal in literals):
            yield tuple(sorted(literals))


def signals_of(*literals: Literal) -> tuple[int, ...]:
    """The signals behind literals, constants left out."""
    return tuple([literal.signal for literal in literals if literal.signal >= 0])
