"""Selectors as conditions between a key position j and a query position i.

A leaf is one of: pairs of bits, (key bit at j) ∧ (query bit at i); a distance j - i; one position
that i and n determine, as an affine number or by its digits; equal binary codes. Selectors are
Boolean combinations of leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from softhat.frontends.rasp.values import CountForm, Order
from softhat.program.literals import Literal


@dataclass(frozen=True, slots=True)
class Everything:
    """All keys, or none."""

    value: bool


@dataclass(frozen=True, slots=True)
class ClassPairs:
    """keys[k] at j and queries[k] at i, for some k. No two keys hold at one position."""

    keys: tuple[Literal, ...]
    queries: tuple[Literal, ...]
    order: Order | None = None
    """If it says that j comes before i in an order."""
    single: bool = False
    """The keys hold at one position of a word at most."""


@dataclass(frozen=True, slots=True)
class Distance:
    """low <= j - i <= high; None is no bound."""

    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Point:
    """j is this affine number of i and n."""

    form: CountForm


@dataclass(frozen=True, slots=True)
class Pointer:
    """j is the number that has these binary digits at i, lowest first, where `defined` holds."""

    digits: tuple[Literal, ...]
    defined: Literal
    always: bool
    """There is such a position in every word, and it is not after i in a causal program."""


@dataclass(frozen=True, slots=True)
class Code:
    """The digits `keys` at j equal the digits `queries` at i."""

    keys: tuple[Literal, ...]
    queries: tuple[Literal, ...]
    order: Order | None
    instead: Callable[[], Condition | None] = field(compare=False)
    """The same by classes of values, if they are few: for what codes cannot do."""


@dataclass(frozen=True, slots=True)
class All:
    """All of these conditions hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """One of these conditions holds."""

    parts: tuple[Condition, ...]
    order: Order | None = None
    """If what is selected are the j that come before i in an order."""


@dataclass(frozen=True, slots=True)
class Opposite:
    """The condition does not hold."""

    inner: Condition


Condition = Everything | ClassPairs | Distance | Point | Pointer | Code | All | Some | Opposite


def conjuncts(condition: Condition) -> list[Condition]:
    if not isinstance(condition, All):
        return [condition]
    return [inner for part in condition.parts for inner in conjuncts(part)]
