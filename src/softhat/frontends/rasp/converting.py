"""From one kind of knowledge about an s-op to another.

A function of a number is one comparison for each place where it changes its value, found by
trying it on every value that the number can have: S/W >= p/q is q·S - p·W >= 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import partial
from itertools import pairwise

from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.values import (
    Case,
    Categories,
    Counted,
    Form,
    Joint,
    Known,
    Quantity,
    exact,
    is_number,
    tagged,
)
from softhat.frontends.rasp.workshop import (
    MOST_CASES,
    MOST_CHANGES,
    MOST_ENTRIES,
    Workshop,
)
from softhat.program.literals import TRUE, Literal

MOST_RATIOS = 4_000_000
"""Values of a ratio on which a function is tried."""


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
                    Case(bit, Form.of_constant(exact(value)))
                    for value, bit in zip(known.values, known.bits, strict=True)
                )
            )
        case Counted() | Joint():
            few = to_categories(shop, known)
            if all(map(is_number, few.values)) and len(few.values) <= MOST_CASES:
                return quantity_of(shop, few)
    raise shop.fault("a number is needed here, but it has other values or too many cases")


def to_categories(shop: Workshop, known: Known, most: int = MOST_ENTRIES) -> Categories:
    """One bit for each value."""
    match known:
        case Categories():
            return known
        case Counted():
            values = {tagged(v): v for _, table in known.tables for v in table if v is not None}
            if len(values) > most:
                raise shop.fault(
                    f"{len(values):,} values of a count; {most:,} are the most: map it to "
                    "fewer values, or compile to a shorter max_length"
                )

            def equal(tag: Hashable, value: Value) -> bool:
                return bool(tagged(value) == tag)

            pairs = [
                (value, shop.where(known, partial(equal, tag))) for tag, value in values.items()
            ]
            whole = all(v is not None for _, table in known.tables for v in table)
            total = whole and shop.either(when for when, _ in known.tables) == TRUE
            return shop.categories(pairs, total)
        case Quantity():
            if (form := known.affine) is not None:
                return positions_of(shop, form, lambda value: value)
            pairs = [p for case in known.cases for p in changing(shop, lambda v: v, case)]
            return shop.categories(pairs, always_defined(shop, known))
        case Joint():
            base = to_categories(shop, known.base)
            found: list[tuple[Literal, Known]] = []
            for value, bit in zip(base.values, base.bits, strict=True):
                found.append((bit, positions_of(shop, known.place, partial(known.f, value))))
            return union(shop, found)


def union(shop: Workshop, found: list[tuple[Literal, Known]]) -> Categories:
    pairs: list[tuple[Value, Literal]] = []
    total = shop.either(bit for bit, _ in found) == TRUE
    for bit, known in found:
        assert isinstance(known, Categories)
        total = total and known.total
        for value, other in zip(known.values, known.bits, strict=True):
            pairs.append((value, shop.both(bit, other)))
    return shop.categories(pairs, total)


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


def positions_of(shop: Workshop, form: Form, f: Callable[[Value], Value]) -> Categories:
    """A function of an affine number, by the number's binary digits where it changes often."""
    values = affine_values(shop, form)
    results = [shop.apply(f, plain(value)) for value in values]
    changes = sum(tagged(a) != tagged(b) for a, b in pairwise(results))
    if changes <= MOST_CHANGES:
        case = Case(TRUE, form)
        known = dict(zip(map(plain, values), results, strict=True))
        return shop.categories(changing(shop, known.__getitem__, case), True)
    scale = form.scale
    least = values[0]
    shifted = form.plus(Form.of_constant(-least)).times(scale)
    count = int((values[-1] - least) * scale).bit_length()
    if len(values) * count > MOST_ENTRIES:
        raise shop.fault(f"a table of {len(values):,} positions is too large")
    digits = [shop.position_digit(shifted, bit) for bit in range(count)]
    pairs = []
    for value, result in zip(values, results, strict=True):
        code = int((value - least) * scale)
        bits = [digit if code >> k & 1 else ~digit for k, digit in enumerate(digits)]
        pairs.append((result, shop.both(*bits)))
    return shop.categories(pairs, all(result is not None for result in results))


