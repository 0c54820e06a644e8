"""A rational matrix as float64 numbers, with the dyadic grid each entry lies on.

The grids of Theorem 31: multiples of 2^k whose sums are at most 2^(k + digits) are floats, so their
sums are exact in every order; a product of multiples of 2^k and 2^l is one of 2^(k + l).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.numbers.rationals import odd_part, power_in
from softhat.numerics.exact import Matrix, floats
from softhat.numerics.formats import Format

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
ANY = 1e300  # the grid of 0: every grid holds it


@dataclass(frozen=True, slots=True)
class LoadedEntries:
    """A matrix in a number format: what its rows do to numbers of that format."""

    grid: Floats
    """The grids of entries that are numbers of the format; 0 for others."""
    load: Floats
    """How far entries are off: half a unit in the last place, of a subnormal one at the least."""
    size: Floats
    """Absolute values, as loaded."""
    terms: npt.NDArray[np.int64]
    """Entries of each row that are not 0."""
    growing: Truths
    """Rows of powers of two that are at least 1: none of their products rounds or underflows."""
    sums: npt.NDArray[np.int64]
    """Roundings on the way of a term to the sum, at most: its product, and each of the others."""


@dataclass(frozen=True, slots=True)
class Entries:
    """A matrix: its nearest floats, and for each entry the greatest power of two that divides it
    (0: none does) and how many significant bits it has."""

    values: Floats
    size: Floats  # absolute values
    step: Floats
    digits: npt.NDArray[np.int64]

    _loaded: dict[str, LoadedEntries] = field(default_factory=dict, compare=False, repr=False)

    def loaded(self, form: Format) -> LoadedEntries:
        """What a format makes of them, computed once."""
        if form.name not in self._loaded:
            self._loaded[form.name] = _loaded(self, form)
        return self._loaded[form.name]

    def grid(self, form: Format) -> Floats:
        """The grids of entries that are numbers of a format; 0 for others."""
        return self.loaded(form).grid

    def product_grid(self, grid: Floats, form: Format) -> Floats:
        """(blocks, rows): the grid of each row times numbers on these grids (blocks, columns);
        0 if one of them has none."""
        if not self.values.size:
            return np.full((len(grid), len(self.values)), ANY)
        # A finite product of powers of two within range; entries that are 0 do not matter.
        with np.errstate(over="ignore", invalid="ignore"):
            products = np.where(self.size > 0, self.grid(form) * grid[:, None, :], ANY)
        return np.minimum(products.min(axis=2), ANY)


def _loaded(matrix: Entries, form: Format) -> LoadedEntries:
    fits = (matrix.digits <= form.digits) & (matrix.step >= form.smallest)
    grid, used = np.where(fits, matrix.step, 0.0), matrix.size > 0
    off = np.maximum(2.0**-form.digits * matrix.size, form.floor)
    load = np.where(used & (grid == 0), off, 0.0)
    terms = used.sum(axis=1)
    powers = np.where(used, (matrix.digits == 1) & (load == 0), True)
    growing = np.asarray(np.where(used, powers & (matrix.size >= 1), True).all(axis=1))
    sums = np.maximum(terms - 1, 0) + ~powers.all(axis=1)
    return LoadedEntries(grid, load, matrix.size + load, terms, growing, sums)


def beside(parts: Sequence[Entries]) -> Entries:
    """Matrices with the same rows, side by side."""
    return Entries(
        np.concatenate([x.values for x in parts], axis=1),
        np.concatenate([x.size for x in parts], axis=1),
        np.concatenate([x.step for x in parts], axis=1),
        np.concatenate([x.digits for x in parts], axis=1),
    )


def entries(matrix: Matrix, columns: int) -> Entries:
    """A rational matrix with what floats make of it."""
    values = floats(matrix, columns).reshape(len(matrix), columns)
    dyadics = [dyadic(x) for row in matrix for x in row]
    step = np.array([s for s, _ in dyadics], dtype=np.float64).reshape(values.shape)
    digits = np.array([k for _, k in dyadics], dtype=np.int64).reshape(values.shape)
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
