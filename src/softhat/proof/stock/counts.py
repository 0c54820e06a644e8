"""What comparisons count: means over the past, and how near to 0 they come.

A mean is over j <= i, `<bos>` included, whose value is the comparison's constant. Positions may be
counted too: #(i <= m) says the same of all words up to the context as a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil


@dataclass(frozen=True, slots=True)
class MeanCount:
    """What an Average's value averages: multiples of the power of two `unit` of at most `size` at
    ordinary positions, `bos` at `<bos>`, all multiples of `grid`; i+1 times the mean is never
    nearer to 0 than `least`."""

    size: float
    bos: float
    unit: float
    grid: float
    least: float

    @property
    def most(self) -> float:
        """No mean is larger (`variables.magnitude` says the same of its cell)."""
        return max(self.size, abs(self.bos))


def nearest(constant: Fraction, unit: Fraction) -> tuple[Fraction, int]:
    """The least |unit·m + constant| over integers m, and the least m for which it is positive."""
    if not unit:  # m = 0: 0 >= 0 holds, and 0 >= 1 does not
        return abs(constant), 0 if constant > 0 else 1
    threshold = ceil(-constant / unit)
    up = unit * threshold + constant
    return min(up, unit - up), threshold
