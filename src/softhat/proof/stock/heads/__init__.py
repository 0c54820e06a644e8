"""The heads of stock checkpoints, GPT-2's and Llama's: one file a kind.

Each says its theorem, tells its heads from their queries, keys and values (nothing is taken from
labels), and what it makes of scores that are off. A kind comes before those that would also fit.
"""

from __future__ import annotations

from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.heads import average, digit, latest, previous, recall, shift, sign
from softhat.proof.stock.kind import HeadForms, StockHead
from softhat.proof.stock.variables import Cell

KINDS = (average, sign, recall, shift, digit, previous)


def recognise(h: HeadForms, cells: list[Cell], atoms: BoundedAtoms) -> tuple[StockHead, list[Cell]]:
    """The head and, for each value that it writes, what its variable then holds."""
    for kind in KINDS:
        if kind.fits(h, cells):
            return kind.recognise(h, cells, atoms)
    return latest.recognise(h, cells, atoms)
