"""Which symbol a head reads, from the digits of its number.

The blank is number 0, so a cell that nothing was written to has no digit set. A number that no
symbol has counts as the blank: so exactly one symbol is read, whatever the digits are.
"""

from __future__ import annotations

from collections.abc import Sequence

from softhat.frontends.machines.tokens import all_of, any_of
from softhat.logic.syntax.nodes import Formula, Not


def symbol_bits(symbols: Sequence[str]) -> list[list[str]]:
    """For each digit the symbols whose number has it set."""
    count = (len(symbols) - 1).bit_length()
    return [[s for at, s in enumerate(symbols) if at >> b & 1] for b in range(count)]


class TapeReading:
    """`reading[symbol]`: the head reads this symbol, given the digits of what it reads."""

    def __init__(self, symbols: Sequence[str], digits: Sequence[Formula]) -> None:
        self._read: dict[str, Formula] = {}
        for at, symbol in list(enumerate(symbols))[1:]:
            self._read[symbol] = all_of(
                [digit if at >> b & 1 else Not(digit) for b, digit in enumerate(digits)]
            )
        self._read[symbols[0]] = Not(any_of(list(self._read.values())))

    def __getitem__(self, symbol: str) -> Formula:
        return self._read[symbol]
