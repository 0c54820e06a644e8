"""`SelectorWidth` and `Aggregate`: what attention reads through a condition.

A condition made of pairs and of j < i, j = i, j > i is sorted into parts, one for each mask: for
every class of keys, the queries that select it there. A width is then one head a mask; a mean is
a ratio of counts; a category is read exactly where all selected positions must agree on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal as Choice

from softhat.frontends.rasp.conditions import (
    All,
    Code,
    Condition,
    Distance,
    Everything,
    Opposite,
    Pairs,
    Point,
    Some,
    conjuncts,
)
from softhat.frontends.rasp.maps import to_categories
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.values import (
    Case,
    Categories,
    Counted,
    Form,
    Known,
    Order,
    Quantity,
    exact,
    is_number,
)
from softhat.frontends.rasp.workshop import MOST_CASES, Workshop
from softhat.program.heads import At, Mask, Match, Previous, Range, Selector, Shift
from softhat.program.literals import FALSE, TRUE, Literal

MOST_KEYS = 512
"""Classes of keys in one selector."""
MOST_FETCHED = 1_024
"""Values that can be read at another position."""

_ONE = exact(1)
Cell = Choice["<", "=", ">"]
Where = Choice["none", "<=", "<", ">=", ">", "="]


@dataclass(frozen=True, slots=True)
class Part:
    """The keys of one mask and for each the queries that select it."""

    where: Where
    keys: tuple[Literal, ...]
    queries: tuple[Literal, ...]
    single: bool


@dataclass(frozen=True, slots=True)
class Masked:
    parts: tuple[Part, ...]
    order: Order | None


@dataclass(frozen=True, slots=True)
class AtPoint:
    """One position: at a distance from i, or an affine number; with further conditions."""

    place: int | Form
    pairs: tuple[Pairs, ...]


@dataclass(frozen=True, slots=True)
class AtCode:
    """The positions whose code is mine."""

    keys: tuple[Literal, ...]
    queries: tuple[Literal, ...]
    mask: Mask
    order: Order | None
    pairs: tuple[Pairs, ...]


Looked = Masked | AtPoint | AtCode


def resolved(shop: Workshop, condition: Condition) -> Looked:
    """How attention can follow a condition."""
    found = conjuncts(condition)
    codes = [part for part in found if isinstance(part, Code)]
    if codes:
        return _coded(shop, codes, [part for part in found if not isinstance(part, Code)])
    points = [part for part in found if _is_point(part)]
    if points:
        rest = [part for part in found if part not in points]
        pairs = tuple(part for part in rest if isinstance(part, Pairs))
        if len(points) > 1 or len(pairs) < len(rest):
            raise shop.fault("one position and another condition on positions: use one of them")
        point = points[0]
        if isinstance(point, Point):
            return AtPoint(point.form, pairs)
        assert isinstance(point, Distance)
        assert point.low is not None
        return AtPoint(point.low, pairs)
    return _masked(shop, condition)


def _is_point(part: Condition) -> bool:
    if isinstance(part, Point):
        return True
    return isinstance(part, Distance) and part.low == part.high is not None and part.low != 0


def _coded(shop: Workshop, codes: list[Code], rest: list[Condition]) -> AtCode:
    """Codes side by side; pairs of classes become digits too, distances the mask."""
    keys = [literal for code in codes for literal in code.keys]
    queries = [literal for code in codes for literal in code.queries]
    low, high = None, None
    pairs = []
    for part in rest:
        match part:
            case Pairs():
                more = _pair_digits(shop, part)
                keys += more[0]
                queries += more[1]
                pairs.append(part)
            case Distance(a, b):
                low = a if low is None else low if a is None else max(a, low)
                high = b if high is None else high if b is None else min(b, high)
            case Everything(True):
                continue
            case _:
                raise shop.fault("an equality of counts goes only with equalities and masks")
    order = next((code.order for code in codes if code.order is not None), None)
    if shop.causal:
        high = 0 if high is None else min(0, high)
    masks: dict[tuple[int | None, int | None], Mask] = {
        (None, None): "none", (None, 0): "<=", (None, -1): "<", (0, None): ">=", (1, None): ">",
    }  # fmt: skip
    if (low, high) not in masks:
        raise shop.fault("no mask has this condition on positions: only j < i and so on")
    return AtCode(tuple(keys), tuple(queries), masks[low, high], order, tuple(pairs))


def _pair_digits(shop: Workshop, pairs: Pairs) -> tuple[list[Literal], list[Literal]]:
    """Numbers of the classes, in binary, the same on both sides."""
    for k, query in enumerate(pairs.queries):
        if not all(shop.exclude(query, other) for other in pairs.queries[:k]):
            raise shop.fault("an equality of counts with a predicate that is no equality")
    numbered = list(enumerate(zip(pairs.keys, pairs.queries, strict=True), start=1))
    count = len(numbered).bit_length()
    keys = [shop.either(k for n, (k, _) in numbered if n >> b & 1) for b in range(count)]
    queries = [shop.either(q for n, (_, q) in numbered if n >> b & 1) for b in range(count)]
    # Number 0 is no class: such keys are told apart by a digit of their own.
    keys += [shop.either(pairs.keys), TRUE]
    queries += [TRUE, shop.either(pairs.queries)]
    return keys, queries


# Masks


def _masked(shop: Workshop, condition: Condition) -> Masked:
    leaves = [leaf for leaf in _leaves(condition) if isinstance(leaf, Pairs)]
    classes = _key_classes(shop, list(dict.fromkeys(leaves)))
    together: dict[tuple[Where, bool], list[tuple[Literal, Literal]]] = {}
    for key, chosen, single in classes:
        cells = {cell: _query(shop, condition, chosen, cell) for cell in ("<", "=", ">")}
        if shop.causal:
            cells[">"] = FALSE
        for where, query in _masks(cells["<"], cells["="], cells[">"]):
            if query != FALSE:
                together.setdefault((where, single), []).append((key, query))
    parts = tuple(
        Part(where, tuple(k for k, _ in found), tuple(q for _, q in found), single)
        for (where, single), found in together.items()
    )
    return Masked(parts, _order(condition, parts))


def _order(condition: Condition, parts: tuple[Part, ...]) -> Order | None:
    """What equal widths of this selector say of two positions."""
    if isinstance(condition, Pairs | Some) and condition.order is not None:
        return condition.order
    match parts:
        case [Part("<" | ">", keys, queries, _)] if keys == queries:
            return Order(within=keys)  # numbers the positions of each class
    return None


def _leaves(condition: Condition) -> list[Condition]:
    match condition:
        case All(parts) | Some(parts):
            return [leaf for part in parts for leaf in _leaves(part)]
        case Opposite(inner):
            return _leaves(inner)
    return [condition]


def _key_classes(
    shop: Workshop, leaves: list[Pairs]
) -> list[tuple[Literal, dict[Pairs, int], bool]]:
    """(bit, which key of each leaf holds, at one position only) for all classes of keys."""
    classes: list[tuple[Literal, dict[Pairs, int], bool]] = [(TRUE, {}, False)]
    for leaf in leaves:
        rest = ~shop.either(leaf.keys)
        finer = []
        for bit, chosen, single in classes:
            for k, key in enumerate(leaf.keys):
                finer.append((shop.both(bit, key), {**chosen, leaf: k}, single or leaf.single))
            finer.append((shop.both(bit, rest), chosen, single))
        classes = [entry for entry in finer if entry[0] != FALSE]
        if len(classes) > MOST_KEYS:
            raise shop.fault(f"more than {MOST_KEYS} classes of keys")
    return classes


def _query(shop: Workshop, condition: Condition, chosen: dict[Pairs, int], cell: Cell) -> Literal:
    """Which queries select a class of keys in a cell."""
    match condition:
        case Everything(value):
            return TRUE if value else FALSE
        case Pairs():
            return condition.queries[chosen[condition]] if condition in chosen else FALSE
        case Distance(low, high):
            return TRUE if _inside(shop, low, high, cell) else FALSE
        case All(parts):
            return shop.both(*(_query(shop, part, chosen, cell) for part in parts))
        case Some(parts):
            return shop.either(_query(shop, part, chosen, cell) for part in parts)
        case Opposite(inner):
            return ~_query(shop, inner, chosen, cell)
        case _:
            raise shop.fault(
                "a position that depends on i, or an equality of counts, goes with other "
                "conditions only by `and`"
            )


def _inside(shop: Workshop, low: int | None, high: int | None, cell: Cell) -> bool:
    """Does the cell lie in low <= j - i <= high? It must not lie there in part."""
    ends: dict[Cell, tuple[int | None, int | None]] = {"<": (None, -1), "=": (0, 0), ">": (1, None)}
    first, last = ends[cell]
    above = low is None or (first is not None and first >= low)
    below = high is None or (last is not None and last <= high)
    if above and below:
        return True
    outside = (low is not None and last is not None and last < low) or (
        high is not None and first is not None and first > high
    )
    if outside:
        return False
    raise shop.fault(
        f"it selects distances from {low} to {high}: attention has masks for j < i, j <= i, "
        "j > i, j >= i and single shifts"
    )


def _masks(less: Literal, same: Literal, more: Literal) -> list[tuple[Where, Literal]]:
    """The queries of three cells as few masks."""
    if less == same == more:
        return [("none", less)]
    if less == same:
        return [("<=", less), (">", more)]
    if same == more:
        return [("<", less), (">=", more)]
    return [("<", less), ("=", same), (">", more)]


def _selector(shop: Workshop, part: Part) -> Selector:
    assert part.where != "="
    table = tuple((k, k) for k in range(len(part.keys)))
    return Selector(part.queries, part.keys, table, part.where, shop.longest)


# Widths


def width(shop: Workshop, condition: Condition) -> Known:
    """`SelectorWidth`."""
    looked = resolved(shop, condition)
    match looked:
        case AtPoint():
            there = _point_bit(shop, looked, TRUE)
            return shop.categories([(1, there), (0, ~there)], True)
        case AtCode():
            if not _is_single(looked):
                raise shop.fault("how many positions have my count: only masks can be counted")
            there = shop.draft.add(_at(shop, looked, TRUE), f"{shop.name}: found")
            return shop.categories([(1, there), (0, ~there)], True)
    return _masked_width(shop, looked)


def _masked_width(shop: Workshop, looked: Masked) -> Known:
    quantity = _number(shop, looked, [(1, TRUE)])
    if quantity is not None and quantity.affine is not None:
        return quantity
    itself = shop.either(
        shop.both(k, q)
        for part in looked.parts
        if part.where == "="
        for k, q in zip(part.keys, part.queries, strict=True)
    )
    parts = tuple(_selector(shop, part) for part in looked.parts if part.where != "=")
    if not parts:
        return shop.categories([(1, itself), (0, ~itself)], True)
    counts = tuple(range(shop.longest + 1))
    tables = [(~itself, counts), (itself, tuple(w + 1 for w in counts))]
    kept = tuple(entry for entry in tables if entry[0] != FALSE)
    return Counted(parts, kept, quantity, looked.order)


_RANGES: dict[Where, Range] = {
    "none": "total", "<=": "past", "<": "past", ">=": "future", ">": "future"
}  # fmt: skip


def _number(
    shop: Workshop, looked: Masked, weights: list[tuple[Value, Literal]]
) -> Quantity | None:
    """Σ weight·#(key and bit) over the selected positions, for each (weight, bit), by cases of the
    queries. None if there are too many cases."""
    by_query: dict[Literal, Form] = {}
    for part in looked.parts:
        for key, query in zip(part.keys, part.queries, strict=True):
            for weight, bit in weights:
                counted = shop.both(key, bit)
                if counted == FALSE:
                    continue
                if part.where == "=":
                    when, more = shop.both(query, counted), Form.of_constant(1)
                else:
                    when, more = query, _count(shop, part.where, counted)
                sofar = by_query.get(when, Form.of_constant(0))
                by_query[when] = sofar.plus(more, exact(weight))
    cases: list[tuple[Literal, Form]] = [(TRUE, Form.of_constant(0))]
    for query, more in by_query.items():
        finer = [(shop.both(when, query), form.plus(more)) for when, form in cases]
        finer += [(shop.both(when, ~query), form) for when, form in cases]
        cases = _merged(shop, finer)
        if len(cases) > MOST_CASES:
            return None
    return Quantity(tuple(Case(when, form) for when, form in cases))


def _count(shop: Workshop, where: Where, key: Literal) -> Form:
    """#(key) over a mask; j < i is j <= i of the position before."""
    over = _RANGES[where]
    if where not in ("<", ">"):
        return Form.of_count(key, over)
    if key == TRUE:
        return Form.of_count(TRUE, over).plus(Form.of_constant(1), -1)
    direction: Choice["past", "future"] = "past" if where == "<" else "future"
    moved = shop.draft.add(Previous(key, direction), f"{shop.draft_label(key)} one further")
    return Form.of_count(moved, over)


