"""Number formats: what a dtype means.

A dtype is the storage format. float16 and bfloat16 compute in float32 and round to the storage
format after each named step (projection, score, weight, head output, hidden unit, residual), as
hardware does; float32 and float64 compute in themselves, but for scores of more than three
products, which are always summed in float64. This is what certificates model.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError

NARROW = 3
"""Scores of more products than this are summed in float64."""
MANY = 8
"""Sums of more hidden units than this are taken in float64."""
WIDE_DIGITS = 53
"""Significand bits of those sums."""


@dataclass(frozen=True, slots=True)
class Format:
    """A storage format: `digits` significand bits in storage, `sum_digits` where sums are taken."""

    name: str
    digits: int
    sum_digits: int
    storage: Any
    accumulate: Any
    largest: float
    smallest: float
    """The least positive number, subnormals included."""
    normal: float
    """The least positive number with all its digits."""

    @property
    def lost(self) -> float:
        """e^-x is 0 in the accumulating dtype for x from here on."""
        least = FORMATS["float32" if self.sum_digits == 24 else "float64"].smallest
        return float(ceil(log(2) - log(least)))

    def round(self, x: NDArray[Any]) -> NDArray[Any]:
        """`x`, held in the accumulating dtype, rounded to the storage format."""
        if self.storage is self.accumulate:
            return x
        return self.store(x)

    def store(self, x: NDArray[Any]) -> NDArray[Any]:
        """`x`, held in any dtype, rounded to the storage format."""
        if x.dtype == self.storage:
            return x
        with np.errstate(over="ignore"):  # a loser's score may overflow to -inf: it only loses
            return x.astype(self.storage).astype(self.accumulate, copy=False)

    def load(self, x: NDArray[Any]) -> NDArray[Any]:
        """Weights or features in this format."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(x).astype(self.storage).astype(self.accumulate)


_KNOWN = (
    Format("float16", 11, 24, np.float16, np.float32, 65504.0, 2.0**-24, 2.0**-14),
    Format(
        "bfloat16", 8, 24, ml_dtypes.bfloat16, np.float32,
        (2 - 2.0**-7) * 2.0**127, 2.0**-133, 2.0**-126,
    ),
    Format(
        "float32", 24, 24, np.float32, np.float32,
        (2 - 2.0**-23) * 2.0**127, 2.0**-149, 2.0**-126,
    ),
    Format(
        "float64", 53, 53, np.float64, np.float64,
        (2 - 2.0**-52) * 2.0**1023, 5e-324, 2.0**-1022,
    ),
)  # fmt: skip
FORMATS = {form.name: form for form in _KNOWN}


def format_of(dtype: Any) -> Format:
    """The format of a name or NumPy dtype."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
    if name not in FORMATS:
        raise SofthatError(f"unknown dtype {name!r}: choose one of {', '.join(FORMATS)}")
    return FORMATS[name]
