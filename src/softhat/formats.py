"""Number formats: what a dtype means.

A dtype is the storage format. float16 and bfloat16 compute in float32 and round to the storage
format after each named step (projection, score, weight, head output, hidden unit, residual), as
hardware does; float32 and float64 compute in themselves, but for scores of more than three
products, which are always summed in float64. This is what certificates model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from softhat.errors import SofthatError


@dataclass(frozen=True, slots=True)
class Format:
    """A storage format: `digits` significand bits, and the dtype that sums are taken in."""

    name: str
    digits: int
    storage: Any
    accumulate: Any

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


FORMATS = {
    "float16": Format("float16", 11, np.float16, np.float32),
    "bfloat16": Format("bfloat16", 8, ml_dtypes.bfloat16, np.float32),
    "float32": Format("float32", 24, np.float32, np.float32),
    "float64": Format("float64", 53, np.float64, np.float64),
}


def format_of(dtype: Any) -> Format:
    """The format of a name or NumPy dtype."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
    if name not in FORMATS:
        raise SofthatError(f"unknown dtype {name!r}: choose one of {', '.join(FORMATS)}")
    return FORMATS[name]
