"""What attention reads in a window of distances that is no mask: the last four positions, say.

A window of few positions is read position by position, and a table says what follows from what
stands there. Numbers of positions in a window are differences of counts. A window with one end only
is a mask, seen from as far away as its end is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal as Choice

from softhat.frontends.rasp.one_position import read_point
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.resolving import DistanceWindow, Masked, Part, selector_of
from softhat.frontends.rasp.values import Categories, CountForm, exact, tagged
from softhat.frontends.rasp.workshop import Workshop
from softhat.program.gates import Table
from softhat.program.heads import Match
from softhat.program.literals import FALSE, TRUE, Literal

MOST_READ = 1_024
"""Positions of a window that are read one by one."""
_ONE = exact(1)

Seen = list[list[tuple[Value, Literal]]]
"""For each distance what may stand there: values, and where they do."""
MOST_TOGETHER = 1_024
"""Combinations of what stands in a window that are told apart."""


def seen_in(shop: Workshop, looked: Masked, weights: list[tuple[Value, Literal]]) -> Seen | None:
    """The values at every selected distance, if that is a window of few positions."""
    by_distance: dict[int, dict[Value, list[Literal]]] = {}
    for part in looked.parts:
        distances = part.where.distances if isinstance(part.where, DistanceWindow) else None
        if part.where == "=":
            distances = range(1)
        if distances is None or len(distances) > MOST_TOGETHER:
            return None
        for distance in distances:
            values = by_distance.setdefault(distance, {})
            for key, query in part.pairs:
                for value, bit in weights:
                    there = read_point(shop, distance, shop.both(key, bit))
                    values.setdefault(value, []).append(shop.both(query, there))
    together = 1
    for values in by_distance.values():
        together *= len(values) + 1
    if together > MOST_TOGETHER or all(distance == 0 for distance in by_distance):
        return None
    return [
        [(value, bit) for value, bits in values.items() if (bit := shop.either(bits)) != FALSE]
        for values in by_distance.values()
    ]


def tabled(shop: Workshop, seen: Seen, result: Callable[[list[Value]], Value]) -> Categories:
    """A function of the values in a window: a table with a row for every combination."""
    rows: list[tuple[tuple[Value, ...], tuple[Literal, ...]]] = [((), ())]
    for values in seen:
        # Each is told from the ones before it by their bits, so that no two rows ever both hold.
        none = tuple(~bit for _, bit in values)
        options: list[tuple[tuple[Value, ...], tuple[Literal, ...]]] = [((), none)]
        options += [((value,), (*none[:k], bit)) for k, (value, bit) in enumerate(values)]
        rows = [
            ((*have, *more), (*when, *literals))
            for have, when in rows
            for more, literals in options
            if FALSE not in literals
        ]
    together: dict[object, tuple[Value, list[tuple[Literal, ...]]]] = {}
    for have, when in rows:
        value = result(list(have))
        term = tuple(sorted({literal for literal in when if literal != TRUE}))
        if not any(~literal in term for literal in term):
            together.setdefault(tagged(value), (value, []))[1].append(term)
    total = all(value is not None for value, _ in together.values())
    pairs = [(value, _table(shop, terms)) for value, terms in together.values()]
    return shop.categories(pairs, total)


def _table(shop: Workshop, terms: list[tuple[Literal, ...]]) -> Literal:
    if () in terms:
        return TRUE
    if len(terms) == 1:
        return shop.both(*terms[0])
    return shop.draft.add(Table(tuple(sorted(terms))), f"{shop.name}: table")


def count_within(shop: Workshop, window: DistanceWindow, key: Literal) -> CountForm:
    """#(key) over a window: a difference of two counts, of which one may be of all positions.

    Up to i + d, for d < 0, is up to i of the key moved by -d; from i + d on likewise, for d > 0.
    """
    low, high = window.low, window.high

    def up_to(distance: int) -> CountForm:
        return CountForm.of_count(_moved(shop, key, -distance, "past"), "past")

    def from_on(distance: int) -> CountForm:
        return CountForm.of_count(_moved(shop, key, distance, "future"), "future")

    if high is not None and high <= 0:
        counted = up_to(high)
        return counted if low is None else counted.plus(up_to(low - 1), -_ONE)
    if low is not None and low >= 0:
        counted = from_on(low)
        return counted if high is None else counted.plus(from_on(high + 1), -_ONE)
    counted = CountForm.of_count(key, "total")
    if low is not None:
        counted = counted.plus(up_to(low - 1), -_ONE)
    return counted if high is None else counted.plus(from_on(high + 1), -_ONE)


def _moved(
    shop: Workshop, key: Literal, distance: int, direction: Choice["past", "future"]
) -> Literal:
    """`key` that many positions before (after): false where there is none."""
    place = -distance if direction == "past" else distance
    return key if distance == 0 else read_point(shop, place, key)


def matched_within(
    shop: Workshop, part: Part, window: DistanceWindow, bit: Literal
) -> list[Literal]:
    """Whether a key matches within a window: position by position, or from the window's one end
    on."""
    pairs = list(part.pairs)
    if window.distances is not None:
        if len(window.distances) > MOST_READ:
            raise shop.fault(
                f"it reads a window of {len(window.distances):,} positions; {MOST_READ:,} are "
                "the most"
            )
        return [
            shop.both(query, read_point(shop, distance, shop.both(key, bit)))
            for distance in window.distances
            for key, query in pairs
        ]
    moved, move = anchored(shop, part, window)
    head = Match(selector_of(shop, moved), move(bit))
    return [shop.draft.add(head, f"{shop.name}: {shop.draft_label(bit)} matched")]


def anchored(
    shop: Workshop, part: Part, window: DistanceWindow
) -> tuple[Part, Callable[[Literal], Literal]]:
    """A window with one end as a mask that ends at i: its keys, and what is read there, are seen
    from as far away as the window is."""
    back = window.high is not None
    distance = -window.high if window.high is not None else window.low or 0
    if distance < 0:
        raise shop.fault("it looks beyond a position from the other side: use two selectors")
    direction: Choice["past", "future"] = "past" if back else "future"

    def move(bit: Literal) -> Literal:
        return _moved(shop, bit, distance, direction)

    keys = tuple(map(move, part.keys))
    return replace(part, where="<=" if back else ">=", keys=keys), move


def average_of(values: list[Value], default: Value) -> Value:
    """The average, computed as the interpreter computes it."""
    return sum(values) / len(values) if values else default