def affine_values(shop: Workshop, form: Form) -> list[Fraction]:
    """The values of a number that depends on position and length alone, in order."""
    lengths = range(1, shop.longest + 1)
    if not form.length:
        return sorted({form.position * i + form.constant for i in lengths})
    if not form.position:
        return sorted({form.length * n + form.constant for n in lengths})
    return sorted(
        {
            form.position * i + form.length * n + form.constant
            for n in lengths
            for i in range(1, n + 1)
        }
    )


def plain(value: Fraction) -> int | float:
    """A number as Python's programs have it."""
    return int(value) if value.denominator == 1 else float(value)


def fitted_line(shop: Workshop, f: Callable[[Value], Value], form: Form) -> Quantity | None:
    """A function of position and length that is a line, by trying it everywhere."""
    values = affine_values(shop, form)
    try:
        results = [f(plain(value)) for value in values]
    except Exception:  # tried again, and reported, value by value
        return None
    if not all(is_number(y) and not isinstance(y, bool) for y in results):
        return None
    first, last = exact(results[0]), exact(results[-1])
    slope = (last - first) / (values[-1] - values[0]) if len(values) > 1 else Fraction(0)
    if not slope or any(
        exact(y) != first + slope * (x - values[0]) for x, y in zip(values, results, strict=True)
    ):
        return None
    return shop.number(form.times(slope).plus(Form.of_constant(first - slope * values[0])))


def always_defined(shop: Workshop, x: Quantity) -> bool:
    return shop.either(case.when for case in x.cases) == TRUE


def changing(
    shop: Workshop, f: Callable[[Value], Value], case: Case
) -> list[tuple[Value, Literal]]:
    """The values of f on a number, each with the bit that says so: one comparison a change."""
    found: list[tuple[Fraction, Value]] = []
    fine = 0
    trouble: Exception | None = None
    for value in _reachable(shop, case):
        try:
            result = f(plain(value))
        except Exception as error:  # perhaps on a value that never occurs
            trouble = error
            continue
        fine += 1
        if not found or tagged(found[-1][1]) != tagged(result):
            found.append((value, result))
            if len(found) > MOST_CHANGES + 1:
                raise shop.fault(
                    f"its function changes its value more than {MOST_CHANGES} times on a "
                    f"{'mean' if case.is_ratio else 'number made of counts'}: compare it with "
                    "constants, or map it after making it categorical"
                )
    if not fine and trouble is not None:
        raise shop.fault(f"its function raises {type(trouble).__name__} everywhere: {trouble}")
    bounds = [shop.case_at_least(case, start) for start, _ in found[1:]]
    pairs = []
    for k, (_, result) in enumerate(found):
        above = TRUE if k == 0 else bounds[k - 1]
        below = TRUE if k == len(found) - 1 else ~bounds[k]
        pairs.append((result, shop.both(case.when, above, below)))
    return pairs


def _reachable(shop: Workshop, case: Case) -> Iterable[Fraction]:
    """The values a number may have, in order (and perhaps a few that it never has)."""
    if not case.is_ratio:
        form = case.above.times(1 / case.below.constant)
        if form.is_affine:
            return affine_values(shop, form)
        low, high = form.bounds(shop.longest)
        scale = form.scale
        return (Fraction(s, scale) for s in range(int(low * scale), int(high * scale) + 1))
    # Numerator and denominator count positions of the same selection, so the ratio is between
    # the least and the greatest value that a position adds.
    scale = case.above.scale
    added = [*case.above.counts.values(), case.above.position, case.above.length, Fraction(0)]
    low = sum((a for a in added if a < 0), Fraction(0))
    high = sum((a for a in added if a > 0), Fraction(0))
    most = shop.longest
    if (high - low) * scale * most * most / 2 > MOST_RATIOS:
        raise shop.fault(
            f"its function would have to be tried on over {MOST_RATIOS:,} means; compare the mean "
            "with constants instead, or choose a smaller max_length"
        )
    return sorted(
        {
            Fraction(s, w * scale)
            for w in range(1, most + 1)
            for s in range(int(low * scale * w), int(high * scale * w) + 1)
        }
    )
