"""Numbers of a float program on given words: a centre, and what rounding in any order may add.

Theorem 36. Every number that a float program computes on a word is in centre + Σ_s [-1, 1]·noise_s:
the symbols s are the roundings that happened so far at its position. A linear map acts on centre
and symbols alike, so errors cancel where what they are in cancels, and a step adds symbols of its
own. A sum of m terms in any order is a tree with m leaves; of its m - 1 inner nodes, sorted by
their leaves, the j-th has at most j + 1, so its sum is at most that of the j + 1 greatest positive
terms, or negative ones: it rounds half a unit in the last place of that, the last node half a unit
of the result; and nothing rounds if the terms lie on a grid on which all of them fit the
significand. Numbers without noise are the floats themselves; noisy ones are multiples of the unit
in the last place of the least they can be. A ReLU whose sign is known keeps its symbols or drops
them; else, for x in [l, u], it lies within -ul/2(u - l) of u(x - l/2)/(u - l).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.io.errors import VoidError
from softhat.numbers.rationals import grids_of
from softhat.numerics.entries import ANY, Entries
from softhat.numerics.formats import FORMATS, Format
from softhat.numerics.rounding import RANGE
from softhat.numerics.zonotopes import Zonotope, exactly

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
OWN = 2.0**-51  # what float64, in which centres are computed, rounds itself, for each term
MOST_SYMBOLS = 96


def half_unit(size: Floats, digits: int, tiny: float) -> Floats:
    """Half a unit in the last place of numbers of at most this size; 0 if that is 0."""
    mantissa, exponent = np.frexp(size)  # what is at most 2^e rounds as what is below it
    half: Floats = np.maximum(np.ldexp(1.0, exponent - 1 - digits - (mantissa == 0.5)), tiny)
    return np.where(size == 0, 0.0, half)


def greatest_part(terms: Floats, spread: Floats) -> Floats:
    """The greatest sum of some of the terms."""
    up = (np.maximum(terms, 0) + spread).sum(axis=-1)
    greatest: Floats = np.maximum(up, (np.maximum(-terms, 0) + spread).sum(axis=-1))
    return greatest


def any_order(terms: Floats, spread: Floats, count: Counts, digits: int, tiny: float) -> Floats:
    """What all additions but the last may round, where `count` of the terms are not 0."""
    up = np.cumsum(-np.sort(-np.maximum(terms, 0) - spread, axis=-1), axis=-1)
    down = np.cumsum(-np.sort(-np.maximum(-terms, 0) - spread, axis=-1), axis=-1)
    parts = np.maximum(up, down)[..., 1:]
    parts[..., 1:] *= 1 + count[..., None] * 2.0 ** (2 - digits)  # of floats that were rounded
    before = np.arange(2, terms.shape[-1] + 1) < count[..., None]
    rounding: Floats = np.where(before, half_unit(parts, digits, tiny), 0.0).sum(axis=-1)
    return rounding


def together(parts: Sequence[Zonotope]) -> Zonotope:
    """Numbers side by side, each with symbols of its own."""
    centre = np.concatenate([part.centre for part in parts], axis=-1)
    return exactly(centre).off(np.concatenate([part.radius for part in parts], axis=-1))


def boxed(x: Zonotope) -> Zonotope:
    """With one symbol for each number, if there are many more."""
    few = max(MOST_SYMBOLS, x.centre.shape[-1])
    return x if len(x.symbols) <= few else exactly(x.centre).off(x.radius)


class FloatProgram:
    """The walk's numbers: zonotopes of a program in one number format, (words, rows,
    coordinates). Weights are `Entries`, loaded as the format has them."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.narrow = form.digits != form.sum_digits
        # What is rounded once has one result, unless the format stands for coarser kernels.
        self.repeats = form == FORMATS[form.name]
        self.tiny = FORMATS["float32"].smallest if self.narrow else form.smallest

    def fits(self, size: Floats) -> None:
        """Nothing is proved if something may overflow."""
        if size.size and not float(size.max()) < self.form.largest / 4:
            raise VoidError(RANGE)

    def grid(self, x: Zonotope, digits: int) -> Floats:
        """Powers of two that divide the floats, which have this many digits."""
        radius = x.radius
        least = np.abs(x.centre) - radius
        exponent = np.frexp(np.maximum(least, self.tiny))[1]
        unit = np.maximum(np.ldexp(1.0, exponent - digits), self.tiny)
        exact = np.minimum(grids_of(x.centre), ANY)
        return np.where(radius == 0, exact, np.where(least > 0, unit, self.tiny))

    def linear(self, x: Zonotope, matrix: Entries) -> Zonotope:
        """matrix · x."""
        return self.product(x, self.loaded(matrix.values))

    def shift(self, x: Zonotope, bias: Entries) -> Zonotope:
        """x + bias."""
        return self.add(x, exactly(self.loaded(bias.values[0])))

    def attend(self, query: Zonotope, key: Zonotope, value: Zonotope, head: Any) -> Zonotope:
        """What rows read depends on which of them there are."""
        raise NotImplementedError

    def gather(self, reads: Sequence[Zonotope], layer: Any) -> Zonotope:
        """Σ of the heads' outputs, by one matrix."""
        matrix = np.concatenate([head.output.values for head in layer.heads], axis=1)
        return self.product(together(reads), self.loaded(matrix))

    def product(self, x: Zonotope, matrix: Floats) -> Zonotope:
        """matrix · x in sums of any order; both are numbers of the format."""
        form, rows = self.form, len(matrix)
        read = np.flatnonzero(matrix.any(axis=0))
        matrix, x = matrix[:, read], x.only(read)
        centre = np.zeros((*x.centre.shape[:-1], rows))
        error = np.zeros_like(centre)
        radius, grid = x.radius, self.grid(x, form.digits)
        there = (x.centre != 0) | (radius > 0)
        bits = np.minimum(grids_of(matrix), ANY)
        for r in range(rows):
            columns = np.flatnonzero(matrix[r])
            if not len(columns):
                continue
            w = matrix[r, columns]
            terms, spread = x.centre[..., columns] * w, radius[..., columns] * np.abs(w)
            centre[..., r] = terms.sum(axis=-1)
            steps = grid[..., columns] * bits[r, columns]
            if len(w) == 1 and bits[r, columns[0]] == abs(w[0]) and (steps >= self.tiny).all():
                continue  # a power of two times a number rounds nothing
            used = there[..., columns]
            powers = np.where(used, bits[r, columns] == np.abs(w), True)
            error[..., r] = self._summed(terms, spread, steps, used, powers)
        image = replace(x, centre=centre, generators=x.generators @ matrix.T, error=error).folded()
        self.fits(image.size)
        return image

    def _summed(
        self, terms: Floats, spread: Floats, steps: Floats, used: Truths, powers: Truths
    ) -> Floats:
        """What a sum of products rounds, in any order; products are multiples of the steps, and
        those with a `power` of two are floats."""
        digits, tiny = self.form.sum_digits, self.tiny
        count, step = used.sum(axis=-1), steps.min(axis=-1)
        total = np.abs(terms.sum(axis=-1)) + spread.sum(axis=-1)
        size = np.abs(terms) + spread
        whole = size.sum(axis=-1)
        floats = powers | ((steps >= tiny) & (size <= 2.0**digits * steps))
        # Two floats have one sum; a product that is none rounds before it cancels.
        pair = (count <= 2) & floats.all(axis=-1)
        most = np.where(pair, total, greatest_part(terms, spread))
        fits = (step >= tiny) & (most <= 2.0**digits * step)
        single = (count <= 1) & powers.all(axis=-1) & (step >= tiny)
        products = np.where(floats, 0.0, half_unit(size, digits, tiny)).sum(axis=-1)
        adds = any_order(terms, spread, count, digits, tiny)
        adds = adds + (count > 1) * half_unit(total + products + adds, digits, tiny)
        lost = count * tiny * (step < tiny)
        own = OWN * (count + 2) * whole
        known = spread.sum(axis=-1) == 0
        nothing = (fits & known) | single
        return np.where(nothing, 0.0, np.where(fits, own, products + adds + lost + own))

    def add(self, x: Zonotope, y: Zonotope) -> Zonotope:
        """x + y, rounded as sums are; to add 0 rounds nothing."""
        both = x.plus(y)
        error = np.zeros(both.centre.shape)
        self.fits(x.size)
        added = np.flatnonzero((y.size > 0).any(axis=tuple(range(y.centre.ndim - 1))))
        error[..., added] = self._sum_error(x.only(added), y.only(added), both.only(added))
        return both.off(error)

    def _sum_error(self, x: Zonotope, y: Zonotope, both: Zonotope) -> Floats:
        """What x + y = both rounds."""
        digits = self.form.sum_digits
        step = np.minimum(self.grid(x, digits), self.grid(y, digits))
        size = x.size + y.size
        alone = (x.size == 0) | (y.size == 0)
        fits = (step >= self.tiny) & (both.size <= 2.0**digits * step)
        own = OWN * 2 * size * (both.radius > 0)
        rounded = half_unit(both.size, digits, self.tiny) + OWN * 2 * size
        self.fits(size)
        return np.where(alone, 0.0, np.where(fits, own, rounded))

    def relu(self, x: Zonotope) -> Zonotope:
        """max(0, x)."""
        radius = x.radius
        low, high = x.centre - radius, x.centre + radius
        between = (low < 0) & (high > 0)
        slope = np.where(between, high / np.where(between, high - low, 1.0), (low >= 0) * 1.0)
        lift = np.where(between, -slope * low / 2, 0.0)
        centre = slope * x.centre + lift
        own = OWN * np.where(between, np.abs(x.centre) + radius, 0.0)
        generators = x.generators * slope[..., None, :]
        return replace(x, centre=centre, generators=generators, error=lift + own).folded()

    def store(self, x: Zonotope) -> Zonotope:
        """Rounded to the storage format, where that is narrower than sums."""
        if not self.narrow:
            return x
        form = self.form
        self.fits(x.size)
        known = x.radius == 0
        near = form.store(np.where(known, x.centre, 0.0).astype(form.accumulate))
        centre = np.where(known, near.astype(np.float64), x.centre)
        rounded = half_unit(x.size, form.digits, form.smallest) + OWN * x.size
        error = np.where(known, 0.0, rounded)
        return replace(x, centre=centre, error=error).folded()

    def loaded(self, x: Floats) -> Floats:
        """Weights or features as the format has them."""
        stored: Floats = self.form.load(x).astype(np.float64)
        self.fits(np.abs(stored))
        return stored
