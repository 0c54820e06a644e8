"""Digit: a binary digit of the position, by the sign of a sine.

**Theorem 26.** With a score only for `<bos>`, U(i), a head whose value is 1 on the word's own
positions and 0 on `<bos>` returns 1 where U(i) < 0, up to e^U(i), and else 0, up to n·e^-U(i).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.softmax import RowFact
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.kind import LEAST_GAP, HeadForms, StockHead, StockScores, Vector
from softhat.proof.stock.storage import need
from softhat.proof.stock.variables import LEVEL, Cell, TableCell


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DigitHead(StockHead):
    """Softmax of U(i) on `<bos>` and 0 on the word's own positions."""

    kind = "Digit"

    scores: Vector
    """U at each position."""

    def fact(self, scores: StockScores) -> RowFact:
        decision = scores.decision(self, self.scores)
        need(decision >= LEAST_GAP, "Digit heads: the sign of a sine may be wrong")
        leak = scores.keys * exp(-decision)
        return RowFact("sign", leak, leak, scores.keys)


def fits(h: HeadForms, cells: list[Cell]) -> bool:
    return {pair.role for pair in h.pairs(cells)} == {"bos"}


def recognise(h: HeadForms, cells: list[Cell], atoms: BoundedAtoms) -> tuple[DigitHead, list[Cell]]:
    pairs = h.pairs(cells)
    scores = h.turning(pairs, "bos", cells)
    if len(pairs) != 1 or not pairs[0].single or (scores[1:] == 0).any():
        raise VoidError(f"{h.where} does not decide by one pair between <bos> and the word")
    if any(value != atoms.space.true for value in h.literals(cells, atoms)):
        raise VoidError(f"{h.where} decides, but its value is not 1 on the word's own positions")
    values = np.where(scores < 0, 1.0, -1.0)
    values[0] = -1.0
    table = TableCell(atoms.table(values[1:] > 0, LEVEL), values)
    h.written([table.function] * len(h.values))  # as every output is
    head = DigitHead(block=h.block, head=h.head, pairs=tuple(pairs), scores=scores)
    return head, [table for _ in h.values]
