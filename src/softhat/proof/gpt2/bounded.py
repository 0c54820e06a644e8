"""Atoms of a model whose words have at most N positions: position predicates are tables.

A checkpoint with learned positions holds any predicate of the position as a table. Two tables
that are equal up to N are one atom, whatever they were called; and a comparison that no word of
this length can meet (or miss) is a constant.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from softhat.predicates import Predicate, column, depends_on_length
from softhat.proof.atoms import Atoms, Range, Sum
from softhat.proof.boolean import Space


class BoundedAtoms(Atoms):
    """Atoms over positions 1 to `most`."""

    def __init__(self, space: Space, most: int) -> None:
        super().__init__(space)
        self.most = most
        self.index = np.arange(1, most + 1)
        self.edge["past"] = self.table(self.index == 1, -2)

    def table(self, holds: NDArray[np.bool_], level: int) -> int:
        """The predicate that holds at these positions."""
        if holds.all():
            return self.space.true
        if not holds.any():
            return self.space.false
        if holds[0]:
            return self.space.negation(self.table(~holds, level))
        return self.space.atom(("positions", np.packbits(holds).tobytes()), level)

    def residue(self, modulus: int, remainder: int, level: int) -> int:
        if modulus > self.most:  # no larger number than a position is needed
            holds = self.index == min(remainder, self.most + 1)
            return self.table(holds, level)
        return self.table(self.index % modulus == remainder, level)

    def holds(self, predicate: Predicate, level: int) -> int:
        if depends_on_length(predicate):
            return super().holds(predicate, level)
        return self.table(column(predicate, self.index, self.most), level)

    def position_at_least(self, coefficient: int, threshold: int, level: int) -> int:
        holds = [coefficient * i >= threshold for i in range(1, self.most + 1)]
        return self.table(np.array(holds), level)

    def _decided(self, total: Sum, threshold: int) -> bool | None:
        """As for every length, and by the least and largest sum at positions 1 and N."""
        decided = super()._decided(total, threshold)
        if decided is not None or total.length:
            return decided
        parts: list[tuple[Fraction, int]] = [(Fraction(total.position), self.space.true)]
        over: set[Range] = {r for r, _ in total.counts}
        if over - {"past"}:
            return None
        parts += [(Fraction(a), f) for (_, f), a in total.counts.items()]
        low, high = self.space.range_of_sum(parts)
        if threshold - total.constant <= min(low, low * self.most):
            return True
        if threshold - total.constant > max(high, high * self.most):
            return False
        return None
