"""One row of attention: its type, its gap profile and its critical inverse temperature.

For argmax set A with |A| = k and gaps g_j of the other keys, softmax at inverse temperature β
leaks Σe^(-βg_j) / (k + Σe^(-βg_j)): an equality. So β suffices for leak ≤ δ if and only if
Σe^(-βg_j) ≤ kδ/(1-δ), and the least such β is the root of that equality.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.io.errors import SofthatError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Profile:
    """A row's gap profile: |A|, and how many competitors lie at which gap (nearest first)."""

    winners: int
    gaps: tuple[tuple[Fraction, int], ...]

    def critical_beta(self, leak: float) -> float:
        """The least β at which softmax leaks at most this much."""
        spread = [float(gap) for gap, count in self.gaps for _ in range(count)]
        return critical_beta(spread, leak, self.winners)

    def leak(self, beta: float) -> float:
        """The attention weight outside the argmax set at β: an equality."""
        rest = sum(count * math.exp(-beta * float(gap)) for gap, count in self.gaps)
        return rest / (self.winners + rest)


def critical_beta(gaps: Iterable[float], leak: float, winners: int = 1) -> float:
    """The root of Σe^(-βg) = winners·leak/(1-leak), to 1e-12; 0 where β = 0 suffices."""
    array = np.asarray(list(gaps), dtype=np.float64)
    return float(critical_betas(array[None, :], leak, np.array([winners]))[0])


def critical_betas(
    gaps: Floats, leak: float, winners: npt.NDArray[np.int64] | npt.NDArray[np.float64]
) -> Floats:
    """`critical_beta` of many rows: gaps is (rows, keys), with inf where there is no competitor.

    f(β) = ln Σe^(-βg) - ln(kδ/(1-δ)) is convex and decreasing, so Newton's method from β = 0
    climbs to the root from the left.
    """
    if not 0 < leak < 1:
        raise SofthatError(f"the leak must lie strictly between 0 and 1, not {leak!r}")
    target = np.log(winners * (leak / (1 - leak)))
    count = np.isfinite(gaps).sum(axis=1)
    open_rows = (count > 0) & (np.log(np.maximum(count, 1)) > target)
    result = np.zeros(len(gaps))
    if not open_rows.any():
        return result
    g, goal = gaps[open_rows], target[open_rows]
    nearest = g.min(axis=1, keepdims=True)  # the unit of gaps, so that 2^-900 is no problem
    with np.errstate(over="ignore"):
        units = np.where(np.isfinite(g), g / nearest, np.inf)
    counted = np.isfinite(units)
    units = np.where(counted, units, 0.0)
    steep = np.zeros(len(g))  # β times the nearest gap
    for _ in range(200):
        terms = np.where(counted, np.exp(-steep[:, None] * (units - 1)), 0.0)  # times e^-steep
        total = terms.sum(axis=1)
        slope = (terms * units).sum(axis=1) / total
        step = (np.log(total) - steep - goal) / slope
        steep = steep + np.maximum(step, 0.0)
        if np.all(step <= 1e-15 * steep):
            break
    with np.errstate(over="ignore"):
        result[open_rows] = steep / nearest[:, 0]
    return result
