"""Which symbol a head reads, from the digits of its number.

The blank is number 0, so a cell that nothing was written to has no digit set. With n symbols and k
digits, the numbers from n to 2^k - 1 belong to nobody. Each of them counts as the number without
its top digit: that symbol does not look at the top digit at all. So every symbol is one conjunction
of digits, and exactly one is read, whatever the digits are.

The one that is read is the right one: machine-checked, `reading_holds` of proofs/Reading.v.
"""

from __future__ import annotations

from collections.abc import Sequence

from softhat.frontends.machines.tokens import all_of
from softhat.logic.syntax.nodes import Formula, Not


def symbol_bits(symbols: Sequence[str]) -> list[list[str]]:
    """For each digit the symbols whose number has it set."""
    count = (len(symbols) - 1).bit_length()
    return [[s for at, s in enumerate(symbols) if at >> b & 1] for b in range(count)]


class TapeReading:
    """`reading[symbol]`: the head reads this symbol, given the digits of what it reads."""

    def __init__(self, symbols: Sequence[str], digits: Sequence[Formula]) -> None:
        self._digits = list(digits)
        self._place = {symbol: at for at, symbol in enumerate(symbols)}
        self._read = {symbol: all_of(self.literals(symbol)) for symbol in symbols}

    def literals(self, symbol: str) -> list[Formula]:
        """The digits that are set or not set if this symbol is read."""
        at, count = self._place[symbol], len(self._place)
        top = 1 << max(len(self._digits) - 1, 0)
        looks = self._digits[:-1] if count - top <= at < top else self._digits
        return [digit if at >> b & 1 else Not(digit) for b, digit in enumerate(looks)]

    def __getitem__(self, symbol: str) -> Formula:
        return self._read[symbol]
