"""How linear maps round in a number format: quantities with their error, and sums of products.

A product with a power of two, a sum with 0 and whatever fits the significand are exact: most maps
of hand-made models round nothing. What is left is at most u·|partial sum| for each operation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.io.errors import VoidError
from softhat.numerics.boxes import Box
from softhat.numerics.entries import Entries
from softhat.numerics.formats import FORMATS, Format

Floats = npt.NDArray[np.float64]
INEXACT = 0.0  # a grid of 0: not known to be exact
RANGE = "something may leave the format's range"
SLACK = 1.01
"""For products of roundings. A result is stored at most three times, u ≤ 2^-8, and is summed with
fewer than 2^15 roundings of u' ≤ 2^-24: (1 + u)^3 - 1 ≤ 1.004·3u, (1 + u')^k - 1 ≤ 1.001·k·u' for
such k, and the product of both adds at most 2^-9 of the larger."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """Quantities in floats, (blocks, coordinates): off by at most `error` from the reals, which
    lie in `box`; where `grid` is not 0 they are exact multiples of it, a power of two."""

    error: Floats
    box: Box
    grid: Floats
    tied: Floats
    """One number a coordinate: two positions whose numbers are equal in the reals have equal
    floats, or (both being 0 in the reals) floats of at most this size; inf: nothing is known.
    Only kept against hard attention."""

    @property
    def size(self) -> Floats:
        """In the reals."""
        return self.box.size

    @property
    def hat(self) -> Floats:
        """In floats."""
        return self.box.size + self.error

    @property
    def still(self) -> npt.NDArray[np.bool_]:
        """Where it is 0 in the reals and in floats."""
        return (self.box.size == 0) & (self.error == 0)


class Arithmetic:
    """A number format's sums and products."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.u = 2.0**-form.digits
        self.u_sum = 2.0**-form.sum_digits
        self.tiny = form.smallest
        self.narrow = form.digits != form.sum_digits
        self.most = 2.0**form.digits  # steps of a grid that fit the significand

    def fits(self, sizes: Floats, summed: bool = False) -> None:
        """Nothing may overflow the format, or the wider one that sums are taken in."""
        largest = FORMATS["float32"].largest if summed and self.narrow else self.form.largest
        if sizes.size and not float(np.max(sizes)) < largest / 4:
            raise VoidError(RANGE)

    def on_grid(self, grid: Floats, size: Floats) -> Floats:
        """The grid where numbers of this size fit it, else INEXACT."""
        exact = (grid >= self.tiny) & (size <= self.most * grid)
        return np.where(exact, grid, INEXACT)

    def linear(self, x: Rounded, matrix: Entries, stored: bool = True) -> Rounded:
        """matrix · x, rounded to the format at the end if `stored`."""
        x_hat = x.hat
        size = x_hat @ matrix.size.T
        self.fits(matrix.size)
        self.fits(size)
        rounds, stays = self.operations(matrix)
        relative = rounds + (self.u * ~stays if self.narrow and stored else 0.0)
        lost = self.tiny * (1 + x_hat.max(axis=1, initial=0.0))[:, None]  # underflow
        terms = (matrix.size > 0).sum(axis=1)
        error = x.error @ matrix.size.T + SLACK * relative * size
        error = error + np.where(stays, 0.0, (terms + 1) * lost)
        grid = self.on_grid(matrix.product_grid(x.grid, self.form), size)
        error = np.where((grid > 0) | (terms == 0), 0.0, error)
        tied = np.where((grid > 0).all(axis=0), 0.0, np.inf)
        tied = np.minimum(tied, scaled(matrix, x.tied, alone=True))
        return Rounded(error, x.box.through(matrix.values), grid, tied)

    def operations(self, matrix: Entries) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """For each row: what its loading, products and sums round, in relation to the sum of
        absolute values; and whether it gives one number of the format, times a power of two."""
        used = matrix.size > 0
        terms = used.sum(axis=1)
        loaded = np.where(used, matrix.grid(self.form) > 0, True)
        powers = np.where(used, (matrix.digits == 1) & loaded, True)
        growing = np.where(used, powers & (matrix.size >= 1), True).all(axis=1)
        sums = np.maximum(terms - 1, 0) + ~powers.all(axis=1)
        return self.u * ~loaded.all(axis=1) + self.u_sum * sums, (terms <= 1) & growing

    def shifted(self, y: Rounded, bias: Entries) -> Rounded:
        """y + bias, rounded to the format."""
        shift, size = bias.values[0], bias.size[0]
        moved = size > 0
        total = y.hat + size
        self.fits(total)
        steps = bias.grid(self.form)[0]
        # The sum, the bias when it is loaded, and the result when it is stored.
        relative = self.u_sum * moved + self.u * (steps == 0) + self.u * self.narrow
        error = y.error + SLACK * relative * total + self.tiny
        grid = self.on_grid(np.minimum(y.grid, steps), total)
        error = np.where(grid > 0, 0.0, np.where(moved | self.narrow, error, y.error))
        box = Box(y.box.low + shift, y.box.high + shift)
        tied = np.where((grid > 0).all(axis=0), 0.0, np.where(moved, np.inf, SLACK * y.tied))
        return Rounded(error, box, grid, tied)


def scaled(matrix: Entries, tied: Floats, alone: bool = False) -> Floats:
    """How far rows of a matrix keep equal numbers apart (`alone`: rows with one entry only)."""
    used = matrix.size > 0
    found = np.where(used, SLACK * matrix.size * np.where(used, tied, 0.0), 0.0).sum(axis=1)
    found = np.where((used & (tied == np.inf)).any(axis=1), np.inf, found)
    return np.where(used.sum(axis=1) == 1, found, np.inf) if alone else found


def gamma(operations: float, u: float) -> float:
    """(1 + u)^k - 1, at most."""
    x = operations * u
    return x / (1 - x) if x < 0.99 else float("inf")
