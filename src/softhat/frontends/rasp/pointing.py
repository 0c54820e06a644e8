"""Selectors that select at most one position for every query: pointers.

Keys and queries are functions of position and length, so a predicate can be tried wherever they
occur. If no query ever selects two keys, the key is a function of the query's place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from softhat.frontends.rasp.conditions import Everything, Pointer
from softhat.frontends.rasp.everywhere import same_everywhere
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.position_functions import (
    column,
    occurring,
    places_of,
    pointer_digits,
    words_of_places,
)
from softhat.frontends.rasp.values import CountForm, Known, Placed, Quantity
from softhat.frontends.rasp.workshop import Workshop
from softhat.program.literals import FALSE, TRUE, Literal

MOST_TRIES = 20_000_000
"""Pairs of values on which a predicate is tried."""


def pointed(
    shop: Workshop,
    key: CountForm | Placed,
    query: CountForm | Placed,
    predicate: Callable[[Value, Value], bool],
    sign: str | None,
) -> Pointer | Everything | None:
    """The pointer that a predicate of places is; None if a query may select several keys."""
    position, length = bool(query.position), bool(key.length or query.length)
    if not key.position:
        return None
    n = shop.longest
    tries = n**3 // 6 if length else n * n
    if sign == "==":
        tries = n * n
    if tries > MOST_TRIES:
        raise shop.fault(
            f"its predicate would have to be tried on {tries:,} positions and lengths, and "
            f"{MOST_TRIES:,} are the most: compare indices with indices plus a constant, or use a "
            "shorter max_length"
        )
    targets: list[int] = []
    for size, places in words_of_places(shop, length):
        at = np.array(places)
        sizes = np.full_like(at, size if length else 0)
        keys = column(key, at, sizes)
        asked = column(query, at, sizes)
        chosen = _targets(shop, keys, asked if position else asked[:1], predicate, sign)
        if chosen is None:
            return None
        targets += chosen
    if not any(targets):
        return Everything(False)
    target = np.array(targets)
    at, _ = occurring(shop, position, length)
    # Without the length it must not be after i, or it is missing in the word that ends there.
    last = shop.longest if length else at if position else 1
    digits, defined = pointer_digits(shop, target, position, length)
    return Pointer(digits, defined, bool(((target > 0) & (target <= last)).all()))


def pointed_by_cases(
    shop: Workshop,
    keys: Known,
    queries: Known,
    predicate: Callable[[Value, Value], bool],
    sign: str | None,
) -> Pointer | None:
    """The pointer of places that differ by cases, each a pointer of its own. A case of the keys
    must hold of the whole word, so that the query knows it."""
    asked = [(k, q) for k in _by_cases(shop, keys) for q in _by_cases(shop, queries)]
    if len(asked) < 2 or not all(same_everywhere(shop.draft, key[0]) for key, _ in asked):
        return None
    digits: list[list[Literal]] = [[] for _ in range(shop.longest.bit_length())]
    defined: list[Literal] = []
    always: list[Literal] = []
    for (when, key), (other, query) in asked:
        both = shop.both(when, other)
        point = None if both == FALSE else pointed(shop, key, query, predicate, sign)
        if both == FALSE or isinstance(point, Everything):
            continue
        if point is None:
            return None
        for mine, digit in zip(digits, point.digits, strict=True):
            mine.append(shop.both(both, digit))
        defined.append(shop.both(both, point.defined))
        always += [both] if point.always else []
    is_there = shop.either(always) == TRUE
    return Pointer(tuple(map(shop.either, digits)), shop.either(defined), is_there)


def _by_cases(shop: Workshop, known: Known) -> list[tuple[Literal, CountForm | Placed]]:
    """What depends on position and length alone in each of its cases, and when; nothing if a case
    is of another kind, or the number may be undefined."""
    place = places_of(known)
    if place is not None:
        return [(TRUE, place)]
    if not isinstance(known, Quantity) or shop.either(c.when for c in known.cases) != TRUE:
        return []
    cases: list[tuple[Literal, CountForm | Placed]] = []
    for case in known.cases:
        if not case.above.is_affine or not case.below.is_constant:
            return []
        cases.append((case.when, case.above.times(1 / case.below.constant)))
    return cases


def _targets(
    shop: Workshop,
    keys: Sequence[Value],
    queries: Sequence[Value],
    predicate: Callable[[Value, Value], bool],
    sign: str | None,
) -> list[int] | None:
    """For each query the place of its key, from 1; 0 if there is none."""
    if sign == "==":
        where: dict[Hashable, int] = {}
        for j, key in enumerate(keys, start=1):
            where[key] = -1 if key in where else j
        targets = [where.get(query, 0) for query in queries]
        return None if -1 in targets else targets
    targets = []
    for query in queries:
        places = [j for j, key in enumerate(keys, 1) if shop.apply(predicate, key, query)]
        if len(places) > 1:
            return None
        targets.append(places[0] if places else 0)
    return targets
