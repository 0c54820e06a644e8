"""Number formats as the proof sees them: what follows from `softhat.numbers.formats`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import frexp, ldexp, log

import numpy as np

from softhat.numbers import formats
from softhat.numbers.formats import NARROW, WIDE_DIGITS

CAP = 2**53
"""Certified lengths end here: beyond, not even float64 holds every position."""


@dataclass(frozen=True, slots=True)
class Format:
    """`digits` significand bits in storage, `sum_digits` where sums are taken, `wide_digits`
    where a score of more than three products is."""

    name: str
    digits: int
    sum_digits: int
    wide_digits: int
    largest: float
    smallest: float
    """The least positive number, subnormals included."""
    normal: float
    """The least positive number with all its digits."""
    sum_largest: float
    """The largest number where sums are taken."""
    sum_smallest: float
    """The least positive number where sums are taken: no product and no sum is spaced finer."""

    held_digits: int
    """Of scores: dense attention rounds them to storage, other kernels keep them as summed."""
    held_largest: float
    weight_smallest: float
    """The least positive weight exp(score - maximum)."""
    exp_units: int = 8
    """Roundings of exp, and of what else is done to a weight before it is stored."""
    divisions: int = 1
    """Roundings of a mean after its sum: one division, or a reciprocal and a product."""

    def __hash__(self) -> int:  # bounds are looked up by it, often
        return hash(self.name)

    @property
    def u(self) -> float:
        """The largest relative error of rounding to storage; 0 where sums are stored as such."""
        return 0.0 if self.digits == self.sum_digits else 2.0**-self.digits

    @property
    def u_sum(self) -> float:
        return 2.0**-self.sum_digits

    @property
    def u_score(self) -> float:
        """The largest relative error of holding a score; 0 where it is kept as summed."""
        return 0.0 if self.held_digits >= self.sum_digits else 2.0**-self.held_digits

    @property
    def between(self) -> int:
        """Roundings of a mean beside its two sums: its division, and what a fused kernel does
        between blocks."""
        return self.divisions + self.exp_units - 8

    @property
    def visible(self) -> float:
        """Weights e^-x with x beyond this are 0."""
        return log(2) - log(self.weight_smallest)

    def holds_score(self, size: float, grid: float) -> bool:
        """Whether all scores that are multiples of `grid` up to `size` are held exactly."""
        return size <= 2.0**self.held_digits * grid and size <= self.held_largest

    def holds(self, size: float, grid: float) -> bool:
        """Whether all multiples of `grid` up to `size` are representable."""
        return size <= 2.0**self.digits * grid and size <= self.largest and grid >= self.smallest

    def grid(self, size: float) -> float:
        """The spacing at which sums up to `size` are rounded."""
        return max(_spacing(size, self.sum_digits), self.sum_smallest)

    def grid_of_score(self, size: float, products: int) -> float:
        """The spacing at which scores up to `size` are summed."""
        digits = self.wide_digits if products > NARROW else self.sum_digits
        return max(_spacing(size, digits), self.sum_smallest)

    def roundoff(self, size: float) -> float:
        """How far the largest of numbers up to `size` is off when stored, as a share of `size`."""
        return _spacing(size, self.digits) / 2 / size if size else 0.0

    def load(self, weight: float) -> float:
        """A weight as stored."""
        return _stored(self.name, weight)


def grid_of(weight: float) -> float:
    """The largest power of two that `weight` is a multiple of."""
    numerator, denominator = float(weight).as_integer_ratio()
    return (numerator & -numerator) / denominator if numerator else float("inf")


def _spacing(size: float, digits: int) -> float:
    """The least power of two g with size <= 2^digits·g."""
    if size <= 0:
        return 0.0
    mantissa, exponent = frexp(size)
    return ldexp(1.0, exponent - (mantissa == 0.5) - digits)


@lru_cache(maxsize=1 << 16)
def _stored(name: str, weight: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.asarray(weight, np.float64).astype(formats.FORMATS[name].storage))


_SUMS = {24: formats.FORMATS["float32"], 53: formats.FORMATS["float64"]}
"""The format that sums of so many digits are taken in."""
FORMATS = {
    f.name: Format(
        f.name,
        f.digits,
        f.sum_digits,
        WIDE_DIGITS,
        f.largest,
        f.smallest,
        f.normal,
        _SUMS[f.sum_digits].largest,
        _SUMS[f.sum_digits].smallest,
        f.digits,
        f.largest,
        f.smallest,
    )
    for f in formats.FORMATS.values()
}
