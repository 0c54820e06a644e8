"""Reading at one position: at a distance, or at a number that i and n determine."""

from __future__ import annotations

from typing import Literal as Choice

from softhat.frontends.rasp.conditions import Pointer
from softhat.frontends.rasp.resolving import AtPoint
from softhat.frontends.rasp.values import CountForm, exact
from softhat.frontends.rasp.workshop import Workshop
from softhat.program.heads import At, Mask, Previous, Shift
from softhat.program.literals import FALSE, TRUE, Literal

_ONE = exact(1)


def point_bit(shop: Workshop, looked: AtPoint, bit: Literal) -> Literal:
    """A bit at one position, 0 where there is no such position or a condition fails."""
    conditions = []
    for pairs in looked.pairs:
        held = [
            shop.both(query, read_point(shop, looked.place, key))
            for key, query in zip(pairs.keys, pairs.queries, strict=True)
        ]
        conditions.append(shop.either(held))
    return shop.both(read_point(shop, looked.place, bit), *conditions)


def is_always_there(shop: Workshop, looked: AtPoint) -> bool:
    """Does every query of every word select a position?"""
    place = looked.place
    if looked.pairs or isinstance(place, int):
        return False
    if isinstance(place, Pointer):
        return place.always
    if shop.causal:
        return False
    # Affine numbers are least and greatest at the corners of 1 <= i <= n <= N.
    corners = [(1, 1), (1, shop.longest), (shop.longest, shop.longest)]
    values = [(place.position * i + place.length * n + place.constant, n) for i, n in corners]
    return all(1 <= value <= n for value, n in values)


def read_point(shop: Workshop, place: int | CountForm | Pointer, bit: Literal) -> Literal:
    if bit == FALSE:
        return FALSE
    if place == 0:
        return bit
    if isinstance(place, Pointer):
        return _read_pointer(shop, place, bit)
    if isinstance(place, CountForm):
        return _read_affine(shop, place, bit)
    if place > 0 and shop.causal:
        return FALSE
    if bit == TRUE:  # there is such a position
        form = CountForm({}, position=_ONE, constant=_ONE * (place - 1))
        if place > 0:
            form = CountForm({}, -_ONE, _ONE, -_ONE * place)
        return shop.at_least(form, f"{shop.name}: there is position i{place:+d}")
    direction: Choice["past", "future"] = "past" if place < 0 else "future"
    label = f"{shop.name}: {shop.draft_label(bit)} at i{place:+d}"
    if abs(place) == 1:
        return shop.draft.add(Previous(bit, direction), label)
    return shop.draft.add(Shift(bit, abs(place), direction), label)


def _read_affine(shop: Workshop, place: CountForm, bit: Literal) -> Literal:
    """At the position that is an affine number of i and n, by its binary digits."""
    low, high = place.bounds(shop.longest)
    count = max(int(high), int(-low), shop.longest).bit_length()
    here = CountForm({}, position=_ONE)
    keys = tuple(shop.position_digit(here, b) for b in range(count))
    queries = tuple(shop.position_digit(place, b) for b in range(count))
    mask: Mask = "<=" if shop.causal else "none"
    return shop.draft.add(
        coded(shop, queries, keys, bit, mask), f"{shop.name}: read at another position"
    )


def _read_pointer(shop: Workshop, place: Pointer, bit: Literal) -> Literal:
    """At the position that has these binary digits; a digit more says whether there is one."""
    here = CountForm({}, position=_ONE)
    keys = [shop.position_digit(here, b) for b in range(len(place.digits))]
    queries = list(place.digits)
    if place.defined != TRUE:
        keys.append(TRUE)
        queries.append(place.defined)
    mask: Mask = "<=" if shop.causal else "none"
    return shop.draft.add(
        coded(shop, tuple(queries), tuple(keys), bit, mask), f"{shop.name}: read by a pointer"
    )


def coded(
    shop: Workshop,
    queries: tuple[Literal, ...],
    keys: tuple[Literal, ...],
    bit: Literal,
    mask: Mask,
) -> At:
    """A code of one digit gets another: the score of the sinks, one digit less than all, is a row
    of its own and not 0."""
    if len(queries) == 1:
        queries, keys = (*queries, TRUE), (*keys, TRUE)
    return At(queries, keys, bit, mask, shop.longest)
