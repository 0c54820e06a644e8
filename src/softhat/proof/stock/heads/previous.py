"""Previous: the value at the position before, where distances turn.

**Theorem 25.** Scores T(i - j) with T(1) - T(d) >= C for every other distance d put all but n·e^-C
on j = i-1 (`<bos>` for i = 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.kind import Gaps, HeadForms, Lookup
from softhat.proof.stock.variables import Cell


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PreviousHead(Lookup):
    """Softmax of T(i - j), which is largest at a distance of 1."""

    kind = "Previous"

    def leak(self, gaps: Gaps, keys: int) -> float:
        return keys * exp(-gaps.gap)


def fits(h: HeadForms, cells: list[Cell]) -> bool:
    pairs = h.pairs(cells)
    if h.context < 2 or {pair.role for pair in pairs} != {"distance"}:
        return False
    table = h.turning(pairs, "distance", cells)
    return bool(table[1] > table[0])


def recognise(
    h: HeadForms, cells: list[Cell], atoms: BoundedAtoms
) -> tuple[PreviousHead, list[Cell]]:
    pairs = h.pairs(cells)
    table = h.turning(pairs, "distance", cells)
    slack = h.lost_turning(pairs, cells)
    gap = float((table[1] - np.delete(table, 1)).min()) - slack
    if gap <= 0:
        raise VoidError(f"{h.where} has scores that do not single out the position before")
    functions = [atoms.earlier(value, 1, h.level) for value in h.literals(cells, atoms)]
    head = PreviousHead(
        block=h.block, head=h.head, pairs=tuple(pairs), gap=gap, clear=inf, sizes=np.abs(table)
    )
    return head, h.written(functions)
