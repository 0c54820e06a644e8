"""What a decoder's norms do, and how far they may be off: LayerNorm and RMSNorm as numbers.

A norm divides a position's variables by √(Σ v²/d) (LayerNorm: after the mean of all coordinates,
which is 0, was taken off) and multiplies by weights that undo it: variables keep their squares, so
that Σ v² is one number at every position, and what is read is what is stored, times a factor near 1
that all variables of a position share.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.numerics.formats import Format
from softhat.proof.stock.storage import ROOT, SECOND, SMALL, U, need
from softhat.proof.stock.variables import Cell, ConstantCell, MeanCell, RawCell, magnitude

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NormFactor:
    """How far a norm's factor may be off 1, and what it adds to all coordinates; `exact`: bits,
    constants and raw outputs are read as exactly what they are."""

    scale: float
    mean: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Norm:
    """A norm of a residual stream."""

    name: str
    square: float
    """Σ v² over variables, at every position."""
    statistics: float
    """The relative error of the mean square, by its own rounding (see the assumptions)."""
    epsilon: float
    """ε, as a share of the mean square."""
    weight: float
    """How far the weights, as stored, are off the root of the mean square, relative to it."""
    centre: float
    """How far the mean that is taken off may be off 0 by its own rounding; 0 if none is taken."""
    share: float
    """Of what variables are off, how much the mean of all coordinates is off at most."""
    gain: float
    """The one weight of all norms."""

    @property
    def centres(self) -> bool:
        return self.share > 0

    def factor(self, cells: list[Cell], off: Vector, storage: Format) -> NormFactor:
        """Of a residual stream that is off: variables, the squares of means, ε, and the norm's own
        rounding. Squares of exact integers add up exactly in any order, and the reciprocal root of
        1 is 1. Small formats read ±1 and ±A back exactly: below a power of two numbers are one unit
        apart, so the norm may move them by half of that."""
        size = np.array([0.0 if isinstance(c, MeanCell) else magnitude(c) for c in cells])
        whole = all(map(_whole, cells)) and self.square < 2**20
        if not self.centres and whole and not off.any() and self.epsilon <= 2.0**-26:
            return NormFactor(0.0, 0.0, True)  # 1 + ε is stored as 1
        means = sum((SECOND * magnitude(cell)) ** 2 for cell in cells if isinstance(cell, MeanCell))
        squares = (float((2 * size * off + off**2).sum()) + means) / self.square + self.epsilon
        scale = ROOT * (squares + self.statistics) + self.weight + 4 * U
        mean = self.centre + self.share * float(off.sum())
        small = bool(((off < SMALL * size) | (off == 0)).all())
        need(small and max(mean, scale) < SMALL, f"{self.name}'s error is not small")
        if not storage.wide:
            least = min([1.0, *(size for cell in cells for size in _sizes(cell) if size)])
            need(least >= storage.normal, "what a variable holds has few digits")
            moved = scale + mean / least
            need(moved < storage.unit / 2, f"{self.name} moves bits by more than half an ulp")
        return NormFactor(scale, mean, not storage.wide)


def _sizes(cell: Cell) -> tuple[float, ...]:
    """The sizes of what it holds exactly."""
    match cell:
        case ConstantCell(ordinary, bos):
            return abs(ordinary), abs(bos)
        case RawCell(amplitude=amplitude):
            return (amplitude,)
    return ()


def _whole(cell: Cell) -> bool:
    """It holds integers."""
    if isinstance(cell, ConstantCell):
        return cell.ordinary == round(cell.ordinary) and cell.bos == round(cell.bos)
    return not isinstance(cell, MeanCell | RawCell)


def square_of(cells: list[Cell]) -> Fraction:
    """Σ v², which is the same on the word and at `<bos>`: variables keep their squares, whatever
    they come to hold."""
    own = start = Fraction(0)
    for cell in cells:
        if isinstance(cell, ConstantCell):
            own += Fraction(cell.ordinary) ** 2
            start += Fraction(cell.bos) ** 2
        else:
            own, start = own + 1, start + 1
    if own != start or not own:
        raise VoidError("the norm of the residual at <bos> is not that of the other positions")
    return own
