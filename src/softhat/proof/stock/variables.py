"""What each variable of a stock checkpoint's residual stream holds, and linear forms of them.

A variable is a pair of coordinates of a GPT-2, or a coordinate of a Llama. It is a constant (one
value at the word's own positions, one at `<bos>`), a ±1 table of the position, a ±1 bit that is -1
at `<bos>`, what a head returned, or a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.stock.bounded import BoundedAtoms

Array = NDArray[np.float32]
LEVEL = 1 << 19
"""Of position predicates in decision diagrams."""


@dataclass(frozen=True, slots=True)
class ConstantCell:
    """`ordinary` at the word's own positions, `bos` at `<bos>`."""

    ordinary: float
    bos: float


@dataclass(frozen=True, slots=True, eq=False)
class TableCell:
    """±1 for each position, 0 (that of `<bos>`) included; `function` at the word's own."""

    function: int
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BitCell:
    """1 where `function` holds, -1 elsewhere and at `<bos>`."""

    function: int


@dataclass(frozen=True, slots=True)
class RawCell:
    """±`amplitude`, up to the error of head `head` (numbered over all blocks). At `<bos>` it is
    -`amplitude`: a head sees only `<bos>` there, whose value is 0."""

    function: int
    amplitude: float
    head: int


@dataclass(frozen=True, slots=True)
class MeanCell:
    """`amplitude` times the mean over j <= i of base + Σ a·bit at ordinary j and of `bos`."""

    terms: tuple[tuple[Fraction, int], ...]
    base: Fraction
    bos: Fraction
    size: float
    """Of a value at an ordinary position."""
    amplitude: float
    head: int


Cell = ConstantCell | TableCell | BitCell | RawCell | MeanCell


@dataclass(frozen=True, slots=True)
class Form:
    """Σ weight·v over variables, and a constant."""

    weights: dict[int, float]
    constant: float


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that read variables, (rows, variables), and a constant each."""

    weights: Array
    constants: Array

    @staticmethod
    def of(weights: Array) -> Rows:
        """Rows without constants."""
        return Rows(weights, np.zeros(len(weights), np.float32))

    def __getitem__(self, rows: slice | Sequence[int] | NDArray[np.int64]) -> Rows:
        return Rows(self.weights[rows], self.constants[rows])

    def forms(self) -> list[Form]:
        each: list[dict[int, float]] = [{} for _ in self.weights]
        for row, p in np.argwhere(self.weights).tolist():
            each[row][p] = float(self.weights[row, p])
        return [Form(w, float(b)) for w, b in zip(each, self.constants, strict=True)]


@dataclass(frozen=True, slots=True)
class Split:
    """A form apart: its constant at ordinary positions and at `<bos>`, and what varies."""

    ordinary: Fraction
    bos: Fraction
    bits: dict[int, Fraction]
    """Weights on bits and tables."""
    others: dict[int, float]
    """Weights on raw outputs and means."""


def split(form: Form, cells: list[Cell]) -> Split:
    ordinary = bos = Fraction(form.constant)
    bits: dict[int, Fraction] = {}
    others: dict[int, float] = {}
    for p, w in form.weights.items():
        match cells[p]:
            case ConstantCell(own, start):
                ordinary += Fraction(w) * Fraction(own)
                bos += Fraction(w) * Fraction(start)
            case BitCell():
                bits[p] = Fraction(w)
                bos -= Fraction(w)
            case TableCell(values=values):
                bits[p] = Fraction(w)
                bos += Fraction(w) * Fraction(float(values[0]))
            case _:
                others[p] = w
    return Split(ordinary, bos, bits, others)


def function_of(cell: Cell) -> int:
    if not isinstance(cell, BitCell | TableCell | RawCell):
        raise VoidError("what is no bit is read as one")
    return cell.function


def literal(form: Form, cells: list[Cell], atoms: BoundedAtoms, where: str) -> int:
    """The function of a form that is 0 or 1 at ordinary positions and 0 at `<bos>`."""
    parts = split(form, cells)
    space = atoms.space
    if parts.others or parts.bos != 0 or len(parts.bits) > 1:
        raise VoidError(f"{where} is not a stored bit that is 0 at <bos>")
    if not parts.bits:
        if parts.ordinary not in (0, 1):
            raise VoidError(f"{where} is a constant other than 0 and 1")
        return space.true if parts.ordinary == 1 else space.false
    ((p, w),) = parts.bits.items()
    if abs(w) != Fraction(1, 2) or parts.ordinary != Fraction(1, 2):
        raise VoidError(f"{where} is not a stored bit or the negation of one")
    function = function_of(cells[p])
    return function if w > 0 else space.negation(function)


def only_at_bos(cells: Sequence[Cell]) -> list[int]:
    """The variables that are exactly 0 except at `<bos>`."""
    constants = ((p, cell) for p, cell in enumerate(cells) if isinstance(cell, ConstantCell))
    return [p for p, cell in constants if cell.ordinary == 0]


def magnitude(cell: Cell) -> float:
    """No value of it is larger."""
    match cell:
        case ConstantCell(ordinary, bos):
            return max(abs(ordinary), abs(bos))
        case RawCell(amplitude=amplitude):
            return amplitude
        case MeanCell(bos=bos, size=size, amplitude=amplitude):
            return amplitude * max(size, abs(float(bos)))
    return 1.0