def _merged(shop: Workshop, cases: list[tuple[Literal, Form]]) -> list[tuple[Literal, Form]]:
    together: dict[object, tuple[Form, list[Literal]]] = {}
    for when, form in cases:
        if when != FALSE:
            together.setdefault(form.key, (form, []))[1].append(when)
    return [(shop.either(whens), form) for form, whens in together.values()]


# Aggregates


def aggregate(shop: Workshop, condition: Condition, values: Known, default: Value) -> Known:
    """`Aggregate`: exact where the selected positions agree, else a mean of numbers."""
    looked = resolved(shop, condition)
    few = to_categories(shop, values, MOST_FETCHED)
    match looked:
        case AtPoint():
            return _fetched(shop, lambda bit: _point_bit(shop, looked, bit), few, default)
        case AtCode():
            if not _agree_by_code(shop, looked, few):
                raise Disagreement
            return _fetched(
                shop,
                lambda bit: shop.draft.add(_at(shop, looked, bit), f"{shop.name}: read"),
                few,
                default,
            )
    if _agree(shop, looked, few):
        return _fetched(shop, lambda bit: _matched(shop, looked, bit), few, default)
    if few.total and all(map(is_number, few.values)):
        return _mean(shop, looked, few, default)
    raise Disagreement


class Disagreement(Exception):  # noqa: N818  # answered with an example, not shown to users
    """Categories are to be read at positions that need not agree on them."""


