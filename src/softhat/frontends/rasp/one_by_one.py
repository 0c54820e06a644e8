"""Conditions on positions as pairs of classes, one for each position: for short sequences.

A pointer, a code or a distance goes with other conditions by `and` only as long as a head of its
own kind follows it. As a class for every position, "the key is j, and I select j", it is a
condition like those of tokens, and goes with every other.
"""

from __future__ import annotations

from collections.abc import Mapping

from softhat.frontends.rasp.conditions import (
    All,
    ClassPairs,
    Code,
    Condition,
    Distance,
    Opposite,
    Point,
    Pointer,
    Some,
)
from softhat.frontends.rasp.number_functions import positions_of
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.values import CountForm, exact
from softhat.frontends.rasp.workshop import Workshop
from softhat.program.literals import FALSE, Literal, spelled

MOST_POSITIONS = 64
"""Sequences of no more are treated position by position."""
MOST_DIGITS = 8
"""Of a code whose every value is a class."""


class MixedError(Exception):
    """A condition that no head follows as it stands: what it says is shown to users, with the
    length up to which it is compiled all the same."""


def one_by_one(shop: Workshop, condition: Condition, distances: bool = False) -> Condition:
    """The condition by classes of keys alone, and by distances unless these are to be classes
    too."""
    match condition:
        case All(parts):
            return All(tuple(one_by_one(shop, part, distances) for part in parts))
        case Some(parts):
            return Some(tuple(one_by_one(shop, part, distances) for part in parts))
        case Opposite(inner):
            return Opposite(one_by_one(shop, inner, distances))
        case Point(form):
            there = positions_of(shop, form, _position)
            return _paired(shop, dict(zip(there.values, there.bits, strict=True)))
        case Pointer(digits, defined, _):
            numbers = {j: _number(shop, digits, j) for j in range(1, shop.longest + 1)}
            return _paired(shop, {j: shop.both(defined, bit) for j, bit in numbers.items()})
        case Code():
            return condition.instead() or _by_code(shop, condition)
        case Distance(low, high) if distances:
            least = 1 - shop.longest if low is None else low
            most = shop.longest - 1 if high is None else high
            inside = {j: range(j - most, j - least + 1) for j in range(1, shop.longest + 1)}
            return _paired(shop, {j: _among(shop, places) for j, places in inside.items()})
    return condition


_HERE = CountForm({}, position=exact(1))


def _position(value: Value) -> Value:
    """The number, if it can be that of a position."""
    whole = isinstance(value, int | float) and value >= 1 and value == int(value)
    return int(value) if whole else None


def _among(shop: Workshop, places: range) -> Literal:
    """The position is one of these."""
    few = positions_of(shop, _HERE, places.__contains__)
    return shop.either(b for v, b in zip(few.values, few.bits, strict=True) if v)


def _number(shop: Workshop, digits: tuple[Literal, ...], number: int) -> Literal:
    """The digits, lowest first, are those of the number."""
    if number >> len(digits):
        return FALSE
    return shop.both(*spelled(digits, number))


def _paired(shop: Workshop, asked: Mapping[Value, Literal]) -> ClassPairs:
    """Position j for the queries that ask for it."""
    here = positions_of(shop, _HERE, lambda place: place)
    pairs = [
        (key, asked[place])
        for place, key in zip(here.values, here.bits, strict=True)
        if asked.get(place, FALSE) != FALSE
    ]
    return ClassPairs(tuple(k for k, _ in pairs), tuple(q for _, q in pairs))


def _by_code(shop: Workshop, code: Code) -> ClassPairs:
    """A class for every value of the digits that both sides can have."""
    if len(code.keys) > MOST_DIGITS:
        raise shop.fault(
            f"a code of {len(code.keys)} digits; as classes {MOST_DIGITS} are the most"
        )
    pairs = []
    for number in range(1 << len(code.keys)):
        key, query = (_number(shop, side, number) for side in (code.keys, code.queries))
        if FALSE not in (key, query):
            pairs.append((key, query))
    return ClassPairs(tuple(k for k, _ in pairs), tuple(q for _, q in pairs))
