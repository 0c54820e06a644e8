"""Functions of a number: for which numbers they have which value.

A function of a number is one comparison for each place where it changes its value, found by
trying it on every value that the number can have: S/W >= p/q is q·S - p·W >= 0. A function of a
position that changes often is written as a function of its binary digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np

from softhat.frontends.rasp.cubes import Cube, cubes_of
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.values import (
    Categories,
    CountForm,
    Quantity,
    QuotientCase,
    exact,
    is_number,
    tagged,
)
from softhat.frontends.rasp.workshop import (
    MOST_CHANGES,
    MOST_ENTRIES,
    ChangesOftenError,
    RaisesError,
    Workshop,
)
from softhat.program.gates import Table
from softhat.program.literals import TRUE, Literal

FEW_CHANGES = 4
"""Comparisons of a position; what changes more often is a table of its digits."""
MOST_RATIOS = 4_000_000
"""Values of a ratio on which a function is tried."""


def positions_of(shop: Workshop, form: CountForm, f: Callable[[Value], Value]) -> Categories:
    """A function of an affine number, by the number's binary digits where it changes often."""
    values = affine_values(shop, form)
    results = [shop.apply(f, plain(value)) for value in values]
    changes = sum(tagged(a) != tagged(b) for a, b in pairwise(results))
    if changes > FEW_CHANGES and (by_digits := _by_digits(shop, form, values, results)):
        return by_digits
    if changes > MOST_CHANGES:
        raise shop.fault(
            f"a function of {len(values):,} positions that changes its value {changes:,} times; a "
            f"table of its digits with {MOST_ENTRIES:,} entries is the most"
        )
    known = dict(zip(map(plain, values), results, strict=True))
    return shop.categories(changing(shop, known.__getitem__, QuotientCase(TRUE, form)), True)


def _by_digits(
    shop: Workshop, form: CountForm, values: list[Fraction], results: list[Value]
) -> Categories | None:
    """The function by the number's binary digits, which need no attention; None if it is too
    large."""
    scale, least = form.scale, values[0]
    shifted = form.plus(CountForm.of_constant(-least)).times(scale)
    codes = np.array([int((value - least) * scale) for value in values])
    numbers = {tag: k for k, tag in enumerate(dict.fromkeys(map(tagged, results)))}
    count = int(codes[-1]).bit_length()
    rows = cubes_of(codes, np.array([numbers[tagged(result)] for result in results]), count)
    if sum(map(len, rows.values())) * count > MOST_ENTRIES:
        return None
    digits = [shop.position_digit(shifted, bit) for bit in range(count)]
    value_of = {numbers[tagged(result)]: result for result in results}
    pairs = [(value_of[label], digit_table(shop, digits, cubes)) for label, cubes in rows.items()]
    return shop.categories(pairs, all(result is not None for result in results))


def digit_table(shop: Workshop, digits: list[Literal], cubes: list[Cube]) -> Literal:
    """One of the conjunctions of digits holds."""
    terms = []
    for cube in cubes:
        literals = {digits[bit] if value else ~digits[bit] for bit, value in cube}
        terms.append(tuple(sorted(literals)))
    if len(terms) == 1:
        return shop.both(*terms[0])
    return shop.draft.add(Table(tuple(sorted(terms))), f"{shop.name}: table of positions")


def affine_values(shop: Workshop, form: CountForm) -> list[Fraction]:
    """The values of a number that depends on position and length alone, in order."""
    lengths = range(1, shop.longest + 1)
    if not form.length:
        return sorted({form.position * i + form.constant for i in lengths})
    if not form.position:
        return sorted({form.length * n + form.constant for n in lengths})
    if form.position == -form.length:  # n - i is from 0 to N - 1
        return sorted({form.length * (n - 1) + form.constant for n in lengths})
    if shop.longest**2 > 2 * MOST_RATIOS:
        raise shop.fault(
            f"its function would have to be tried on over {MOST_RATIOS:,} positions and lengths: "
            "compare with constants, or choose a smaller max_length"
        )
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


def fitted_line(shop: Workshop, f: Callable[[Value], Value], form: CountForm) -> Quantity | None:
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
    return shop.number(form.times(slope).plus(CountForm.of_constant(first - slope * values[0])))


def changing(
    shop: Workshop, f: Callable[[Value], Value], case: QuotientCase
) -> list[tuple[Value, Literal]]:
    """The values of f on a number, each with the bit that says so: one comparison a change."""
    changes: list[tuple[Fraction, Value]] = []
    trouble = ""
    fine = 0
    for value in _reachable(shop, case):
        try:
            result = f(plain(value))
        except Exception as error:  # perhaps on a value that never occurs
            trouble = f"its function raises {type(error).__name__} on {plain(value)}: {error}"
            continue
        fine += 1
        if not changes or tagged(changes[-1][1]) != tagged(result):
            changes.append((value, result))
            if len(changes) > MOST_CHANGES + 1:
                raise ChangesOftenError(
                    f"{shop.name}: its function changes its value more than {MOST_CHANGES} times "
                    f"on a {'mean' if case.is_ratio else 'number made of counts'}: compare it with "
                    "constants, or map it after making it categorical"
                )
    if trouble and not fine:
        raise RaisesError(f"{shop.name}: {trouble}")
    if trouble:
        shop.doubts.append(trouble)
    bounds = [shop.case_at_least(case, start) for start, _ in changes[1:]]
    pairs = []
    for k, (_, result) in enumerate(changes):
        above = TRUE if k == 0 else bounds[k - 1]
        below = TRUE if k == len(changes) - 1 else ~bounds[k]
        pairs.append((result, shop.both(case.when, above, below)))
    return pairs


def _reachable(shop: Workshop, case: QuotientCase) -> Iterable[Fraction]:
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
