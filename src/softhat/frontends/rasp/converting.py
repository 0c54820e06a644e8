"""What is known of an s-op (`values`), in another form: as a number by cases, or by categories.

`quantity_of` is for arithmetic, `to_categories` for tables and selectors: a bit for each value. A
form that would need too many cases or values is refused, with what to do instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial

from softhat.frontends.rasp.number_functions import (
    affine_values,
    changing,
    fitted_line,
    plain,
    positions_of,
)
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.position_functions import categories_at
from softhat.frontends.rasp.values import (
    Categories,
    Counted,
    CountForm,
    Joint,
    Known,
    Placed,
    Quantity,
    QuotientCase,
    exact,
    is_number,
    tagged,
)
from softhat.frontends.rasp.workshop import MOST_CASES, MOST_ENTRIES, Workshop
from softhat.program.literals import FALSE, TRUE, Literal


def case_pairs(
    shop: Workshop, x: Quantity, y: Quantity
) -> Iterator[tuple[Literal, QuotientCase, QuotientCase]]:
    """The cases of two numbers, and when they hold together; never those that cannot."""
    for one in x.cases:
        for other in y.cases:
            if (when := shop.both(one.when, other.when)) != FALSE:
                yield when, one, other


def quantity_of(shop: Workshop, known: Known) -> Quantity:
    """A number by cases of counts."""
    match known:
        case Quantity():
            return known
        case Counted() if known.quantity is not None:
            return known.quantity
        case Categories() if all(map(is_number, known.values)):
            return Quantity(
                tuple(
                    QuotientCase(bit, CountForm.of_constant(exact(value)))
                    for value, bit in zip(known.values, known.bits, strict=True)
                )
            )
        case Counted() | Joint() | Placed():
            few = to_categories(shop, known)
            if len(few.values) > MOST_CASES:
                raise shop.fault(
                    f"a number with {len(few.values):,} values, and {MOST_CASES} cases are the "
                    "most: map it to fewer values, or compile to a shorter max_length"
                )
            return quantity_of(shop, few)
    other = next(value for value in known.values if not is_number(value))
    raise shop.fault(f"a number is needed here, and it may be {other!r}")


def to_categories(shop: Workshop, known: Known, most: int = MOST_ENTRIES) -> Categories:
    """One bit for each value."""
    match known:
        case Categories():
            return known
        case Counted():
            values = {tag: v for tag, v in known.values.items() if v is not None}
            if len(values) > most:
                raise shop.fault(
                    f"{len(values):,} values of a count; {most:,} are the most: map it to "
                    "fewer values, or compile to a shorter max_length"
                )
            pairs = [
                (value, shop.where(known, partial(_is_among, frozenset([tag]))))
                for tag, value in values.items()
            ]
            whole = all(v is not None for _, table in known.tables for v in table)
            total = whole and shop.either(when for when, _ in known.tables) == TRUE
            return shop.categories(pairs, total)
        case Quantity():
            if (form := known.affine) is not None:
                return positions_of(shop, form, lambda value: value)
            pairs = [p for case in known.cases for p in changing(shop, lambda v: v, case)]
            return shop.categories(pairs, always_defined(shop, known))
        case Placed():
            return categories_at(shop, known)
        case Joint():
            return union(
                shop,
                [
                    (bit, positions_of(shop, known.place, partial(known.f, values[0])))
                    for bit, values in alike(shop, known)
                ],
            )


def union(shop: Workshop, guarded: list[tuple[Literal, Known]]) -> Categories:
    """The categories that are there where the bit beside them holds; no two bits hold at once."""
    pairs: list[tuple[Value, Literal]] = []
    total = shop.either(bit for bit, _ in guarded) == TRUE
    for bit, known in guarded:
        assert isinstance(known, Categories)
        total = total and known.total
        for value, other in zip(known.values, known.bits, strict=True):
            pairs.append((value, shop.both(bit, other)))
    return shop.categories(pairs, total)


def alike(shop: Workshop, known: Joint) -> list[tuple[Literal, list[Value]]]:
    """The values of the category in groups, on each of which the function is the same at every
    place; and for each group the bit that says that the value is one of it."""
    places = [plain(value) for value in affine_values(shop, known.place)]
    base = known.base
    known_values = base.values.values() if isinstance(base, Counted) else base.values
    values = [value for value in known_values if value is not None]
    together: dict[Hashable, list[Value]] = {}
    for value in values:
        results = tuple(tagged(shop.apply(known.f, value, place)) for place in places)
        together.setdefault(results, []).append(value)
    if isinstance(base, Categories):
        bits = {tagged(v): b for v, b in zip(base.values, base.bits, strict=True)}
        return [(shop.either(bits[tagged(v)] for v in group), group) for group in together.values()]
    return [
        (shop.where(base, partial(_is_among, frozenset(map(tagged, group)))), group)
        for group in together.values()
    ]


def _is_among(tags: frozenset[Hashable], value: Value) -> bool:
    return tagged(value) in tags


def line_of(shop: Workshop, known: Joint) -> Quantity | None:
    """A function of a category and the position that is a line for each category."""
    base = to_categories(shop, known.base)
    cases = []
    for value, bit in zip(base.values, base.bits, strict=True):
        fitted = fitted_line(shop, partial(known.f, value), known.place)
        if fitted is None:
            return None
        cases += [case.where(shop.both(bit, case.when)) for case in fitted.cases]
    return Quantity(tuple(cases))


def always_defined(shop: Workshop, x: Quantity) -> bool:
    """Does one of the cases hold at every position?"""
    return shop.either(case.when for case in x.cases) == TRUE
