"""The heads of a stock GPT-2 that compare counts: means over the past, and their signs."""

from __future__ import annotations

from math import sqrt

from softhat.io.errors import VoidError
from softhat.proof.gpt2.kinds import GPT2Head, PairForms, amplitude
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.counts import averaged, compared
from softhat.proof.stock.variables import Cell, Form, RawCell


def average(
    h: PairForms,
    values: list[Form],
    cells: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    targets: list[float],
    where: str,
) -> tuple[GPT2Head, list[Cell]]:
    """Theorem 19: a head without scores."""
    made, counts = averaged(values, targets, cells, number, atoms, where)
    return GPT2Head(h.block, h.head, "Average", len(values), counts=counts), made


def sign(
    h: PairForms,
    rows: list[tuple[Form, Form]],
    values: list[Form],
    cells: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    level: int,
    targets: list[float],
    where: str,
) -> tuple[GPT2Head, list[Cell]]:
    """Theorem 20: a head whose only row compares a mean."""
    if len(rows) != 1:
        raise VoidError(f"{where} compares by more than one row")
    function, least = compared(*rows[0], sqrt(h.d_head), values, cells, atoms, level, where)
    made: list[Cell] = [RawCell(function, amplitude(w, where), number) for w in targets]
    decision = float(least / h.context)
    return GPT2Head(h.block, h.head, "Sign", len(values), decision=decision), made
