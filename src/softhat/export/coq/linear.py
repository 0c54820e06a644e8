"""Counting terms as `proofs/Matching.v` compares them: by bounds, and by their direction."""

from __future__ import annotations

from math import gcd

from softhat.program.counting import SIZES, CountingTerm


def at_one(form: CountingTerm) -> int:
    """Its value at i = n = 1, of a form that counts nothing."""
    return form.position + form.length + form.constant


def extreme(form: CountingTerm, sign: int) -> CountingTerm:
    """A form that counts nothing and is never less (1), or never more (-1): a count lies between 0
    and the size of its range."""
    bound = CountingTerm({}, form.position, form.length, form.constant)
    for (over, _), a in form.counts.items():
        if a * sign > 0:
            bound = bound.plus(SIZES[over], a)
    return bound


def direction_of(form: CountingTerm) -> tuple[tuple[object, ...], int]:
    """The form without its constant as a multiple of another: that one, and the factor. A form and
    its negative are multiples of the same one."""
    entries = sorted(form.counts.items())
    coefficients = [*(a for _, a in entries), form.position, form.length]
    divisor = gcd(*coefficients)
    if not divisor:
        return ((), 0, 0), 0
    leading = next(a for a in coefficients if a)
    factor = divisor if leading > 0 else -divisor
    counts = tuple((key, a // factor) for key, a in entries)
    return (counts, form.position // factor, form.length // factor), factor
