"""How far a computed number can be from the exact one.

The model computes in float32 (or float64), the proof itself in float64. Both round each step of the
same computation. A bound that is linear in the unit roundoff, or grows faster, holds for the
difference of the two results when the units are added: γ(u) + γ(v) <= γ(u + v). So one `Rounding`
with the sum of both units counts the model's rounding and the proof's own at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.numerics.rounding import OWN_UNIT as OWN_UNIT
from softhat.numerics.rounding import lowered as lowered
from softhat.numerics.rounding import raised as raised

Array = NDArray[np.float64]

FUNCTION_ULPS = 20
"""Library functions (exp, tanh, erf, pow) are assumed to be within this many units in the last
place; those of PyTorch and NumPy are within 4. A unit is two roundoffs."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """`unit`: roundoff of the model's format plus the proof's own; `least`: what may vanish."""

    unit: float
    least: float
    """The least normal number: a result below it may be flushed to zero."""
    most: float
    """Numbers up to this cannot overflow, not even 2^16 of them added up and multiplied by 2^10."""

    def gamma(self, steps: float) -> float:
        """γ_k = k u / (1 - k u): the relative error of k roundings, in any order (Higham, 3.1)."""
        k = steps * self.unit
        if not k < 0.5:
            return np.inf
        return float(raised(k / (1 - k), 4))

    def overflow(self, size: Array) -> Array:
        """∞ where results of this size may overflow, else 0."""
        return np.where(size <= self.most, 0.0, np.inf)  # ∞ for NaN too

    @property
    def function(self) -> float:
        """The relative error of a library function."""
        return self.gamma(2 * FUNCTION_ULPS)


HEADROOM = 2.0**-27
UNITS = {
    "float32": (2.0**-24, 2.0**-126, 2.0**127 * HEADROOM),
    "float64": (2.0**-53, 2.0**-1022, 2.0**1023 * HEADROOM),
}
"""Of each format: unit roundoff, least normal number, and what is far from the largest."""


def rounding_of(dtype: str) -> Rounding:
    """What a model that runs in this format, and the proof about it, can be off by."""
    unit, least, most = UNITS[dtype]
    return Rounding(unit + OWN_UNIT, least, most)