def _fetched(
    shop: Workshop, read: Callable[[Literal], Literal], values: Categories, default: Value
) -> Categories:
    """Every bit of a category read at another position; one head has them all."""
    if len(values.values) > MOST_FETCHED:
        raise shop.fault(f"{len(values.values):,} values to be read; {MOST_FETCHED:,} are the most")
    pairs = [(value, read(bit)) for value, bit in zip(values.values, values.bits, strict=True)]
    if default is None:
        return shop.categories(pairs, False)
    there = read(TRUE)
    return shop.categories([*pairs, (default, ~there)], values.total)


def _point_bit(shop: Workshop, looked: AtPoint, bit: Literal) -> Literal:
    """A bit at one position, 0 where there is no such position or a condition fails."""
    conditions = []
    for pairs in looked.pairs:
        held = [
            shop.both(query, _read_point(shop, looked.place, key))
            for key, query in zip(pairs.keys, pairs.queries, strict=True)
        ]
        conditions.append(shop.either(held))
    return shop.both(_read_point(shop, looked.place, bit), *conditions)


def _read_point(shop: Workshop, place: int | Form, bit: Literal) -> Literal:
    if bit == FALSE:
        return FALSE
    if isinstance(place, Form):
        return _read_affine(shop, place, bit)
    if place > 0 and shop.causal:
        return FALSE
    if bit == TRUE:  # there is such a position
        form = Form({}, position=_ONE, constant=_ONE * (place - 1))
        if place > 0:
            form = Form({}, -_ONE, _ONE, -_ONE * place)
        return shop.at_least(form, f"{shop.name}: there is position i{place:+d}")
    direction: Choice["past", "future"] = "past" if place < 0 else "future"
    label = f"{shop.name}: {shop.draft_label(bit)} at i{place:+d}"
    if abs(place) == 1:
        return shop.draft.add(Previous(bit, direction), label)
    return shop.draft.add(Shift(bit, abs(place), direction), label)


