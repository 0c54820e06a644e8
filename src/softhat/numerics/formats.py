"""Number formats: what a dtype means, to the runtimes and to the proofs.

A dtype is the storage format. float16 and bfloat16 compute in float32 and round to the storage
format after each named step (projection, score, weight, head output, hidden unit, residual), as
hardware does; float32 and float64 compute in themselves, but for scores of more than three
products, which are always summed in float64. This is what certificates model; what another
software's attention does instead is its `Kernel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, frexp, ldexp, log
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.numerics.kernels import DENSE, Kernel

NARROW = 3
"""Scores of more products than this are summed in float64."""
MANY = 8
"""Sums of more hidden units than this are taken in float64."""
WIDE_DIGITS = 53
"""Significand bits of those sums."""
CAP = 2**53
"""Certified lengths end here: beyond, not even float64 holds every position."""


@dataclass(frozen=True)
class Format:
    """A storage format: `digits` significand bits in storage, `sum_digits` where sums are taken.

    Not every attribute is a field: the others follow from these, and are computed once.
    """

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
    kernel: Kernel = DENSE
    """How attention computes."""

    def __hash__(self) -> int:  # bounds are looked up by it, often
        return hash(self.name)

    # Rounding

    @property
    def wide(self) -> bool:
        """Sums are stored as such."""
        return self.digits == self.sum_digits

    @cached_property
    def unit(self) -> float:
        """The largest relative error of rounding to storage."""
        return 2.0**-self.digits

    @cached_property
    def u(self) -> float:
        """The same; 0 where sums are stored as such."""
        return 0.0 if self.wide else self.unit

    @cached_property
    def u_sum(self) -> float:
        """The largest relative error of a sum."""
        return 2.0**-self.sum_digits

    @cached_property
    def floor(self) -> float:
        """The largest error of storing a number near 0."""
        return self.smallest / 2

    def holds(self, size: float, grid: float) -> bool:
        """Whether all multiples of `grid` up to `size` are representable."""
        return size <= 2.0**self.digits * grid and size <= self.largest and grid >= self.smallest

    def roundoff(self, size: float) -> float:
        """How far the largest of numbers up to `size` is off when stored, as a share of `size`."""
        return _spacing(size, self.digits) / 2 / size if size else 0.0

    # Sums

    @cached_property
    def summed(self) -> Format:
        """The format that sums are taken in: nothing summed is larger than its largest number
        or spaced finer than its smallest."""
        return FORMATS["float32" if self.sum_digits == 24 else "float64"]

    @cached_property
    def lost(self) -> float:
        """e^-x is 0 in the accumulating dtype for x from here on."""
        return float(ceil(log(2) - log(self.summed.smallest)))

    def grid(self, size: float) -> float:
        """The spacing at which sums up to `size` are rounded."""
        return max(_spacing(size, self.sum_digits), self.summed.smallest)

    # Scores and weights: dense attention rounds them to storage, others keep them as summed

    @cached_property
    def wide_digits(self) -> int:
        """Where a score of more than three products is summed."""
        return WIDE_DIGITS if self.kernel.wide_scores else self.sum_digits

    @cached_property
    def held(self) -> Format:
        """The format that scores and weights are held in."""
        return self if self.kernel.stores_scores else self.summed

    @cached_property
    def u_score(self) -> float:
        """The largest relative error of holding a score; 0 where it is kept as summed."""
        return 0.0 if self.held.digits >= self.sum_digits else self.held.unit

    @cached_property
    def visible(self) -> float:
        """Weights e^-x with x beyond this are 0."""
        return log(2) - log(self.held.smallest)

    def holds_score(self, size: float, grid: float) -> bool:
        """Whether all scores that are multiples of `grid` up to `size` are held exactly."""
        return size <= 2.0**self.held.digits * grid and size <= self.held.largest

    def grid_of_score(self, size: float, products: int) -> float:
        """The spacing at which scores up to `size` are summed."""
        digits = self.wide_digits if products > NARROW else self.sum_digits
        return max(_spacing(size, digits), self.summed.smallest)

    # Numbers in this format

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

    def stored(self, weight: float) -> float:
        """One weight as this format has it."""
        return _stored(self.storage, weight)


def _spacing(size: float, digits: int) -> float:
    """The least power of two g with size <= 2^digits·g."""
    if size <= 0:
        return 0.0
    mantissa, exponent = frexp(size)
    return ldexp(1.0, exponent - (mantissa == 0.5) - digits)


@lru_cache(maxsize=1 << 16)
def _stored(storage: Any, weight: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.asarray(weight, np.float64).astype(storage))


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
