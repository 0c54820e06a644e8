"""How weights read what a program's signals hold: bits, and means with their ranges."""

from __future__ import annotations

from softhat.numbers.positions import Mod
from softhat.program.counting import extremes
from softhat.program.heads import Average, Shift
from softhat.program.literals import Literal
from softhat.program.registers import Register
from softhat.program.signals import Program
from softhat.transformer.lowering.rows import ORDINARY, Key, PositionUnits, Row

Terms = tuple[tuple[int, int], ...]
"""(coefficient, signal) of a weighted sum of bits; signal -1 is the constant true."""


class Wiring:
    """A program's signals as rows over residual coordinates, for one target."""

    def __init__(self, program: Program, units: PositionUnits) -> None:
        self.program = program
        self.units = units
        distances = [s.distance for s in program.signals if isinstance(s, Shift)]
        self.modulus = max(distances) + 1 if distances else 0
        """Of the residues by which `Shift` tells positions apart: one for all of them."""
        self.residues = [Mod(self.modulus, at, sinks=False) for at in range(self.modulus)]
        self.elsewhere: list[Row] = [{ORDINARY: 1.0, residue: -1.0} for residue in self.residues]
        """For each residue 1 on the word's own positions that have another."""

    def bit(self, literal: Literal) -> Row:
        """A stored bit or its negation, 0 at the sinks."""
        if literal.signal < 0:
            return {ORDINARY: 1.0} if literal.positive else {}
        register = Register(literal.signal, False)
        return {register: 1.0} if literal.positive else {register: -1.0, ORDINARY: 1.0}

    def weighted(self, terms: Terms) -> Row:
        """Σ a·bit divided by its scale, so that it lies in [-1, 1]."""
        scale = self.scale(terms)
        return {_source(read): a / scale for a, read in terms}

    def average(self, at: int) -> Row:
        """The mean that an `Average` head has written, in its own units."""
        return {Register(at, True): self.scale(self.terms(at))}

    def terms(self, at: int) -> Terms:
        signal = self.program.signals[at]
        assert isinstance(signal, Average)
        return signal.terms

    def scale(self, terms: Terms) -> float:
        """The power of two >= max |Σ a·bit|."""
        scale = 1.0
        low, high = self.range(terms)
        while scale < max(high, -low):
            scale *= 2
        return scale

    def range(self, terms: Terms) -> tuple[float, float]:
        """Bounds of Σ a·signal at a position."""
        low, high = extremes(self.program, terms)
        return float(low), float(high)


def _source(signal: int) -> Key:
    """The coordinate of a stored bit; the constant true is 1 on ordinary positions."""
    return ORDINARY if signal < 0 else Register(signal, False)
