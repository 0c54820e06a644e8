"""Integers of any size as decimal text.

Python refuses conversions beyond 4,300 digits, since they take quadratic time; halving the
text takes the time of a few large multiplications.
"""

from __future__ import annotations

_DIGITS = 600  # that Python converts by itself whatever limit it is set to (640 is the least)


def to_integer(digits: str) -> int:
    """The value of a run of decimal digits."""
    if len(digits) <= _DIGITS:
        return int(digits)
    low = len(digits) // 2
    shift: int = 10**low
    return to_integer(digits[:-low]) * shift + to_integer(digits[-low:])


def to_digits(value: int) -> str:
    """Decimal text of any integer."""
    if value < 0:
        return "-" + to_digits(-value)
    return _split(value)


def _split(value: int) -> str:
    if value.bit_length() < 1_990:  # at most 600 digits
        return str(value)
    low = value.bit_length() * 3 // 20  # about half of the digits (log10(2) / 2 = 0.1505…)
    above, below = divmod(value, 10**low)
    return _split(above) + _split(below).rjust(low, "0")
