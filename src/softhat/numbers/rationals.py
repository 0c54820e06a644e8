"""Exact numbers: what divides them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import frexp, gcd, inf, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray


def common_divisor(values: Iterable[Fraction]) -> Fraction:
    """The greatest rational that all are integer multiples of; 0 if all are 0."""
    ratios = [value.as_integer_ratio() for value in values]
    unit = lcm(*(denominator for _, denominator in ratios))
    whole = (numerator * (unit // denominator) for numerator, denominator in ratios)
    return Fraction(gcd(*whole), unit)


def power_in(x: Fraction | float) -> Fraction:
    """The greatest power of two that x is an integer multiple of, up to an odd denominator: 4 for
    12, 1/8 for 3/8, 2/3 for 10/3; 0 for 0."""
    numerator, denominator = x.as_integer_ratio()
    return Fraction(numerator & -numerator, denominator)


def grid_of(x: Fraction | float) -> float:
    """The grid as a float; infinite for 0, which is a multiple of every number."""
    numerator, denominator = x.as_integer_ratio()
    return (numerator & -numerator) / denominator if numerator else inf


def grids_of(numbers: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The same of many floats at once."""
    mantissas, exponents = np.frexp(numbers.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    grids = np.ldexp((whole & -whole).astype(np.float64), exponents - 53)
    return np.where(numbers == 0, np.inf, grids)


def power_of_two(x: float) -> bool:
    """Products with it are exact."""
    return x > 0 and frexp(x)[0] == 0.5


def odd_part(x: Fraction) -> int:
    """The numerator without its factors of two: its bits are x's significant ones."""
    return x.numerator // (x.numerator & -x.numerator) if x else 0
