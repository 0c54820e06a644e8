"""Selectors that select at most one position for every query: pointers.

Keys and queries are functions of position and length, so a predicate can be tried wherever they
occur. If no query ever selects two keys, the key is a function of the query's place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from softhat.frontends.rasp.conditions import Everything, Pointer
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.places import column, occurring, pointer_digits, words_of_places
from softhat.frontends.rasp.values import CountForm, Placed
from softhat.frontends.rasp.workshop import Workshop

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
