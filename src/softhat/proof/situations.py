"""Many positions of many words at once, a column each, and the states that lead there as numbers.

What `softhat.proof.every_word` enumerates: a state is packed into one integer (`StateLayout`),
and at one position every state meets every letter and every guess (`Situations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softhat.proof.boolean import Key

Bools = NDArray[np.bool_]
Codes = NDArray[np.int64]
Values = dict[Key, Bools]
MOST_BITS = 60
"""Of a state."""


class LeftOpenError(Exception):
    """The question is too large."""


@dataclass
class StateLayout:
    """Where the parts of a state stand in its number."""

    bits: int = 1
    """The lowest bit: they have differed somewhere."""
    at: dict[object, tuple[int, int]] = field(default_factory=dict)
    """(lowest bit, mask) of each part."""

    def add(self, part: object, most: int) -> None:
        width = most.bit_length()
        self.at[part] = (self.bits, (1 << width) - 1)
        self.bits += width
        if self.bits > MOST_BITS:
            raise LeftOpenError

    def get(self, states: Codes, part: object) -> Codes:
        low, mask = self.at[part]
        return states >> low & mask

    def holds(self, states: Codes, part: object) -> Bools:
        return self.get(states, part).astype(np.bool_)

    def put(self, states: Codes, part: object, value: Codes | Bools) -> Codes:
        return states | (value.astype(np.int64) << self.at[part][0])


class Situations:
    """One position of many words: states with letters, guesses and promises, a column each.

    A promise is made where it is first asked for, and what contradicts itself, or what was promised
    before, is left out at once: of all combinations about one in a hundred is possible.
    """

    def __init__(self, states: Codes, letters: Codes, drawn: Codes, atoms: Sequence[Key]) -> None:
        axes = np.broadcast_arrays(*np.ix_(states, letters, drawn))
        self._codes = np.stack([axis.ravel() for axis in axes] + [np.zeros(axes[0].size, np.int64)])
        self._row = {key: row for row, key in enumerate(atoms)}
        self._table = np.zeros((len(atoms), axes[0].size), np.bool_)
        self._name()

    def _name(self) -> None:
        self.before, self.letters, self.drawn, self.promised = self._codes
        self.values: Values = {key: self._table[row] for key, row in self._row.items()}

    def put(self, key: Key, value: Bools) -> None:
        self._table[self._row[key]] = value

    def keep(self, which: Bools) -> None:
        """Only these remain."""
        chosen = np.flatnonzero(np.broadcast_to(which, self.before.shape))
        if len(chosen) < len(self.before):
            self._choose(chosen)

    def promise(self, at: int, among: Codes, key: Key, ways: Sequence[tuple[Bools, Bools]]) -> None:
        """One more promise, not kept or kept: an atom's value either way, and where that is
        possible. Only promises that go with those before are made."""
        columns, promised, values = [], [], []
        for way, (value, possible) in enumerate(ways):
            chosen = np.flatnonzero(np.broadcast_to(possible, self.promised.shape))
            made = self.promised[chosen] | way << at
            known = among.take(among.searchsorted(made), mode="clip") == made
            columns.append(chosen[known])
            promised.append(made[known])
            values.append(np.broadcast_to(value, self.promised.shape)[columns[-1]])
        self._choose(np.concatenate(columns))
        self._codes[-1] = np.concatenate(promised)
        self.put(key, np.concatenate(values))

    def _choose(self, columns: Codes) -> None:
        self._codes = self._codes.take(columns, axis=1)
        self._table = self._table.take(columns, axis=1)
        self._name()


def distinct(codes: Codes) -> Codes:
    """The numbers in order, each once. (`np.unique` loads masked arrays, which takes longer.)"""
    inorder = np.sort(codes, axis=None)
    return inorder[np.append(True, inorder[1:] != inorder[:-1])[: len(inorder)]]


def new_ones(codes: Codes, known: Codes) -> Codes:
    """Those that are not known, in order, each once. `known` is in order."""
    found = distinct(codes)
    if not len(known):
        return found
    return found[known.take(known.searchsorted(found), mode="clip") != found]


def bit_of(codes: Codes, at: int) -> Bools:
    return (codes >> at & 1).astype(np.bool_)
