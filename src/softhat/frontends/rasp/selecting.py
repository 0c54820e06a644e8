"""`Select(keys, queries, predicate)` as a condition.

Tried in this order (`_ways`): comparisons of positions (masks, shifts, reversal, a position that
i and n determine); equality of a count or position with another, by binary digits; few classes of
values on which the predicate does not differ; order by a number and then by position, as Tracr's
sort makes it; comparisons of counts of the whole sequence; conditions on pairs (token, position).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from softhat.frontends.rasp.conditions import (
    All,
    ClassPairs,
    Code,
    Condition,
    Distance,
    Everything,
    Some,
)
from softhat.frontends.rasp.converting import quantity_of, to_categories
from softhat.frontends.rasp.maps import COMPARISONS, by_value
from softhat.frontends.rasp.number_functions import affine_values, plain, positions_of
from softhat.frontends.rasp.operations import Comparison, Value
from softhat.frontends.rasp.pointing import MOST_TRIES, pointed_by_cases
from softhat.frontends.rasp.position_functions import categories_at
from softhat.frontends.rasp.select_pairs import asks_for_one, select_pairs
from softhat.frontends.rasp.select_positions import (
    NoMaskError,
    Predicate,
    holds,
    select_positions,
)
from softhat.frontends.rasp.values import (
    Categories,
    Counted,
    CountForm,
    Joint,
    Known,
    Order,
    Placed,
    Quantity,
    QuotientCase,
    tagged,
)
from softhat.frontends.rasp.workshop import ChangesOftenError, RaisesError, Workshop
from softhat.program.literals import FALSE, TRUE, Literal

MOST_CLASSES = 64


def select(shop: Workshop, keys: Known, queries: Known, predicate: Predicate) -> Condition:
    """The condition of a Select."""
    if isinstance(predicate, Comparison):
        _refuse_none(shop, keys, queries)
        if predicate in (Comparison.TRUE, Comparison.FALSE):
            return Everything(predicate is Comparison.TRUE)
    ways = _ways(shop, keys, queries, predicate)
    condition = next((way for way in ways if way is not None), None)
    if condition is None:
        raise shop.fault(
            "its predicate relates too many values, and neither as an order or equality of "
            f"positions and counts that attention can compute{_LIMIT}; compare tokens, or one "
            "count or position with one"
        )
    return condition


def _ways(
    shop: Workshop, keys: Known, queries: Known, predicate: Predicate
) -> Iterator[Condition | None]:
    """The condition in each of the ways to say it, None where a way does not fit. The best comes
    first, and each is tried only when it is asked for."""
    sign = predicate.value if isinstance(predicate, Comparison) else None
    try:
        yield select_positions(shop, keys, queries, predicate, sign)
    except NoMaskError as error:
        condition = _few_classes(shop, keys, queries, predicate)
        if condition is None:
            raise shop.fault(f"{error}{_LIMIT}") from None
        yield condition
    yield pointed_by_cases(shop, keys, queries, predicate, sign)
    if sign == "==" and _tells_positions(keys):
        yield _codes(shop, keys, queries, predicate)
    yield _classes(shop, keys, queries, predicate)
    if sign is not None:
        yield _compared(shop, keys, queries, sign)
    if isinstance(keys, Joint) and isinstance(queries, Joint):
        yield select_pairs(shop, keys, queries, predicate)
    yield _few_classes(shop, keys, queries, predicate)


_LIMIT = (
    f"; of other predicates {MOST_CLASSES} values of the keys that it tells apart are the most: "
    "map them to fewer values, or compile to a shorter max_length"
)


def _few_classes(
    shop: Workshop, keys: Known, queries: Known, predicate: Predicate
) -> Condition | None:
    """Classes of the values of both sides, whatever these are made of; None if they are many."""
    try:
        few = by_value(shop, keys), by_value(shop, queries)
    except ChangesOftenError:
        return None
    return _classes(shop, *few, predicate)


def _tells_positions(keys: Known) -> bool:
    """Is it a number that may be different at every position?"""
    if isinstance(keys, Quantity):
        return (form := keys.affine) is not None and bool(form.position)
    return isinstance(keys, Counted)


def _refuse_none(shop: Workshop, *sides: Known) -> None:
    for which, side in zip(("key", "query"), sides, strict=True):
        undefined = isinstance(side, Categories) and not side.total
        if undefined or (isinstance(side, Placed) and any(v is None for v in side.values)):
            raise RaisesError(
                f"{shop.name}: a {which} may be None, and a comparison with None raises: use a "
                "predicate such as lambda k, q: k is not None and k == q"
            )


# Classes of values


def _values(shop: Workshop, known: Known) -> list[Value] | None:
    """The values a side can have, None among them if it can be."""
    match known:
        case Categories():
            return [*known.values, *([] if known.total else [None])]
        case Counted():
            return list(known.values.values())
        case Placed():
            return list({tagged(v): v for v in known.values}.values())
        case Quantity() if (form := known.affine) is not None:
            return [plain(value) for value in affine_values(shop, form)]
    return None


def _classes(shop: Workshop, keys: Known, queries: Known, predicate: Predicate) -> Condition | None:
    """Keys that the predicate treats alike are one class; for each the queries that select it."""
    key_values, query_values = _values(shop, keys), _values(shop, queries)
    if key_values is None or query_values is None:
        return None
    if isinstance(predicate, Comparison):
        _check_order(shop, predicate, key_values, query_values)
        if min(len(key_values), len(query_values)) > MOST_CLASSES:
            return None  # every value is a class of its own
    if len(key_values) * len(query_values) > MOST_TRIES:
        raise shop.fault(f"its predicate would have to be tried on over {MOST_TRIES:,} pairs")
    together: dict[tuple[bool, ...], list[Value]] = {}
    for key in key_values:
        row = tuple(bool(shop.apply(predicate, key, query)) for query in query_values)
        if any(row):
            together.setdefault(row, []).append(key)
        if len(together) > MOST_CLASSES:
            return None
    pairs = []
    for row, members in together.items():
        asked = [query for query, answer in zip(query_values, row, strict=True) if answer]
        pairs.append((among(shop, keys, members), among(shop, queries, asked)))
    order = None
    if keys is queries and _is_order(key_values, predicate) and isinstance(keys, Categories):
        order = Order(classes=keys.bits)
    return ClassPairs(tuple(k for k, _ in pairs), tuple(q for _, q in pairs), order)


def _check_order(
    shop: Workshop, predicate: Comparison, keys: list[Value], queries: list[Value]
) -> None:
    """Text and numbers have no order: found out once, not for each pair."""
    for key in keys[:1]:
        for query in queries[:1]:
            shop.apply(predicate, key, query)


def _is_order(values: list[Value], predicate: Predicate) -> bool:
    """Is every value before or after every other one?"""
    if not isinstance(predicate, Comparison) or predicate not in (
        Comparison.LT,
        Comparison.GT,
    ):
        return False
    return len(set(values)) == len(values)


def among(shop: Workshop, known: Known, wanted: list[Value]) -> Literal:
    """The value is one of the wanted (None too)."""
    tags = {tagged(value) for value in wanted}
    match known:
        case Categories():
            bits = [b for v, b in zip(known.values, known.bits, strict=True) if tagged(v) in tags]
            if tagged(None) in tags:
                others = [
                    b
                    for v, b in zip(known.values, known.bits, strict=True)
                    if tagged(v) not in tags
                ]
                return ~shop.either(others)
            return TRUE if known.total and len(bits) == len(known.bits) else shop.either(bits)
        case Counted():
            return shop.where(known, lambda value: tagged(value) in tags)
        case Placed(values, position, length):
            yes = Placed(tuple(tagged(v) in tags for v in values), position, length)
            few = categories_at(shop, yes)
            return next((b for v, b in zip(few.values, few.bits, strict=True) if v), FALSE)
        case Quantity() if (form := known.affine) is not None:
            few = positions_of(shop, form, lambda value: tagged(value) in tags)
            return next((b for v, b in zip(few.values, few.bits, strict=True) if v), FALSE)
    raise AssertionError("only what has a list of values")


# Orders and counts


def _compared(shop: Workshop, keys: Known, queries: Known, sign: str) -> Condition | None:
    if isinstance(keys, Joint) and keys is queries and sign in ("<", ">", "<=", ">="):
        return _lexicographic(shop, keys, sign)
    if (whole := _of_whole(shop, keys, queries, sign)) is not None:
        return whole
    return _codes(shop, keys, queries, Comparison.EQ) if sign == "==" else None


def _lexicographic(shop: Workshop, joint: Joint, sign: str) -> Condition | None:
    """f(value, i) orders by the value and then by the position, by trying all of them."""
    values = _values(shop, joint.base)
    if values is None or any(v is None for v in values) or joint.place.length:
        return None
    places = affine_values(shop, joint.place)
    if joint.place.position < 0:
        places.reverse()
    rows = [[shop.apply(joint.f, v, plain(p)) for p in places] for v in values]
    ups = [all(a < b for a, b in pairwise(row)) for row in rows]
    downs = [all(a > b for a, b in pairwise(row)) for row in rows]
    ranked = sorted(range(len(values)), key=lambda k: rows[k][0])
    apart = all(max(rows[a]) < min(rows[b]) for a, b in pairwise(ranked))
    if not apart or not (all(ups) or all(downs)):
        return None
    less = sign in ("<", "<=")
    ordered = [values[k] for k in ranked]
    rank = {tagged(v): k for k, v in enumerate(ordered)}
    before = _by_rank(shop, joint.base, ordered, rank, less)
    equal = _by_rank(shop, joint.base, ordered, rank, None)
    if before is None or equal is None:
        return None
    earlier = less == all(ups)
    strict = Distance(None, -1) if earlier else Distance(1, None)
    weak = Distance(None, 0) if earlier else Distance(0, None)
    ties = strict if sign in ("<", ">") else weak
    return Some((before, All((equal, ties))), Order())


def _by_rank(
    shop: Workshop,
    base: Categories | Counted,
    ordered: list[Value],
    rank: dict[object, int],
    less: bool | None,
) -> Condition | None:
    """The key's value comes before (after, or is the same as) the query's."""
    numbers = all(isinstance(v, int | float) for v in ordered)
    if isinstance(base, Counted) and numbers and sorted(ordered) in (ordered, ordered[::-1]):
        ascending = sorted(ordered) == ordered
        sign = "==" if less is None else "<" if less == ascending else ">"
        if (whole := _of_whole(shop, base, base, sign)) is not None:
            return whole
    if len(ordered) <= MOST_CLASSES:

        def predicate(key: Value, query: Value) -> bool:
            k, q = rank[tagged(key)], rank[tagged(query)]
            return k == q if less is None else k < q if less else k > q

        return _classes(shop, base, base, predicate)
    return None


def _of_whole(shop: Workshop, keys: Known, queries: Known, sign: str) -> Condition | None:
    """Keys whose number depends on a case that holds at the key and on counts of the whole
    sequence, which the query knows too: so the query computes for each case how it compares."""
    if sign not in COMPARISONS or not isinstance(keys, Quantity | Counted):
        return None
    number = keys if isinstance(keys, Quantity) else keys.quantity
    if number is None or not all(map(_is_global, number.cases)):
        return None
    try:
        asked = quantity_of(shop, queries)
    except ValueError:
        return None
    if any(case.is_ratio for case in asked.cases):
        return None
    pairs = []
    for case in number.cases:
        form = case.above.times(1 / case.below.constant)
        answers = [
            shop.both(
                other.when,
                holds(shop, form.plus(other.above, -1 / other.below.constant), sign),
            )
            for other in asked.cases
        ]
        pairs.append((case.when, shop.either(answers)))
    return ClassPairs(tuple(k for k, _ in pairs), tuple(q for _, q in pairs))


def _is_global(case: QuotientCase) -> bool:
    return (
        not case.is_ratio
        and not case.above.position
        and all(over == "total" for over, _ in case.above.counts)
    )


def _codes(shop: Workshop, keys: Known, queries: Known, predicate: Predicate) -> Condition | None:
    """Equality of whole numbers by their binary digits."""
    count = (shop.longest + 1).bit_length() + 1
    key, query = _digits(shop, keys, count), _digits(shop, queries, count)
    if key is None or query is None:
        return None
    order = keys.order if isinstance(keys, Counted) else None
    if isinstance(keys, Quantity) or (
        isinstance(keys, Joint) and asks_for_one(shop, keys, queries)
    ):
        order = Order()  # no two positions have the number that is asked for
    # Two more digits, true on one side, ask whether the other side has a number at all.
    digits = (*key[0], key[1], TRUE), (*query[0], TRUE, query[1])
    return Code(*digits, order, lambda: _classes(shop, keys, queries, predicate))


def _digits(shop: Workshop, known: Known, count: int) -> tuple[list[Literal], Literal] | None:
    """Binary digits, and whether the number is one that they can say."""
    most = 1 << count

    def digit(bit: int, value: Value) -> bool:
        return fits(value) and bool(int(value) >> bit & 1)

    def fits(value: Value) -> bool:
        """A whole number of any type: 1 == 1.0 == True."""
        return isinstance(value, int | float) and 0 <= value < most and value == int(value)

    match known:
        case Counted():
            digits = [shop.where(known, partial(digit, bit)) for bit in range(count)]
            return digits, shop.where(known, fits)
        case Quantity() if (form := known.affine) is not None and form.scale == 1:
            digits = [shop.position_digit(form, bit) for bit in range(count)]
            _, high = form.bounds(shop.longest)
            inside = shop.at_least(form)
            if high >= most:
                inside = shop.both(inside, ~shop.at_least(form.plus(CountForm.of_constant(-most))))
            return digits, inside
        case Categories() | Joint() | Placed():
            few = to_categories(shop, known)
            pairs = list(zip(few.values, few.bits, strict=True))
            digits = [shop.either(b for v, b in pairs if digit(bit, v)) for bit in range(count)]
            return digits, shop.either(b for v, b in pairs if fits(v))
    return None
