"""`Select` where keys and queries are functions of a category and the position.

`lambda k, q: k[0] == q[0] and k[1] <= q[1]` of pairs (token, index) is, for each pair of tokens, a
condition on the distance of the positions. Every pair of categories is tried at every pair of
positions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from softhat.frontends.rasp.conditions import All, ClassPairs, Condition, Everything, Some
from softhat.frontends.rasp.converting import alike
from softhat.frontends.rasp.number_functions import affine_values, plain
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.pointing import MOST_TRIES
from softhat.frontends.rasp.position_functions import column, places_of
from softhat.frontends.rasp.select_positions import distances_of
from softhat.frontends.rasp.values import Joint, Known, Placed
from softhat.frontends.rasp.workshop import Workshop
from softhat.program.literals import FALSE, Literal


def select_pairs(
    shop: Workshop, keys: Joint, queries: Joint, predicate: Callable[[Value, Value], bool]
) -> Condition | None:
    """A condition on the distance for every pair of categories; None if it is not of that form."""
    if keys.place.length or queries.place.length or not keys.place.position:
        return None
    n = shop.longest
    key_groups, query_groups = alike(shop, keys), alike(shop, queries)
    tries = len(key_groups) * len(query_groups) * n * n
    if tries > MOST_TRIES:
        raise shop.fault(
            f"its predicate would have to be tried on {len(key_groups):,} by "
            f"{len(query_groups):,} categories at {n:,} by {n:,} positions, {tries:,} in all, and "
            f"{MOST_TRIES:,} are the most: select by categories and by positions apart, with `&`"
        )
    key_at, query_at = _values(n, keys, key_groups), _values(n, queries, query_groups)
    parts: list[Condition] = []
    for key, row in zip(key_groups, key_at, strict=True):
        for query, asked in zip(query_groups, query_at, strict=True):
            holds = _by_distance(shop, row, asked, predicate)
            if holds is None:
                return None
            if any(holds.values()):
                parts.append(All((ClassPairs((key[0],), (query[0],)), distances_of(holds, n))))
    parts = [part for part in parts if _is_possible(part)]
    return Some(tuple(parts)) if parts else Everything(False)


def _is_possible(part: Condition) -> bool:
    assert isinstance(part, All) and isinstance(part.parts[0], ClassPairs)
    return FALSE not in (*part.parts[0].keys, *part.parts[0].queries)


def _values(n: int, joint: Joint, groups: list[tuple[Literal, list[Value]]]) -> list[list[Value]]:
    places = column(joint.place, np.arange(1, n + 1), np.zeros(n, np.int64))
    return [[joint.f(values[0], place) for place in places] for _, values in groups]


def _by_distance(
    shop: Workshop,
    keys: list[Value],
    queries: list[Value],
    predicate: Callable[[Value, Value], bool],
) -> dict[int, bool] | None:
    holds: dict[int, bool] = {}
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            answer = bool(shop.apply(predicate, key, query))
            if holds.setdefault(j - i, answer) != answer:
                return None
    return holds


def asks_for_one(shop: Workshop, keys: Joint, queries: Known) -> bool:
    """Is every number that a query may have that of one position at most?"""
    place = places_of(queries)
    if keys.place.length or not keys.place.position or place is None:
        return False
    n = shop.longest
    if isinstance(place, Placed):
        wanted = set(place.values)
    else:
        wanted = {plain(value) for value in affine_values(shop, place)}
    positions: dict[Hashable, set[int]] = {}
    for row in _values(n, keys, alike(shop, keys)):
        for j, value in enumerate(row):
            if value in wanted:
                positions.setdefault(value, set()).add(j)
    return all(len(where) == 1 for where in positions.values())
