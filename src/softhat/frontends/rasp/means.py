"""A function of a mean that changes its value often: by the sum and the number behind the mean.

Both are counts, and the binary digits of a count are decoded exactly by steps. The function is a
table of the digits of both, with at most N²/2 rows for the share of a token. Where no head returns
the mean, because it is over several masks or has terms below 0, sum and number are compared with
each of their values, and the function is a table of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np

from softhat.frontends.rasp.cubes import cubes_of
from softhat.frontends.rasp.number_functions import changing, digit_table, plain
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.values import CountForm, QuotientCase, SelectedMean, exact, tagged
from softhat.frontends.rasp.workshop import MOST_ENTRIES, Workshop
from softhat.program.gates import Steps, Total
from softhat.program.heads import Selector, Width
from softhat.program.literals import FALSE, TRUE, Literal


def mapped_mean(
    shop: Workshop, f: Callable[[Value], Value], mean: SelectedMean, when: Literal
) -> list[tuple[Value, Literal]]:
    """The values of f, each with the bit that says so."""
    weights = _weights(mean)
    scale = lcm(*(a.denominator for a in (*weights.values(), mean.constant)))
    most = sum(int(a * scale) for a in weights.values())
    n = shop.longest
    rows_at_most = most * n * (n + 1) // 2
    if rows_at_most > MOST_ENTRIES:
        raise shop.fault(
            f"its function of a mean changes often, and a table of sums and numbers has "
            f"{rows_at_most:,} rows; {MOST_ENTRIES:,} are the most: compare the mean with "
            "constants, or compile to a shorter max_length"
        )
    selected = shop.draft.add(Width(mean.selector), f"{shop.name}: how many").signal
    terms = tuple(
        (int(a * scale), shop.draft.add(Width(part), f"{shop.name}: of which").signal)
        for signal, a in weights.items()
        if (part := _refined(shop, mean.selector, Literal(signal, True))) is not None
    )
    added = shop.draft.add(Total(terms, n), f"{shop.name}: sum").signal
    pairs = [(w, s) for w in range(1, n + 1) for s in range(most * w + 1)]
    results = [_tried(shop, f, mean.constant + Fraction(s, w * scale)) for w, s in pairs]
    numbers = {tag: k for k, tag in enumerate(dict.fromkeys(map(tagged, results)))}
    sizes = n.bit_length(), (most * n).bit_length()
    codes = np.array([(s << sizes[0]) + w for w, s in pairs])
    labels = np.array([numbers[tagged(result)] for result in results])
    digits = _digits(shop, selected, sizes[0], n) + _digits(shop, added, sizes[1], most * n)
    rows = cubes_of(codes, labels, sum(sizes))
    value_of = {numbers[tagged(result)]: result for result in results}
    return [
        (value_of[label], shop.both(when, digit_table(shop, digits, cubes)))
        for label, cubes in rows.items()
    ]


def mapped_quotient(
    shop: Workshop, f: Callable[[Value], Value], case: QuotientCase
) -> list[tuple[Value, Literal]]:
    """The values of f on a ratio of two sums of counts, each with the bit that says so."""
    sums, numbers = (_values_of(shop, form) for form in (case.above, case.below))
    rows: dict[object, tuple[Value, list[Literal]]] = {}
    for number, is_number in numbers:
        if number < 1:
            continue
        for added, is_sum in sums:
            result = _tried(shop, f, added / number)
            rows.setdefault(tagged(result), (result, []))[1].append(shop.both(is_number, is_sum))
    return [(value, shop.both(case.when, shop.either(row))) for value, row in rows.values()]


def _values_of(shop: Workshop, form: CountForm) -> list[tuple[Fraction, Literal]]:
    """The values of a sum of counts, each with the bit that says so."""
    pairs = changing(shop, lambda value: value, QuotientCase(TRUE, form))
    few = shop.categories(pairs, True)
    return [(exact(v), bit) for v, bit in zip(few.values, few.bits, strict=True)]


def _digits(shop: Workshop, count: int, size: int, most: int) -> list[Literal]:
    """The binary digits of a count: bit b turns at every multiple of 2^b."""
    return [
        shop.draft.add(
            Steps(count, tuple(range(1 << b, most + 1, 1 << b))), f"{shop.name}: digit {b}"
        )
        for b in range(size)
    ]


def _tried(shop: Workshop, f: Callable[[Value], Value], value: Fraction) -> Value:
    """Not every sum occurs with every number, so an error is a doubt and no refusal."""
    try:
        return f(plain(value))
    except Exception as error:  # whatever a user's function may raise
        shown = f"{type(error).__name__} on {plain(value)}: {error}"
        shop.doubts.append(f"its function raises {shown}")
        return None


def _weights(mean: SelectedMean) -> dict[int, Fraction]:
    """What a selected position adds to the sum, none of it negative."""
    return {signal: a for signal, a in mean.terms.items() if signal >= 0 and a}


def is_positive(mean: SelectedMean) -> bool:
    """Are all its weights at least 0, and its constant apart from them?"""
    return all(a >= 0 for a in mean.terms.values()) and -1 not in mean.terms


def _refined(shop: Workshop, selector: Selector, bit: Literal) -> Selector | None:
    """The selector of those positions that have a bit as well."""
    keys = [shop.both(key, bit) for key in selector.keys]
    possible = [k for k, key in enumerate(keys) if key != FALSE]
    if not possible:
        return None
    places = {k: place for place, k in enumerate(possible)}
    table = tuple((q, places[k]) for q, k in selector.table if k in places)
    return replace(selector, keys=tuple(keys[k] for k in possible), table=table)
