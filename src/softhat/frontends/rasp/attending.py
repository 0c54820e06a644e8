"""`SelectorWidth` and `Aggregate`: what attention reads through a condition.

A width is one head a mask; a mean is a ratio of counts; a category is read exactly where all
selected positions must agree on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Literal as Choice

from softhat.frontends.rasp.conditions import Condition
from softhat.frontends.rasp.converting import case_pairs, to_categories
from softhat.frontends.rasp.distance_windows import (
    anchored,
    average_of,
    count_within,
    matched_within,
    seen_in,
    tabled,
)
from softhat.frontends.rasp.one_by_one import MOST_POSITIONS, one_by_one
from softhat.frontends.rasp.one_position import coded, is_always_there, point_bit
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.resolving import (
    AtCode,
    AtPoint,
    DistanceWindow,
    Masked,
    Part,
    Where,
    resolved,
    selector_of,
    without_codes,
)
from softhat.frontends.rasp.values import (
    Categories,
    Counted,
    CountForm,
    Known,
    Quantity,
    QuotientCase,
    SelectedMean,
    exact,
    is_number,
)
from softhat.frontends.rasp.workshop import MOST_CASES, Workshop
from softhat.program.heads import At, Match, Previous, Range
from softhat.program.literals import FALSE, TRUE, Literal

MOST_FETCHED = 1_024
"""Values that can be read at another position."""
PRECISE = 1 << 20
"""Means may be outputs: attention to them is as sharp as for words of this length, so that what
leaks away is below the rounding of float32."""

# Widths


def width(shop: Workshop, condition: Condition) -> Known:
    """`SelectorWidth`."""
    looked = resolved(shop, condition)
    match looked:
        case AtPoint():
            there = point_bit(shop, looked, TRUE)
            return shop.categories([(1, there), (0, ~there)], True)
        case AtCode():
            if not _is_single(looked):
                plainer = without_codes(condition)
                if plainer == condition and shop.longest <= MOST_POSITIONS:
                    plainer = one_by_one(shop, condition)
                if plainer == condition:
                    raise shop.fault(
                        "how many positions have my count: masks are counted, and codes in "
                        f"sequences up to {MOST_POSITIONS}"
                    )
                return width(shop, plainer)
            there = shop.draft.add(_at(shop, looked, TRUE), f"{shop.name}: found")
            return shop.categories([(1, there), (0, ~there)], True)
    return _masked_width(shop, looked)


def _masked_width(shop: Workshop, looked: Masked) -> Known:
    if (seen := seen_in(shop, looked, [(1, TRUE)])) is not None:
        return tabled(shop, seen, sum)
    quantity = _number(shop, looked, [(1, TRUE)])
    if quantity is not None and quantity.affine is not None:
        return quantity
    if any(isinstance(part.where, DistanceWindow) for part in looked.parts):
        if quantity is None:
            raise shop.fault(f"a width with more than {MOST_CASES} cases: select by fewer classes")
        return quantity
    itself = shop.either(
        shop.both(k, q) for part in looked.parts if part.where == "=" for k, q in part.pairs
    )
    parts = tuple(selector_of(shop, part) for part in looked.parts if part.where != "=")
    if not parts:
        return shop.categories([(1, itself), (0, ~itself)], True)
    counts = tuple(range(shop.longest + 1))
    if _always_itself(shop, looked):
        counts = (1, *counts[1:])  # none is never selected, so that any number may stand there
    tables = [(~itself, counts), (itself, tuple(w + 1 for w in counts))]
    possible = tuple(entry for entry in tables if entry[0] != FALSE)
    return Counted(parts, possible, quantity, looked.order)


def _always_itself(shop: Workshop, looked: Masked) -> bool:
    """Is every position one of those that it selects, by a mask?"""
    chosen = [
        shop.both(k, q)
        for part in looked.parts
        if part.where in ("none", "<=", ">=")
        for k, q in part.pairs
    ]
    return shop.either(chosen) == TRUE


_RANGES: dict[Where, Range] = {
    "none": "total", "<=": "past", "<": "past", ">=": "future", ">": "future"
}  # fmt: skip


def _number(
    shop: Workshop, looked: Masked, weights: list[tuple[Value, Literal]]
) -> Quantity | None:
    """Σ weight·#(key and bit) over the selected positions, for each (weight, bit), by cases of the
    queries. None if there are too many cases."""
    by_query: dict[Literal, CountForm] = {}
    for part in looked.parts:
        for key, query in part.pairs:
            for weight, bit in weights:
                counted = shop.both(key, bit)
                if counted == FALSE:
                    continue
                if part.where == "=":
                    when, more = shop.both(query, counted), CountForm.of_constant(1)
                else:
                    when, more = query, _count(shop, part.where, counted)
                sofar = by_query.get(when, CountForm.of_constant(0))
                by_query[when] = sofar.plus(more, exact(weight))
    cases: list[tuple[Literal, CountForm]] = [(TRUE, CountForm.of_constant(0))]
    for query, more in by_query.items():
        finer = [(shop.both(when, query), form.plus(more)) for when, form in cases]
        finer += [(shop.both(when, ~query), form) for when, form in cases]
        cases = _merged(shop, finer)
        if len(cases) > MOST_CASES:
            return None
    return Quantity(tuple(QuotientCase(when, form) for when, form in cases))


def _count(shop: Workshop, where: Where, key: Literal) -> CountForm:
    """#(key) over a mask; j < i is j <= i of the position before."""
    if isinstance(where, DistanceWindow):
        return count_within(shop, where, key)
    over = _RANGES[where]
    if where not in ("<", ">"):
        return CountForm.of_count(key, over)
    if key == TRUE:
        return CountForm.of_count(TRUE, over).plus(CountForm.of_constant(1), -1)
    direction: Choice["past", "future"] = "past" if where == "<" else "future"
    moved = shop.draft.add(Previous(key, direction), f"{shop.draft_label(key)} one further")
    return CountForm.of_count(moved, over)


