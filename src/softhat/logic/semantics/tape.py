"""Words laid out on one tape, and truth signals on it.

Between the words stands one empty place each. A truth signal is one Python integer whose bit p
is the value at place p; it is 0 at the empty places, which keep the words apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.logic.semantics.words import Bools, Word, join


@dataclass(frozen=True, slots=True)
class Tape:
    """Words side by side, one empty place after each."""

    lengths: NDArray[np.int64]
    starts: NDArray[np.int64]  # the place of each word's first symbol
    size: int  # places, the empty ones included
    inside: int  # the signal that is true at every position
    first: int
    last: int
    longest: int  # word

    @property
    def begins(self) -> NDArray[np.int64]:
        """Where each word starts once the empty places are gone."""
        return np.cumsum(self.lengths) - self.lengths

    def to_signal(self, bools: NDArray[Any]) -> int:
        return int.from_bytes(np.packbits(bools, bitorder="little").tobytes(), "little")

    def to_bits(self, signal: int) -> NDArray[np.uint8]:
        data = np.frombuffer(signal.to_bytes((self.size + 7) // 8, "little"), np.uint8)
        return np.unpackbits(data, count=self.size, bitorder="little")

    def to_bools(self, signal: int) -> Bools:
        """The values at the positions, word after word."""
        bits = self.to_bits(signal).view(np.bool_)
        return (
            bits[:-1] if len(self.lengths) == 1 else bits[self.to_bits(self.inside).view(np.bool_)]
        )

    def reverse(self, signal: int) -> int:
        """The signal read from the other end of the tape (its last place is empty)."""
        size = (self.size + 6) // 8  # bytes for size - 1 places
        turned = signal.to_bytes(size, "little").translate(_REVERSED)[::-1]
        return int.from_bytes(turned, "little") >> 8 * size - (self.size - 1)


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def lay_out(words: Iterable[Word]) -> tuple[Tape, Callable[[str], int]] | None:
    """A tape of words, and where each symbol stands on it; None if there are no words."""
    lengths, symbol = join(words)
    if not len(lengths):
        return None
    tape = tape_of(lengths)
    return tape, lambda name: tape.to_signal(symbol(name))


def tape_of(lengths: NDArray[np.int64]) -> Tape:
    """The tape of words of these lengths, of which there is at least one."""
    ends = np.cumsum(lengths + 1)
    starts = ends - lengths - 1
    size = int(ends[-1])
    if len(lengths) == 1:
        return Tape(lengths, starts, size, (1 << size - 1) - 1, 1, 1 << size - 2, size - 1)
    places = np.ones((3, size), np.bool_)
    places[0, ends - 1] = False
    places[1:] = False
    places[1, starts] = True
    places[2, ends - 2] = True
    inside, first, last = (
        int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little") for mask in places
    )
    return Tape(lengths, starts, size, inside, first, last, int(lengths.max()))


def positions(tape: Tape) -> NDArray[np.int64]:
    """1..n in each word, 0 at the empty places."""
    if len(tape.lengths) == 1:
        numbers = np.arange(1, tape.size + 1)
    else:
        numbers = np.arange(1, tape.size + 1) - np.repeat(tape.starts, tape.lengths + 1)
    numbers[tape.starts + tape.lengths] = 0
    return numbers
