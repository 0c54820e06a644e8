"""Cells of a tape as Gray codes: a move by one cell flips exactly one digit.

The tape is a window of 2^k cells, from -2^(k-1) to 2^(k-1) - 1; cell c has the reflected Gray code
of c mod 2^k. A move flips digit 0 (*near*) if it leads from an even cell to the next higher one or
from an odd cell to the next lower one. Otherwise (*far*) it flips the digit above the lowest one
that is set; the top digit if none below it is. So the digit that a move flips is told by the
direction, the cell's parity and its digits, and nothing is ever added or carried.

The two ends of the window are neighbours too: a far move from a cell of which, below the top digit,
only the digit next to it is set would lead over the edge.

Machine-checked: `digits_inj`, `move_digits` and `move_leaves` of proofs/Gray.v.
"""

from __future__ import annotations

from collections.abc import Sequence

from softhat.frontends.machines.tokens import all_of
from softhat.logic.syntax.nodes import Formula, Not


def code(cell: int, bits: int) -> list[int]:
    """The digits of a cell, lowest first."""
    number = cell % (1 << bits)
    gray = number ^ (number >> 1)
    return [gray >> b & 1 for b in range(bits)]


def flip(cell: int, move: int, bits: int) -> tuple[int, int] | None:
    """The digit that a move by ±1 flips, and what it is then; None over the edge."""
    half = 1 << (bits - 1)
    if not -half <= cell + move < half:
        return None
    before, after = code(cell, bits), code(cell + move, bits)
    (digit,) = [b for b in range(bits) if before[b] != after[b]]
    return digit, after[digit]


def is_near(move: str, odd: Formula) -> Formula:
    """Does the move flip digit 0?"""
    return odd if move == "L" else Not(odd)


def far_flips(digits: Sequence[Formula], b: int) -> Formula:
    """Would a far move flip digit b, b > 0, and stay in the window?"""
    below = [Not(digit) for digit in digits[: b - 1]]
    if b < len(digits) - 1:
        return all_of([*below, digits[b - 1]])
    return all_of([*below, Not(digits[b - 1])])


def far_leaves(digits: Sequence[Formula]) -> Formula:
    """Would a far move leave the window?"""
    return all_of([*(Not(digit) for digit in digits[:-2]), digits[-2]])
