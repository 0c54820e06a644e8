"""Maps of s-ops: by table on categories and counts, by their operator on numbers.

A function is tried on every value that can occur. On numbers that are sums or means of counts it
must be an operator that is linear, or change its value at few places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial

from softhat.frontends.rasp.converting import (
    always_defined,
    case_pairs,
    line_of,
    quantity_of,
    to_categories,
    union,
)
from softhat.frontends.rasp.means import is_positive, mapped_mean, mapped_quotient
from softhat.frontends.rasp.number_functions import changing, fitted_line
from softhat.frontends.rasp.operations import Between, LinearMap, Negate, Value, With
from softhat.frontends.rasp.position_functions import places_of, tried
from softhat.frontends.rasp.values import (
    Categories,
    Counted,
    Joint,
    Known,
    Placed,
    Quantity,
    QuotientCase,
    exact,
    is_number,
    tagged,
)
from softhat.frontends.rasp.workshop import (
    MOST_CASES,
    MOST_CHANGES,
    MOST_ENTRIES,
    ChangesOftenError,
    Workshop,
)
from softhat.program.literals import FALSE, TRUE, Literal

MOST_PAIRS = 2_000
"""Entries of a table of two numbers that are sums or means of counts: each is a comparison with a
threshold of its own, and larger tables are certified for no length."""
COMPARISONS = ("<", "<=", "==", "!=", ">=", ">")
_LINEAR = tuple(map(Between, ("+", "-", *COMPARISONS)))
"""Operators on two numbers that are comparisons of linear forms, or one."""
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


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

            def after(value: Value, place: Value) -> Value:
                """Maps leave None as it is."""
                known = inner(value, place)
                return None if known is None else f(known)

            return Joint(after, x.base, x.place)
        case Placed():
            return tried(shop, f, x)
        case Quantity():
            return _mapped_quantity(shop, f, x)


def _mapped_count(shop: Workshop, f: Callable[[Value], Value], x: Counted) -> Known:
    tables = tuple(
        (when, tuple(None if v is None else shop.apply(f, v) for v in table))
        for when, table in x.tables
    )
    quantity = x.quantity and _linear(f, x.quantity)
    order = x.order if isinstance(f, With) and f.sign in ("+", "-", "*") and f.constant else None
    counted = Counted(x.parts, tables, quantity, order)
    return smallest(shop, counted)


def smallest(shop: Workshop, known: Counted) -> Known:
    """Categories, where a count has only a few values left."""
    return to_categories(shop, known) if len(known.values) <= 2 else known


def _linear(f: Callable[[Value], Value], x: Quantity) -> Quantity | None:
    """x + c, c - x, c·x, x/c as numbers; None for other functions."""
    if not isinstance(f, With) or not is_number(f.constant):
        return None
    c = exact(f.constant)
    match f.sign, f.constant_first:
        case "+", _:
            factor, constant = Fraction(1), c
        case "-", False:
            factor, constant = Fraction(1), -c
        case "-", True:
            factor, constant = Fraction(-1), c
        case "*", _:
            factor, constant = c, Fraction(0)
        case "/", False if c:
            factor, constant = 1 / c, Fraction(0)
        case _:
            return None
    return Quantity(tuple(case.line(factor, constant) for case in x.cases))


def _mapped_quantity(shop: Workshop, f: Callable[[Value], Value], x: Quantity) -> Known:
    if (linear := _linear(f, x)) is not None:
        return linear
    if isinstance(f, Negate):
        f = With("==", 0)
    if isinstance(f, With) and f.sign in COMPARISONS and is_number(f.constant):
        sign = _TURNED[f.sign] if f.constant_first else f.sign
        return _answers(shop, x, lambda case: shop.compared(case, sign, f.constant))
    if (form := x.affine) is not None:
        fitted = fitted_line(shop, f, form)
        if fitted is not None or not (form.position and form.length):
            return fitted or tried(shop, f, form)
    pairs = [pair for case in x.cases for pair in _mapped_case(shop, f, case)]
    return shop.categories(pairs, always_defined(shop, x))


def _mapped_case(
    shop: Workshop, f: Callable[[Value], Value], case: QuotientCase
) -> list[tuple[Value, Literal]]:
    """By comparisons, or by the counts behind a mean where there would be too many of them."""
    try:
        return changing(shop, f, case)
    except ChangesOftenError:
        if not case.is_ratio:
            raise
        if case.mean is None or not is_positive(case.mean):
            return mapped_quotient(shop, f, case)
        return mapped_mean(shop, f, case.mean, case.when)


def by_value(shop: Workshop, known: Known) -> Categories:
    """One bit for each value, of numbers that are sums or means of counts too."""
    if not isinstance(known, Quantity) or known.affine is not None:
        return to_categories(shop, known)
    pairs = [pair for case in known.cases for pair in _mapped_case(shop, _itself, case)]
    return shop.categories(pairs, always_defined(shop, known))


def _itself(value: Value) -> Value:
    return value


def _answers(shop: Workshop, x: Quantity, holds: Callable[[QuotientCase], Literal]) -> Categories:
    answers = [(case, holds(case)) for case in x.cases]
    pairs = [
        pair
        for case, yes in answers
        for pair in ((True, shop.both(case.when, yes)), (False, shop.both(case.when, ~yes)))
    ]
    return shop.categories(pairs, always_defined(shop, x))


def joined(shop: Workshop, f: Callable[[Value, Value], Value], x: Known, y: Known) -> Known:
    """`SequenceMap(f, x, y)`."""
    match x, y:
        case Categories(), Categories():
            return _table(shop, f, x, y)
        case Counted(), Counted() if x.parts == y.parts:
            return _same_count(shop, f, x, y)
    structured = isinstance(f, Between | LinearMap)
    first, second = places_of(x), places_of(y)
    if first is not None and second is not None:
        linear = (structured and not isinstance(f, Between)) or f in _LINEAR
        if not (linear and isinstance(x, Quantity) and isinstance(y, Quantity)):
            return tried(shop, f, first, second)
    x, y = (to_categories(shop, k) if isinstance(k, Placed) else k for k in (x, y))
    if isinstance(x, Categories) and isinstance(y, Categories):
        return _table(shop, f, x, y)
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
        result = _arithmetic(shop, f, quantity_of(shop, x), quantity_of(shop, y))
        if result is not None:
            return result
    return _of_numbers(shop, f, x, y)


def _of_numbers(shop: Workshop, f: Callable[[Value, Value], Value], x: Known, y: Known) -> Known:
    """A function of two numbers that is not known to be linear: case by case, since in some of
    them both may depend on the position and the length alone; else by a table of their values."""
    x, y = _by_lines(shop, x), _by_lines(shop, y)
    if isinstance(x, Quantity) and isinstance(y, Quantity):
        count = len(x.cases) * len(y.cases)
        if 1 < count <= MOST_CASES and not any(case.is_ratio for case in (*x.cases, *y.cases)):
            pairs = [
                (when, joined(shop, f, _alone(one), _alone(other)))
                for when, one, other in case_pairs(shop, x, y)
            ]
            return chosen(shop, pairs)
    try:
        one, other = by_value(shop, x), by_value(shop, y)
        size = f"{len(one.values):,} by {len(other.values):,}"
        if len(one.values) * len(other.values) <= MOST_PAIRS:
            return _table(shop, f, one, other)
    except ChangesOftenError:
        size = f"over {MOST_CHANGES}"
    raise shop.fault(
        f"a function of two numbers that are sums or means of counts and have {size} values for "
        f"sequences up to {shop.longest:,}: only + - and comparisons of them are linear, and a "
        f"table has {MOST_PAIRS:,} entries at most; map one to fewer values, or compile to a "
        "shorter max_length"
    )


def _by_lines(shop: Workshop, known: Known) -> Known:
    """A function of a category and the position, as a line for each category if it is one."""
    lines = line_of(shop, known) if isinstance(known, Joint) else None
    return known if lines is None else lines


def _alone(case: QuotientCase) -> Quantity:
    """The number of a case as if it held everywhere."""
    return Quantity((case.where(TRUE),))


def _table(
    shop: Workshop, f: Callable[[Value, Value], Value], x: Categories, y: Categories
) -> Categories:
    if len(x.values) * len(y.values) > MOST_ENTRIES:
        raise shop.fault(
            f"a table of {len(x.values):,} by {len(y.values):,} values; {MOST_ENTRIES:,} entries "
            "are the most: map each of them to fewer values first"
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
    operation: Callable[[Value, Value], Value],
    first: bool,
) -> Known:
    """For each value of x a map of y."""
    guarded = []
    for v, bit in zip(x.values, x.bits, strict=True):
        g: Callable[[Value], Value] = partial(f, v)
        match operation:
            case Between(sign):
                g = With(sign, v, constant_first=first)
                if sign in ("and", "or"):
                    guarded.append((bit, _logical(shop, sign, v, y, first)))
                    continue
            case LinearMap(a, b) if is_number(v):
                mine, other = (a, b) if first else (b, a)
                scaled = mapped(shop, With("*", other, True), y)
                guarded.append((bit, mapped(shop, With("+", mine * v), scaled)))
                continue
        guarded.append((bit, mapped(shop, g, y)))
    return chosen(shop, guarded)


def _logical(shop: Workshop, sign: str, v: Value, y: Known, first: bool) -> Known:
    """`v and y` is y or v, whatever y is."""
    if first:
        takes_y = bool(v) == (sign == "and")
        return y if takes_y else shop.constant(v)
    return mapped(shop, With(sign, v), y)


def chosen(shop: Workshop, guarded: list[tuple[Literal, Known]]) -> Known:
    """The s-op that is one of several, each where its bit holds."""
    if len(guarded) == 1 and guarded[0][0] == TRUE:
        return guarded[0][1]
    counts = [known for _, known in guarded if isinstance(known, Counted)]
    if counts and all(
        isinstance(known, Counted) and known.parts == counts[0].parts for _, known in guarded
    ):
        return Counted(counts[0].parts, tuple(_tables(shop, guarded)), None)
    if all(isinstance(known, Categories) for _, known in guarded):
        return union(shop, guarded)
    if any(isinstance(known, Joint | Placed) for _, known in guarded):
        return union(shop, [(bit, to_categories(shop, known)) for bit, known in guarded])
    if all(
        not isinstance(known, Categories) or all(map(is_number, known.values))
        for _, known in guarded
    ):
        cases = [
            case.where(shop.both(bit, case.when))
            for bit, known in guarded
            for case in quantity_of(shop, known).cases
        ]
        return Quantity(tuple(case for case in cases if case.when != FALSE))
    return union(shop, [(bit, to_categories(shop, known)) for bit, known in guarded])


def _tables(
    shop: Workshop, guarded: list[tuple[Literal, Known]]
) -> Iterable[tuple[Literal, tuple[Value, ...]]]:
    for bit, known in guarded:
        assert isinstance(known, Counted)
        for when, table in known.tables:
            if (both := shop.both(bit, when)) != FALSE:
                yield both, table


def _arithmetic(
    shop: Workshop, f: Callable[[Value, Value], Value], x: Quantity, y: Quantity
) -> Known | None:
    """x ± y and comparisons, case by case; None for what is not linear."""
    if len(x.cases) * len(y.cases) > MOST_CASES:
        raise shop.fault(
            f"more than {MOST_CASES} cases of sums of counts: compare them earlier, in parts"
        )
    match f:
        case LinearMap(a, b):
            first, second, sign = exact(a), exact(b), "+"
        case Between("+"):
            first, second, sign = Fraction(1), Fraction(1), "+"
        case Between("-"):
            first, second, sign = Fraction(1), Fraction(-1), "+"
        case Between(sign) if sign in COMPARISONS:
            first, second = Fraction(1), Fraction(-1)
        case _:
            return None
    cases = []
    for when, one, other in case_pairs(shop, x, y):
        if other.below.is_constant and other.above.is_constant:
            constant = other.above.constant / other.below.constant
            cases.append(one.line(first, second * constant).where(when))
        elif one.below.is_constant and one.above.is_constant:
            constant = one.above.constant / one.below.constant
            cases.append(other.line(second, first * constant).where(when))
        elif one.below.key == other.below.key:
            above = one.above.times(first).plus(other.above, second)
            mean = None
            if one.mean is not None and other.mean is not None:
                mean = one.mean.line(first, 0).plus(other.mean, second)
            cases.append(QuotientCase(when, above, one.below, mean))
        elif one.below.is_constant and other.below.is_constant:
            above = one.above.times(first / one.below.constant)
            above = above.plus(other.above, second / other.below.constant)
            cases.append(QuotientCase(when, above))
        else:  # means over different selections
            return None
    result = Quantity(tuple(cases))
    if sign == "+":
        return result
    return _answers(shop, result, lambda case: shop.compared(case, sign, 0))