def _read_affine(shop: Workshop, place: Form, bit: Literal) -> Literal:
    """At the position that is an affine number of i and n, by its binary digits."""
    low, high = place.bounds(shop.longest)
    count = max(int(high), int(-low), shop.longest).bit_length()
    here = Form({}, position=_ONE)
    keys = tuple(shop.position_digit(here, b) for b in range(count))
    queries = tuple(shop.position_digit(place, b) for b in range(count))
    mask: Mask = "<=" if shop.causal else "none"
    return shop.draft.add(
        At(queries, keys, bit, mask, shop.longest), f"{shop.name}: read at another position"
    )


def _at(shop: Workshop, looked: AtCode, bit: Literal) -> At:
    return At(looked.queries, looked.keys, bit, looked.mask, shop.longest)


def _is_single(looked: AtCode) -> bool:
    order = looked.order
    if order is None or order.classes:
        return False
    numbered = set(order.within)
    return not numbered or any(numbered.issuperset(pairs.keys) for pairs in looked.pairs)


def _agree_by_code(shop: Workshop, looked: AtCode, values: Categories) -> bool:
    if _is_single(looked):
        return True
    if looked.order is None or not looked.order.classes:
        return False
    return all(
        sum(not shop.exclude(one, bit) for bit in values.bits) <= 1 for one in looked.order.classes
    )