def _merged(
    shop: Workshop, cases: list[tuple[Literal, CountForm]]
) -> list[tuple[Literal, CountForm]]:
    together: dict[object, tuple[CountForm, list[Literal]]] = {}
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
            there = is_always_there(shop, looked)
            return _fetched(shop, lambda bit: point_bit(shop, looked, bit), few, default, there)
        case AtCode():
            if not _agree_by_code(shop, looked, few):
                plainer = without_codes(condition)
                if plainer == condition:
                    raise DisagreementError
                return aggregate(shop, plainer, values, default)
            return _fetched(
                shop,
                lambda bit: shop.draft.add(_at(shop, looked, bit), f"{shop.name}: read"),
                few,
                default,
            )
    if _agree(shop, looked, few):
        if not few.total and not _agree(shop, looked, few, undefined=True):
            shop.doubts.append("a value and None would have to be averaged, which raises")
        return _fetched(shop, lambda bit: _matched(shop, looked, bit), few, default)
    defined = few.total or _never_undefined(shop, looked, few)
    if defined and all(map(is_number, few.values)):
        seen = seen_in(shop, looked, list(zip(few.values, few.bits, strict=True)))
        if seen is not None:
            return tabled(shop, seen, lambda values: average_of(values, default))
        return _mean(shop, looked, few, default)
    raise DisagreementError


def _never_undefined(shop: Workshop, looked: Masked, values: Categories) -> bool:
    """Is no position selected that has no value?"""
    nothing = ~shop.either(values.bits)
    return all(shop.exclude(key, nothing) for part in looked.parts for key in part.keys)


class DisagreementError(Exception):
    """Categories are to be read at positions that need not agree on them: answered with an example,
    not shown to users."""


def _fetched(
    shop: Workshop,
    read: Callable[[Literal], Literal],
    values: Categories,
    default: Value,
    always: bool = False,
) -> Categories:
    """Every bit of a category read at another position; one head has them all."""
    if len(values.values) > MOST_FETCHED:
        raise shop.fault(
            f"{len(values.values):,} values to be read; {MOST_FETCHED:,} are the most: map them to "
            "fewer before they are read"
        )
    pairs = [(value, read(bit)) for value, bit in zip(values.values, values.bits, strict=True)]
    if always or default is None:
        return shop.categories(pairs, always and values.total)
    there = read(TRUE)
    return shop.categories([*pairs, (default, ~there)], values.total)


