"""A rational matrix as float64 numbers, with the dyadic grid each entry lies on.

The grids of Theorem 31: multiples of 2^k whose sums are at most 2^(k + digits) are floats, so their
sums are exact in every order; a product of multiples of 2^k and 2^l is one of 2^(k + l).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.numbers.rationals import odd_part, power_in
from softhat.numerics.exact import Matrix, floats
from softhat.numerics.formats import Format

Floats = npt.NDArray[np.float64]
ANY = 1e300  # the grid of 0: every grid holds it


@dataclass(frozen=True, slots=True)
class Entries:
    """A matrix: its nearest floats, and for each entry the greatest power of two that divides it
    (0: none does) and how many significant bits it has."""

    values: Floats
    size: Floats  # absolute values
    step: Floats
    digits: npt.NDArray[np.int64]

    def grid(self, form: Format) -> Floats:
        """The grids of entries that are numbers of a format; 0 for others."""
        fits = (self.digits <= form.digits) & (self.step >= form.smallest)
        return np.where(fits, self.step, 0.0)

    def product_grid(self, grid: Floats, form: Format) -> Floats:
        """(blocks, rows): the grid of each row times numbers on these grids (blocks, columns);
        0 if one of them has none."""
        if not self.values.size:
            return np.full((len(grid), len(self.values)), ANY)
        # A finite product of powers of two within range; entries that are 0 do not matter.
        with np.errstate(over="ignore", invalid="ignore"):
            products = np.where(self.size > 0, self.grid(form) * grid[:, None, :], ANY)
        return np.minimum(products.min(axis=2), ANY)


def entries(matrix: Matrix, columns: int) -> Entries:
    """A rational matrix with what floats make of it."""
    values = floats(matrix, columns).reshape(len(matrix), columns)
    found = [dyadic(x) for row in matrix for x in row]
    step = np.array([s for s, _ in found], dtype=np.float64).reshape(values.shape)
    digits = np.array([k for _, k in found], dtype=np.int64).reshape(values.shape)
    return Entries(values, np.abs(values), step, digits)


def dyadic(x: Fraction) -> tuple[float, int]:
    """The greatest power of two that divides x, and x's significant bits; (0, 0) if there is none
    (x is no dyadic number, or far out of range)."""
    if not x:
        return ANY, 0
    if x.denominator & (x.denominator - 1):
        return 0.0, 0
    step = power_in(x)
    inside = Fraction(2) ** -300 < step < Fraction(2) ** 300
    return (float(step), odd_part(x).bit_length()) if inside else (0.0, 0)
