"""How linear maps round in a number format: quantities with their error, and sums of products.

The walk of a layer in boxes: what is known of a number is where it lies in the reals and how far
its float is off. A product with a power of two, a sum with 0 and whatever fits the significand are
exact: most maps of hand-made models round nothing. What is left is at most u·|partial sum| for
each operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.io.errors import VoidError
from softhat.numerics.boxes import Box, Boxes
from softhat.numerics.entries import Entries, LoadedEntries, beside
from softhat.numerics.formats import FORMATS, Format

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
INEXACT = 0.0  # a grid of 0: not known to be exact
RANGE = "something may leave the format's range"
SLACK = 1.01
"""For products of roundings. A result is stored at most three times, u ≤ 2^-8, and is summed with
fewer than 2^15 roundings of u' ≤ 2^-24: (1 + u)^3 - 1 ≤ 1.004·3u, (1 + u')^k - 1 ≤ 1.001·k·u' for
such k, and the product of both adds at most 2^-9 of the larger."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """Quantities in floats, (blocks, coordinates): off by at most `error` from the reals, which
    lie in `box`; where `grid` is not 0 they are exact multiples of it, a power of two, and numbers
    of the format."""

    error: Floats
    box: Box
    grid: Floats
    tied: Floats
    """One number a coordinate: two positions whose numbers are equal in the reals have equal
    floats, or (both being 0 in the reals) floats of at most this size; inf: nothing is known.
    Hard attention is what needs it: positions that tie there share the weight equally."""
    loose: Truths | bool = False
    """Where they may be no numbers of the format, so that storing rounds them."""
    sums: Rounded | None = None
    """What a bias was added to: units that read the same sum share its error."""

    @property
    def size(self) -> Floats:
        """In the reals."""
        return self.box.size

    @property
    def hat(self) -> Floats:
        """In floats."""
        return self.box.size + self.error

    @property
    def still(self) -> Truths:
        """Where it is 0 in the reals and in floats."""
        return (self.box.size == 0) & (self.error == 0)


class Arithmetic:
    """The walk's numbers: `Rounded` ones of a number format. Weights are `Entries`.

    A float x̂ that stands for x is rounded by at most u·|x̂| <= u·(|x| + error), so no bound needs
    a factor for products of roundings. What this computation rounds itself is about 2^-53 of each
    bound at each step; who reads the last one widens it.
    """

    def __init__(self, form: Format, boxes: Boxes | None = None) -> None:
        self.form = form
        self.boxes = Boxes() if boxes is None else boxes
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

    def linear(self, x: Rounded, matrix: Entries) -> Rounded:
        """matrix · x, before it is stored.

        An entry is loaded with an error l; k products and sums round by at most γ_k of the sum of
        absolute values, in any order, products with powers of two not at all; each product may
        lose what is below the least number.
        """
        x_hat, held = x.hat, matrix.loaded(self.form)
        size = x_hat @ held.size.T
        self.fits(matrix.size)
        self.fits(size)
        rounds = gamma(held.sums, self.u_sum)
        lost = np.where(held.growing, 0.0, held.terms * self.form.summed.smallest)
        error = self.passed(x, matrix) + x_hat @ held.load.T + rounds * size + lost
        grid = self.on_grid(matrix.product_grid(x.grid, self.form), size)
        error = np.where((grid > 0) | (held.terms == 0), 0.0, error)
        tied = np.where((grid > 0).all(axis=0), 0.0, np.inf)
        if np.isfinite(x.tied).any():
            tied = np.minimum(tied, self._alone(x.tied, held))
        box = self.boxes.linear(x.box, matrix)
        return Rounded(error, box, grid, tied, (held.terms > 1) | ~held.growing)

    def passed(self, x: Rounded, matrix: Entries) -> Floats:
        """The error of x through a matrix."""
        return x.error @ matrix.size.T

    def _alone(self, tied: Floats, held: LoadedEntries) -> Floats:
        """How far rows of one entry, a product, keep equal numbers apart; inf for other rows."""
        used = held.size > 0
        apart = np.where(used, held.size * np.where(used, tied, 0.0), 0.0).sum(axis=1)
        apart = np.where(apart > 0, (1 + self.u_sum) * apart + self.form.summed.smallest, 0.0)
        return np.where(held.terms == 1, apart, np.inf)

    def shift(self, x: Rounded, bias: Entries) -> Rounded:
        """x + bias, before it is stored."""
        held = bias.loaded(self.form)
        load, steps = held.load[0], held.grid[0]
        moved = bias.size[0] > 0
        box = self.boxes.shift(x.box, bias)
        total = np.minimum(x.hat + bias.size[0], box.size + x.error) + load
        self.fits(total)
        grid = self.on_grid(np.minimum(x.grid, steps), total)
        error = np.where(moved, x.error + load + self.u_sum * total, x.error)
        error = np.where(grid > 0, 0.0, error)
        tied = np.where((grid > 0).all(axis=0), 0.0, np.where(moved, np.inf, x.tied))
        return Rounded(error, box, grid, tied, x.loose | moved, x)

    def relu(self, x: Rounded) -> Rounded:
        """max(0, x): no float is further off than before."""
        return replace(x, box=self.boxes.relu(x.box))

    def attend(self, query: Rounded, key: Rounded, value: Rounded, head: Any) -> Rounded:
        raise NotImplementedError("what scores give depends on the head")

    def gather(self, reads: Sequence[Rounded], layer: Any) -> Rounded:
        """Σ of the heads' outputs, by one matrix."""
        together = Rounded(
            np.concatenate([x.error for x in reads], axis=1),
            Box(
                np.concatenate([x.box.low for x in reads], axis=1),
                np.concatenate([x.box.high for x in reads], axis=1),
            ),
            np.concatenate([x.grid for x in reads], axis=1),
            np.concatenate([x.tied for x in reads]),
        )
        written = self.linear(together, beside([head.output for head in layer.heads]))
        return replace(written, box=self.boxes.gather([x.box for x in reads], layer))

    def add(self, x: Rounded, y: Rounded) -> Rounded:
        """x + y, before it is stored; a sum with 0 rounds nothing."""
        box, left, right = self.boxes.add(x.box, y.box), x.still, y.still
        total = np.minimum(x.hat + y.hat, box.size + x.error + y.error)
        self.fits(total)
        grid = np.where(left, y.grid, np.where(right, x.grid, np.minimum(x.grid, y.grid)))
        grid = self.on_grid(grid, total)
        error = x.error + y.error + self.u_sum * ~(left | right) * total
        error = np.where(grid > 0, 0.0, error)
        tied = np.where(right.all(axis=0), x.tied, np.inf)
        tied = np.where(left.all(axis=0), y.tied, tied)
        tied = np.where((grid > 0).all(axis=0), 0.0, tied)
        loose = np.where(left, y.loose, np.where(right, x.loose, True))
        return Rounded(error, box, grid, tied, loose)

    def store(self, x: Rounded) -> Rounded:
        """x, rounded to the format where sums are wider."""
        if not self.narrow:
            return replace(x, loose=False)
        self.fits(x.hat)
        off = np.where((x.grid > 0) | ~np.asarray(x.loose), 0.0, self.u * x.hat + self.form.floor)
        some = np.atleast_2d(x.loose).any(axis=0) & (x.tied > 0)
        tied = np.where(some, (1 + self.u) * x.tied + self.form.floor, x.tied)
        return replace(x, error=x.error + off, tied=tied, loose=False)


def gamma(operations: Any, u: float) -> Any:
    """(1 + u)^k - 1, at most (Higham, Lemma 3.1); inf where it is not small."""
    x = np.asarray(operations * u)
    bound = np.where(x < 0.99, x / np.where(x < 0.99, 1 - x, 1.0), np.inf)
    return float(bound) if bound.ndim == 0 else bound


OWN_UNIT = 2.0**-53
"""Unit roundoff of float64, in which proofs compute."""


def raised(bound: Any, roundings: float) -> Any:
    """An upper bound of a sum of products of non-negative numbers, computed with so many
    roundings: each takes away at most a factor 1 - u."""
    return bound * (1 + (roundings + 2) * 2 * OWN_UNIT)


def lowered(bound: Any, roundings: float) -> Any:
    """A lower bound of a non-negative expression that was computed with so many roundings."""
    return bound * (1 - (roundings + 2) * 2 * OWN_UNIT)