def _at(shop: Workshop, looked: AtCode, bit: Literal) -> At:
    return coded(shop, looked.queries, looked.keys, bit, looked.mask)


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
    matches = []
    for part in looked.parts:
        if part.where == "=":
            matches += [shop.both(k, q, bit) for k, q in part.pairs]
            continue
        if isinstance(part.where, DistanceWindow):
            matches += matched_within(shop, part, part.where, bit)
            continue
        if bit == TRUE and _always(part):
            return TRUE
        head = Match(selector_of(shop, part), bit)
        matches.append(shop.draft.add(head, f"{shop.name}: {shop.draft_label(bit)} matched"))
    return shop.either(matches)


def _always(part: Part) -> bool:
    """Does every position select itself at least?"""
    return part.where in ("none", "<=", ">=") and any(k == TRUE == q for k, q in part.pairs)


def _agree(shop: Workshop, looked: Masked, values: Categories, undefined: bool = False) -> bool:
    """Must all positions that one query selects have the same value? With `undefined`, None is
    one."""
    if all(part.where == "=" for part in looked.parts):
        return True
    if len(looked.parts) == 1 and looked.parts[0].single and len(looked.parts[0].keys) == 1:
        return True
    asked = []
    nothing = [~shop.either(values.bits)] if undefined else []
    for bit in (*values.bits, *nothing):
        queries = [q for part in looked.parts for k, q in part.pairs if not shop.exclude(k, bit)]
        asked.append(shop.either(queries))
    return all(shop.exclude(one, other) for k, one in enumerate(asked) for other in asked[:k])


def _mean(shop: Workshop, looked: Masked, values: Categories, default: Value) -> Known:
    """S/W with the sum S and the number W of what is selected; the default where W = 0."""
    weights = list(zip(values.values, values.bits, strict=True))
    sums = _number(shop, looked, [(v, b) for v, b in weights if v])
    counts = _number(shop, looked, [(1, TRUE)])
    if sums is None or counts is None:
        raise shop.fault(
            f"a mean with more than {MOST_CASES} cases: select by tokens or by order of positions"
        )
    if default is not None and not is_number(default):
        raise shop.fault(f"the default {default!r} of a mean is no number")
    mean = _one_head(shop, looked, values)
    cases = []
    for when, one, other in case_pairs(shop, sums, counts):
        some = shop.at_least(other.above.plus(CountForm.of_constant(-1)), f"{shop.name}: some")
        if other.above.is_constant and other.above.constant == 0:
            some = FALSE
        if (case := shop.both(when, some)) != FALSE:
            cases.append(QuotientCase(case, one.above, other.above, mean))
        if default is not None and (none := shop.both(when, ~some)) != FALSE:
            cases.append(QuotientCase(none, CountForm.of_constant(exact(default))))
    return Quantity(tuple(cases))


def _one_head(shop: Workshop, looked: Masked, values: Categories) -> SelectedMean | None:
    """The mean as one head returns it, if one mask is enough."""
    if len(looked.parts) != 1 or looked.parts[0].where == "=":
        return None
    (part,) = looked.parts
    if isinstance(part.where, DistanceWindow):
        if part.where.distances is not None:
            return None
        part, move = anchored(shop, part, part.where)
        values = replace(values, bits=tuple(map(move, values.bits)))
    terms: dict[int, Fraction] = {}
    for value, bit in zip(values.values, values.bits, strict=True):
        weight = exact(value)
        terms[bit.signal] = terms.get(bit.signal, Fraction(0)) + (
            weight if bit.positive else -weight
        )
        if not bit.positive:
            terms[-1] = terms.get(-1, Fraction(0)) + weight
    nonzero = {signal: a for signal, a in terms.items() if a}
    return SelectedMean(
        replace(selector_of(shop, part), longest=max(PRECISE, shop.longest)), nonzero
    )
