"""Numeric outputs: how far a read-out of means, counts and bits can be off.

A mean over all positions of a range is an exact sum, one division and storage; a mean over what a
selection selects, where it selects something, is off by what leaks and by the sums of weights
(where it selects nothing by n·e^(-b/2), which is more); decoded counts by their steps. Then comes
the read-out itself: a product for each term, and their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from softhat.io.errors import VoidError
from softhat.numerics.formats import Format
from softhat.proof.atoms import Range
from softhat.proof.cells import Bit, Cell, Mean, Raw
from softhat.proof.heads.match import Selects
from softhat.proof.lengths import Proof
from softhat.proof.program_atoms import Chosen, Whole
from softhat.proof.scores import CARE
from softhat.proof.steps import Decoded

Linear = dict[tuple[object, ...], Fraction]
"""What a number is made of -> its coefficient."""


@dataclass(frozen=True, slots=True)
class Use:
    """How a value is made of a numeric output."""

    over: Range | None
    """It is multiplied by the number of positions of this range, sinks included: at most n+2."""
    whole: bool
    """The value is rounded to a whole number, so an error below 1/2 vanishes."""
    parts: int
    """How many such outputs are added up to one value."""
    constant: Fraction = Fraction(0)
    """What is added to them."""


def is_whole(exact: Linear, use: Use) -> bool:
    """Is what is made of an output a whole number on every word, before it is rounded?

    A mean over a range times its number of positions is a sum; counts and bits are whole as they
    are. Half a whole number would be rounded by what the format happens to do.
    """
    if use.constant.denominator != 1:
        return False
    for key, a in exact.items():
        summed = key[0] == "average" and key[1] == use.over
        plain = key[0] in ("1", "count", "bit") and use.over is None
        if a and (a.denominator != 1 or not (summed or plain)):
            return False
    return True


@dataclass(frozen=True, slots=True)
class NumericOutput:
    """A read-out: what each of its coordinates holds, with its weight."""

    name: str
    terms: tuple[tuple[Cell, float], ...]
    bias: float
    use: Use

    def error(self, n: int, form: Format, proof: Proof) -> float:
        """Of the value, for every word of length at most n."""
        total = size = 0.0
        for cell, weight in self.terms:
            stored = form.stored(weight)
            most, off = _cell(cell, n, form, proof)
            total += abs(stored) * off + abs(stored - weight) * (most + off)
            size += abs(stored) * (most + off)
        bias = form.stored(self.bias)
        size += abs(bias)
        total += abs(bias - self.bias)
        if not size < form.largest:  # what is stored overflows, or a weight does
            return inf
        terms = len(self.terms) + 1
        total += size * (terms * form.u_sum + form.u) + terms * form.smallest
        scale = 1.0 if self.use.over is None else n + 2.0
        return total * scale * self.use.parts * CARE


def _cell(cell: Cell, n: int, form: Format, proof: Proof) -> tuple[float, float]:
    """(largest value, error) of a coordinate."""
    match cell:
        case Mean(_, terms, _):
            most = sum(abs(float(a)) for a, _ in terms)
            return most, most * ((1 + form.kernel.divisions) * form.u_sum + form.u)
        case Chosen() | Raw():
            kind = proof.heads[cell.head].kind
            assert isinstance(kind, Selects)
            most = sum(abs(a) for a, _ in cell.terms) if isinstance(cell, Chosen) else 1.0
            losers, _ = kind.losers(n)
            leak = 0.0 if kind.attention == "hard" else 2 * losers + (n + 2) * form.held.normal
            return most, most * (leak + (2 * n + 7 + form.kernel.between) * form.u_sum + 2 * form.u)
        case Whole(terms, head):
            kind = proof.heads[head].kind
            assert isinstance(kind, Decoded)
            most = sum(abs(a) for a, _ in terms) * float(n)
            try:
                return most, kind.error(n, form)
            except VoidError:
                return most, inf
        case Bit():
            return 1.0, 0.0
    return 0.0, 0.0


def numeric_error(numbers: Sequence[NumericOutput], n: int, form: Format, proof: Proof) -> float:
    """The largest error of a value that is not rounded to a whole number."""
    if n == 0:
        return inf if numbers else 0.0
    return max(
        (number.error(n, form, proof) for number in numbers if not number.use.whole), default=0.0
    )


def numbers_fail(
    numbers: Sequence[NumericOutput], n: int, form: Format, proof: Proof
) -> str | None:
    """Why a whole number may be rounded to another, or a number overflow, or None."""
    for number in numbers:
        error = number.error(n, form, proof)
        if number.use.whole and not error < 0.49:
            return f"{number.name} is off by half a whole number"
        if not error < inf:
            return f"{number.name} overflows"
    return None
