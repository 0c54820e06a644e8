"""How far the mean square of a disguised Llama's residual stream is off 1, and with it RMSNorm.

Let w be the residual stream without its noise, E = (|w|² - d)/d, and ρ the error of RMSNorm's
factor, (1 + E)^(-1/2) - 1 up to noise and rounding. A gate that holds writes 2(1 + ρ)², so that its
bit is ((1 - E)/(1 + E)) in size and its square changes by -4E/(1 + E)²: k of them make E into
E(1 - 4k/(d(1 + E)²)). What a gate is off because of the factor brings the mean square back towards
1, and the factor's error does not grow with the gates that read it. What a head returns comes from
other positions, whose factor is another; means add their squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Squares:
    """At every position E is between these."""

    low: float
    high: float

    @property
    def most(self) -> float:
        return max(abs(self.low), abs(self.high))

    def widened(self, by: float) -> Squares:
        return Squares(self.low - by, self.high + by)

    def attended(self, by: float, means: float) -> Squares:
        """Heads write bits, whose squares are off by `by` of d together, and means, whose squares
        are at most `means` of d."""
        return Squares(self.low - by, self.high + by + means)

    def clipped(self, share: float, by: float) -> Squares:
        """At most `share` of all coordinates are bits that gates write, whose squares are off by
        `by` of d together, but for the factor."""
        least = 1 - 4 * share / (1 + self.low) ** 2
        ends = (self.low, self.high, least * self.low, least * self.high)
        return Squares(min(ends) - by, max(ends) + by)

    def factors(self, by: float) -> tuple[float, float]:
        """The least and the largest ρ, rounded by at most `by`."""
        return (1 + self.high) ** -0.5 - 1 - by, (1 + self.low) ** -0.5 - 1 + by


def squares_off(written: NDArray[np.bool_], before: Vector, off: Vector) -> float:
    """The most by which Σ v² changes where ±1, off by `before`, become others, off by `off`."""
    each = 2 * (before + off) + off**2 + before**2
    return float(each[written].sum())
