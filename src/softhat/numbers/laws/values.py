"""Numbers of any size: exact while they are rational, floats or logarithms beyond."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

Value: TypeAlias = Fraction | float
LARGEST_LOG = 709.0  # e^709 is still a float64


def log_of(x: Value) -> float:
    """ln x of a positive Fraction or float of any size."""
    if isinstance(x, Fraction):
        return _log_integer(x.numerator) - _log_integer(x.denominator)
    return math.log(x) if x > 0 else -math.inf


def fold(values: list[Value], adding: bool) -> Value:
    """Sum or product; exact as long as every part is, else a float (inf: too large)."""
    if all(isinstance(x, Fraction) for x in values):
        result = Fraction(0) if adding else Fraction(1)
        for x in values:
            result = result + Fraction(x) if adding else result * Fraction(x)
        return result
    if adding:
        return math.fsum(nearest_float(x) for x in values)
    return (
        exponential(math.fsum(log_of(x) for x in values))
        if _extreme(values)
        else math.prod(float(x) for x in values)
    )


def _extreme(values: list[Value]) -> bool:
    """Is some part, or the product, outside the comfortable range of float64?"""
    logs = [log_of(x) for x in values]
    return max(abs(x) for x in logs) > 600 or abs(math.fsum(logs)) > 600


def nearest_float(x: Value) -> float:
    """x as a float; inf where it is too large."""
    try:
        return float(x)
    except OverflowError:
        return math.inf


def exponential(x: float) -> float:
    """e^x; inf where it is too large."""
    return math.exp(x) if x <= LARGEST_LOG else math.inf


def _log_integer(x: int) -> float:
    """ln x from the leading bits, which a float can hold."""
    shift = max(0, x.bit_length() - 900)
    return math.log(x >> shift) + shift * math.log(2)