def _matched(shop: Workshop, looked: Masked, bit: Literal) -> Literal:
    """A bit at the selected positions, which agree on it; 0 where none is selected."""
    found = []
    for part in looked.parts:
        if part.where == "=":
            found += [shop.both(k, q, bit) for k, q in zip(part.keys, part.queries, strict=True)]
            continue
        if bit == TRUE and _always(part):
            return TRUE
        head = Match(_selector(shop, part), bit)
        found.append(shop.draft.add(head, f"{shop.name}: {shop.draft_label(bit)} matched"))
    return shop.either(found)


def _always(part: Part) -> bool:
    """Does every position select itself at least?"""
    return part.where in ("none", "<=", ">=") and any(
        k == TRUE == q for k, q in zip(part.keys, part.queries, strict=True)
    )


def _agree(shop: Workshop, looked: Masked, values: Categories) -> bool:
    """Must all positions that one query selects have the same value?"""
    if all(part.where == "=" for part in looked.parts):
        return True
    if len(looked.parts) == 1 and looked.parts[0].single and len(looked.parts[0].keys) == 1:
        return True
    asked = []
    for bit in values.bits:
        queries = [
            q
            for part in looked.parts
            for k, q in zip(part.keys, part.queries, strict=True)
            if not shop.exclude(k, bit)
        ]
        asked.append(shop.either(queries))
    return all(shop.exclude(one, other) for k, one in enumerate(asked) for other in asked[:k])


def _mean(shop: Workshop, looked: Masked, values: Categories, default: Value) -> Known:
    """S/W with the sum S and the number W of what is selected; the default where W = 0."""
    weights = list(zip(values.values, values.bits, strict=True))
    sums = _number(shop, looked, [(v, b) for v, b in weights if v])
    counts = _number(shop, looked, [(1, TRUE)])
    if sums is None or counts is None:
        raise shop.fault(f"a mean with more than {MOST_CASES} cases")
    if default is not None and not is_number(default):
        raise shop.fault(f"the default {default!r} of a mean is no number")
    cases = []
    for one in sums.cases:
        for other in counts.cases:
            when = shop.both(one.when, other.when)
            if when == FALSE:
                continue
            some = shop.at_least(other.above.plus(Form.of_constant(-1)), f"{shop.name}: some")
            if other.above.is_constant and other.above.constant == 0:
                some = FALSE
            if (found := shop.both(when, some)) != FALSE:
                cases.append(Case(found, one.above, other.above))
            if default is not None and (none := shop.both(when, ~some)) != FALSE:
                cases.append(Case(none, Form.of_constant(exact(default))))
    return Quantity(tuple(cases))
