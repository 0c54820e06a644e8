"""Maps of s-ops: by table on categories and counts, by their operator on numbers.

A function is tried on every value that can occur. On numbers that are sums or means of counts it
must change its value at few places (or be an operator that is linear); then each place is one
exact comparison: S/W >= p/q is q·S - p·W >= 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise

from softhat.frontends.rasp.operations import Between, Linear, Negate, Value, With
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
from softhat.program.literals import FALSE, TRUE, Literal

MOST_RATIOS = 4_000_000
"""Values of a ratio on which a function is tried."""
COMPARISONS = ("<", "<=", "==", "!=", ">=", ">")


def mapped(shop: Workshop, f: Callable[[Value], Value], x: Known) -> Known:
    """`Map(f, x)`."""
    match x:
        case Categories():
            pairs = [(shop.apply(f, v), b) for v, b in zip(x.values, x.bits, strict=True)]
            return shop.categories(pairs, x.total)
        case Counted():
            return _mapped_count(shop, f, x)
        case Joint():
            inner = x.f
            return Joint(lambda value, place: f(inner(value, place)), x.base, x.place)
        case Quantity():
            return _mapped_quantity(shop, f, x)


def _mapped_count(shop: Workshop, f: Callable[[Value], Value], x: Counted) -> Known:
    tables = tuple(
        (when, tuple(None if v is None else shop.apply(f, v) for v in table))
        for when, table in x.tables
    )
    quantity = x.quantity and _linear(f, x.quantity)
    order = x.order if isinstance(f, With) and f.sign in ("+", "-", "*") and f.constant else None
    made = Counted(x.parts, tables, quantity, order)
    return smallest(shop, made)


def smallest(shop: Workshop, known: Counted) -> Known:
    """Categories, where a count has only a few values left."""
    values = {tagged(value) for _, table in known.tables for value in table}
    return to_categories(shop, known) if len(values) <= 2 else known


def _linear(f: Callable[[Value], Value], x: Quantity) -> Quantity | None:
    """x + c, c - x, c·x, x/c as numbers; None for other functions."""
    if not isinstance(f, With) or not is_number(f.constant):
        return None
    c = exact(f.constant)
    match f.sign, f.constant_first:
        case "+", _:
            return _each(x, lambda case: case.above.plus(case.below, c))
        case "-", False:
            return _each(x, lambda case: case.above.plus(case.below, -c))
        case "-", True:
            return _each(x, lambda case: case.below.times(c).plus(case.above, -1))
        case "*", _:
            return _each(x, lambda case: case.above.times(c))
        case "/", False if c:
            return _each(x, lambda case: case.above.times(1 / c))
    return None


def _each(x: Quantity, above: Callable[[Case], Form]) -> Quantity:
    return Quantity(tuple(Case(case.when, above(case), case.below) for case in x.cases))


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def _mapped_quantity(shop: Workshop, f: Callable[[Value], Value], x: Quantity) -> Known:
    if (linear := _linear(f, x)) is not None:
        return linear
    if isinstance(f, Negate):
        f = With("==", 0)
    if isinstance(f, With) and f.sign in COMPARISONS and is_number(f.constant):
        sign = _TURNED[f.sign] if f.constant_first else f.sign
        return _answers(shop, x, lambda case: shop.compared(case, sign, f.constant))
    if (form := x.affine) is not None and (fitted := _fitted(shop, f, form)) is not None:
        return fitted
    pairs: list[tuple[Value, Literal]] = []
    for case in x.cases:
        pairs += _changing(shop, f, case)
    return shop.categories(pairs, _total(shop, x))


def _total(shop: Workshop, x: Quantity) -> bool:
    return shop.either(case.when for case in x.cases) == TRUE


def _answers(shop: Workshop, x: Quantity, holds: Callable[[Case], Literal]) -> Categories:
    answers = [(case, holds(case)) for case in x.cases]
    pairs = [
        pair
        for case, yes in answers
        for pair in ((True, shop.both(case.when, yes)), (False, shop.both(case.when, ~yes)))
    ]
    return shop.categories(pairs, _total(shop, x))


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


def _fitted(shop: Workshop, f: Callable[[Value], Value], form: Form) -> Quantity | None:
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


def _changing(
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


# Two s-ops


def joined(shop: Workshop, f: Callable[[Value, Value], Value], x: Known, y: Known) -> Known:
    """`SequenceMap(f, x, y)`."""
    match x, y:
        case Categories(), Categories():
            return _table(shop, f, x, y)
        case Counted(), Counted() if x.parts == y.parts:
            return _same_count(shop, f, x, y)
    structured = isinstance(f, Between | Linear)
    if not structured:
        for base, other, g in ((x, y, f), (y, x, lambda b, a: f(a, b))):
            place = other.affine if isinstance(other, Quantity) else None
            if isinstance(base, Categories | Counted) and place is not None:
                return Joint(g, base, place)
    if isinstance(x, Categories) and len(x.values) <= MOST_CHANGES:
        return _by_category(shop, lambda v, u: f(v, u), x, y, f, first=True)
    if isinstance(y, Categories) and len(y.values) <= MOST_CHANGES:
        return _by_category(shop, lambda v, u: f(u, v), y, x, f, first=False)
    if structured:
        return _arithmetic(shop, f, quantity_of(shop, x), quantity_of(shop, y))
    raise shop.fault(
        "a function of two numbers that are sums or means of counts: only + - and comparisons of "
        "them are linear; make one of them categorical"
    )


def _table(
    shop: Workshop, f: Callable[[Value, Value], Value], x: Categories, y: Categories
) -> Categories:
    if len(x.values) * len(y.values) > MOST_ENTRIES:
        raise shop.fault(
            f"a table of {len(x.values):,} by {len(y.values):,} values; {MOST_ENTRIES:,} entries "
            "are the most"
        )
    pairs: list[tuple[Value, Literal]] = []
    for v, bit in zip(x.values, x.bits, strict=True):
        results: dict[object, tuple[Value, list[Literal]]] = {}
        for u, other in zip(y.values, y.bits, strict=True):
            if not shop.exclude(bit, other):
                result = shop.apply(f, v, u)
                results.setdefault(tagged(result), (result, []))[1].append(other)
        for result, bits in results.values():
            # If every value of y gives this, y does not matter where it is always there.
            whole = len(results) == 1 and y.total
            pairs.append((result, bit if whole else shop.both(bit, shop.either(bits))))
    return shop.categories(pairs, x.total and y.total)


def _same_count(
    shop: Workshop, f: Callable[[Value, Value], Value], x: Counted, y: Counted
) -> Known:
    tables = []
    for when, table in x.tables:
        for other, second in y.tables:
            both = shop.both(when, other)
            if both != FALSE:
                row = tuple(
                    None if v is None or u is None else shop.apply(f, v, u)
                    for v, u in zip(table, second, strict=True)
                )
                tables.append((both, row))
    return smallest(shop, Counted(x.parts, tuple(tables), None))


def _by_category(
    shop: Workshop,
    f: Callable[[Value, Value], Value],
    x: Categories,
    y: Known,
    given: Callable[[Value, Value], Value],
    first: bool,
) -> Known:
    """For each value of x a map of y."""
    found = []
    for v, bit in zip(x.values, x.bits, strict=True):
        g: Callable[[Value], Value] = lambda u, v=v: f(v, u)  # type: ignore[misc]  # noqa: E731
        match given:
            case Between(sign):
                g = With(sign, v, constant_first=first)
                if sign in ("and", "or"):
                    found.append((bit, _logical(shop, sign, v, y, first)))
                    continue
            case Linear(a, b) if is_number(v):
                mine, other = (a, b) if first else (b, a)
                scaled = mapped(shop, With("*", other, True), y)
                found.append((bit, mapped(shop, With("+", mine * v), scaled)))
                continue
        found.append((bit, mapped(shop, g, y)))
    return chosen(shop, found)


def _logical(shop: Workshop, sign: str, v: Value, y: Known, first: bool) -> Known:
    """`v and y` is y or v, whatever y is."""
    if first:
        takes_y = bool(v) == (sign == "and")
        return y if takes_y else shop.constant(v)
    return mapped(shop, With(sign, v), y)


def chosen(shop: Workshop, found: list[tuple[Literal, Known]]) -> Known:
    """The s-op that is one of several, each where its bit holds."""
    if len(found) == 1 and found[0][0] == TRUE:
        return found[0][1]
    counts = [known for _, known in found if isinstance(known, Counted)]
    if counts and all(
        isinstance(known, Counted) and known.parts == counts[0].parts for _, known in found
    ):
        return Counted(counts[0].parts, tuple(_tables(shop, found)), None)
    if all(isinstance(known, Categories) for _, known in found):
        return _union(shop, found)
    if any(isinstance(known, Joint) for _, known in found):
        return _union(shop, [(bit, to_categories(shop, known)) for bit, known in found])
    if all(
        not isinstance(known, Categories) or all(map(is_number, known.values)) for _, known in found
    ):
        cases = [
            Case(shop.both(bit, case.when), case.above, case.below)
            for bit, known in found
            for case in quantity_of(shop, known).cases
        ]
        return Quantity(tuple(case for case in cases if case.when != FALSE))
    return _union(shop, [(bit, to_categories(shop, known)) for bit, known in found])


def _tables(
    shop: Workshop, found: list[tuple[Literal, Known]]
) -> Iterable[tuple[Literal, tuple[Value, ...]]]:
    for bit, known in found:
        assert isinstance(known, Counted)
        for when, table in known.tables:
            if (both := shop.both(bit, when)) != FALSE:
                yield both, table


def _union(shop: Workshop, found: list[tuple[Literal, Known]]) -> Categories:
    pairs: list[tuple[Value, Literal]] = []
    total = shop.either(bit for bit, _ in found) == TRUE
    for bit, known in found:
        assert isinstance(known, Categories)
        total = total and known.total
        for value, other in zip(known.values, known.bits, strict=True):
            pairs.append((value, shop.both(bit, other)))
    return shop.categories(pairs, total)


def _arithmetic(
    shop: Workshop, f: Callable[[Value, Value], Value], x: Quantity, y: Quantity
) -> Known:
    """x ± y and comparisons, case by case."""
    if len(x.cases) * len(y.cases) > MOST_CASES:
        raise shop.fault(f"more than {MOST_CASES} cases of sums of counts")
    match f:
        case Linear(a, b):
            first, second, sign = exact(a), exact(b), "+"
        case Between("+"):
            first, second, sign = Fraction(1), Fraction(1), "+"
        case Between("-"):
            first, second, sign = Fraction(1), Fraction(-1), "+"
        case Between(sign) if sign in COMPARISONS:
            first, second = Fraction(1), Fraction(-1)
        case _:
            raise shop.fault(
                f"{f} of two numbers that are sums or means of counts is not linear: make one of "
                "them categorical"
            )
    cases = []
    for one in x.cases:
        for other in y.cases:
            when = shop.both(one.when, other.when)
            if when == FALSE:
                continue
            if one.below.key == other.below.key:
                above, below = one.above.times(first).plus(other.above, second), one.below
            elif other.below.is_constant and other.above.is_constant:
                constant = other.above.constant / other.below.constant
                above, below = one.above.times(first).plus(one.below, second * constant), one.below
            elif one.below.is_constant and one.above.is_constant:
                constant = one.above.constant / one.below.constant
                above = other.above.times(second).plus(other.below, first * constant)
                below = other.below
            elif one.below.is_constant and other.below.is_constant:
                above = one.above.times(first / one.below.constant).plus(
                    other.above, second / other.below.constant
                )
                below = Form.of_constant(1)
            else:
                raise shop.fault("means over different selections cannot be added or compared")
            cases.append(Case(when, above, below))
    made = Quantity(tuple(cases))
    if sign == "+":
        return made
    return _answers(shop, made, lambda case: shop.compared(case, sign, 0))


# Conversions


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
                raise shop.fault(f"{len(values):,} values of a count; {most:,} are the most")
            pairs = [
                (value, shop.where(known, lambda v, tag=tag: tagged(v) == tag))  # type: ignore[misc]
                for tag, value in values.items()
            ]
            whole = all(v is not None for _, table in known.tables for v in table)
            total = whole and shop.either(when for when, _ in known.tables) == TRUE
            return shop.categories(pairs, total)
        case Quantity():
            if (form := known.affine) is not None:
                return positions_of(shop, form, lambda value: value)
            pairs = [p for case in known.cases for p in _changing(shop, lambda v: v, case)]
            return shop.categories(pairs, _total(shop, known))
        case Joint():
            base = to_categories(shop, known.base)
            found: list[tuple[Literal, Known]] = []
            for value, bit in zip(base.values, base.bits, strict=True):
                f: Callable[[Value], Value] = lambda p, v=value: known.f(v, p)  # type: ignore[misc]  # noqa: E731
                found.append((bit, positions_of(shop, known.place, f)))
            return _union(shop, found)


def line_of(shop: Workshop, known: Joint) -> Quantity | None:
    """A function of a category and the position that is a line for each category."""
    base = to_categories(shop, known.base)
    cases = []
    for value, bit in zip(base.values, base.bits, strict=True):
        fitted = _fitted(shop, lambda p, v=value: known.f(v, p), known.place)  # type: ignore[misc]
        if fitted is None:
            return None
        cases += [Case(shop.both(bit, case.when), case.above, case.below) for case in fitted.cases]
    return Quantity(tuple(cases))


def positions_of(shop: Workshop, form: Form, f: Callable[[Value], Value]) -> Categories:
    """A function of an affine number, by the number's binary digits where it changes often."""
    values = affine_values(shop, form)
    results = [shop.apply(f, plain(value)) for value in values]
    changes = sum(tagged(a) != tagged(b) for a, b in pairwise(results))
    if changes <= MOST_CHANGES:
        case = Case(TRUE, form)
        known = dict(zip(map(plain, values), results, strict=True))
        return shop.categories(_changing(shop, known.__getitem__, case), True)
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
