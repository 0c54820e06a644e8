"""`Select` where keys and queries are positions: masks, shifts, reversal, one fixed place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from softhat.frontends.rasp.conditions import (
    ClassPairs,
    Condition,
    Distance,
    Everything,
    Point,
    Some,
)
from softhat.frontends.rasp.number_functions import plain
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.pointing import MOST_TRIES, pointed
from softhat.frontends.rasp.position_functions import places_of
from softhat.frontends.rasp.values import Categories, CountForm, Known, QuotientCase
from softhat.frontends.rasp.workshop import Workshop
from softhat.io.errors import RaspError
from softhat.program.inputs import FirstPosition, LastPosition
from softhat.program.literals import TRUE, Literal

Predicate = Callable[[Value, Value], bool]


class NoMaskError(RaspError):
    """A comparison of positions that is neither a mask, a window nor one position."""


def select_positions(
    shop: Workshop, keys: Known, queries: Known, predicate: Predicate, sign: str | None
) -> Condition | None:
    """The condition, where both sides are positions, or the query is one number."""
    key, query = places_of(keys), places_of(queries)
    if key is None or query is None:
        if key is not None and sign is not None and isinstance(queries, Categories):
            constants = [v for v in queries.values if isinstance(v, int | float)]
            if len(constants) == len(queries.values) == 1:
                number = shop.number(CountForm.of_constant(Fraction(constants[0])))
                return select_positions(shop, keys, number, predicate, sign)
        return None
    if not isinstance(key, CountForm) or not isinstance(query, CountForm):
        return pointed(shop, key, query, predicate, sign)
    if sign is not None:
        try:
            return _compared_positions(shop, key, query, sign)
        except NoMaskError:
            if (point := pointed(shop, key, query, predicate, sign)) is None:
                raise
            return point
    by_distance = (
        None if key.length or query.length else _tried_positions(shop, key, query, predicate)
    )
    return by_distance or pointed(shop, key, query, predicate, sign)


def _compared_positions(shop: Workshop, key: CountForm, query: CountForm, sign: str) -> Condition:
    """a·j + b·n + c ∘ a'·i + b'·n + c'."""
    if not key.position:
        return ClassPairs((TRUE,), (holds(shop, key.plus(query, -1), sign),))
    if not query.position:
        return _one_side(shop, key.plus(query, -1), sign)
    alike = key.position == query.position and key.length == query.length
    distance = (query.constant - key.constant) / key.position
    if sign in ("==", "!="):
        if alike:
            point: Condition = Everything(False)
            if distance.denominator == 1:
                point = Distance(int(distance), int(distance))
        else:
            form = CountForm(
                {},
                query.position / key.position,
                (query.length - key.length) / key.position,
                distance,
            )
            if form.scale != 1:
                raise NoMaskError("it asks for positions that are fractions for some i and n")
            point = Point(form)
        if sign == "==":
            return point
        if isinstance(point, Distance) and point.low is not None:
            return Some((Distance(None, point.low - 1), Distance(point.low + 1, None)))
        raise NoMaskError("it selects all positions but one that depends on the length")
    if not alike:
        raise NoMaskError(
            "it compares positions in a way that no mask can; indices are compared with indices "
            "plus a constant"
        )
    up = key.position > 0
    less = sign in ("<", "<=")
    # (j - i) ∘ distance, the other way round where the positions are negated
    if less == up:
        high = -(-distance // 1) - 1 if sign in ("<", ">") else distance // 1
        return Distance(None, int(high))
    low = distance // 1 + 1 if sign in ("<", ">") else -(-distance // 1)
    return Distance(int(low), None)


def holds(shop: Workshop, form: CountForm, sign: str) -> Literal:
    """`form` ∘ 0."""
    return shop.compared(QuotientCase(TRUE, form), sign, 0)


def _one_side(shop: Workshop, form: CountForm, sign: str) -> Condition:
    """A condition on the key's position alone."""
    if sign == "==" and abs(form.position) == 1:
        place = form.times(-form.position)  # j = length·n + constant
        wanted = (int(place.length), int(place.constant))
        if wanted == (0, 1):
            return ClassPairs((shop.draft.add(FirstPosition(), "first"),), (TRUE,), single=True)
        if wanted == (1, 0):
            return ClassPairs((shop.draft.add(LastPosition(), "last"),), (TRUE,), single=True)
    single = sign == "==" and bool(form.position)
    return ClassPairs((holds(shop, form, sign),), (TRUE,), single=single)


def _tried_positions(
    shop: Workshop, key: CountForm, query: CountForm, predicate: Predicate
) -> Condition | None:
    """A predicate of two positions that depends on their distance only."""
    n = shop.longest
    if n * n > MOST_TRIES:
        raise shop.fault(
            f"its predicate would have to be tried on {n * n:,} pairs of positions, and "
            f"{MOST_TRIES:,} are the most: use a Comparison, as in "
            "Select(indices, indices - 1, Comparison.EQ), or a shorter max_length"
        )
    key_at = [plain(key.position * j + key.constant) for j in range(1, n + 1)]
    query_at = [plain(query.position * i + query.constant) for i in range(1, n + 1)]
    answers = [[bool(shop.apply(predicate, k, q)) for k in key_at] for q in query_at]
    by_distance = {d: answers[max(0, -d)][max(0, d)] for d in range(1 - n, n)}
    for i, row in enumerate(answers):
        for j, answer in enumerate(row):
            if answer != by_distance[j - i]:
                return None
    return distances_of(by_distance, n)


def distances_of(holds_at: Mapping[int, bool], n: int) -> Condition:
    """The condition that j - i is one of these distances, of all from 1 - n to n - 1."""
    distances: list[Condition] = []
    start: int | None = None
    for d in range(1 - n, n + 1):
        if holds_at.get(d, False):
            start = d if start is None else start
        elif start is not None:
            single = start == d - 1  # one distance is a shift, however far
            low = None if start == 1 - n and not single else start
            high = None if d == n and not single else d - 1
            distances.append(Distance(low, high))
            start = None
    if not distances:
        return Everything(False)
    return distances[0] if len(distances) == 1 else Some(tuple(distances))
