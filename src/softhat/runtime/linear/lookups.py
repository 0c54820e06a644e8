"""The softmax of an At in linear time: keys are numbered, so a number is looked up.

**Theorem 42.** Let the keys j = 1, 2, … have the numbers ±j + c modulo 2^B, which are different for
up to 2^B of them, and let the score be h·(1 - 2d) where d of the B digits of the query's number
differ, and 0 at the sink, with 3h >= 38. Then, up to e^-38 of it, the mean of a value is

    (v_0 + e^-2h Σ v_b) / (1 + e^-h + e^-2h m)    if a key in sight has the query's number,
    (e^-h Σ v_b) / (1 + e^-h m)                   if none has,

where v_0 is that key's value and v_b are those of the m keys in sight whose number differs in one
digit: keys that differ in two lose at least 3h against the winner. With h >= 38 those that differ
in one are lost as well, and nothing but v_0 is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from softhat.runtime.linear.classes import TooManyError
from softhat.runtime.linear.columns import Array, View
from softhat.runtime.linear.kernels import Word, bit_of
from softhat.transformer.rows import IntegerRow, bit_rows
from softhat.transformer.shape_reader import NEGLIGIBLE
from softhat.transformer.shapes import HeadForm, Numbered

PACKED = 62
"""Values of a position that are bits of one integer."""


@dataclass(slots=True)
class SeenValues:
    """The values of all positions so far, packed: (integers, times), of which `count` are used."""

    values: Array
    count: int = 0

    def add(self, packed: Array) -> None:
        stop = self.count + packed.shape[1]
        if stop > self.values.shape[1]:
            larger = np.zeros((len(packed), max(stop, 2 * self.values.shape[1])), np.int64)
            larger[:, : self.count] = self.values[:, : self.count]
            self.values = larger
        self.values[:, self.count : stop] = packed
        self.count = stop


class LookupKernel:
    """Theorem 42."""

    def __init__(self, head: HeadForm, shape: Numbered) -> None:
        self.shape = shape
        self.values = bit_rows(head.values)
        self.units = [float(row.quantum) for row in self.values]
        self.queries = [IntegerRow(((c, 1.0),)) for c in shape.queries]
        self.size = 1 << len(self.queries)
        self.longest = min(self.size, shape.constant) if shape.down else self.size
        """No two positions up to here have the same number."""
        self.near = range(len(self.queries)) if shape.half < NEGLIGIBLE else range(0)
        """The digits in which a key may differ and still count."""
        self.integers = -(-len(self.values) // PACKED)

    def fresh(self) -> SeenValues:
        return SeenValues(np.zeros((self.integers, 0), np.int64))

    def chunk(self, state: SeenValues, view: View, start: int, word: Word) -> list[Array]:
        self.absorb(state, view, start, word)
        asked = np.full(view.size, self.shape.flipped, np.int64)
        for b, row in enumerate(self.queries):
            asked ^= view.bits(row).astype(np.int64) << b
        times = np.arange(start, start + view.size)
        place, present = self._places(asked, times)
        lost = np.where(present, exp(-2 * self.shape.half), exp(-self.shape.half))
        total = np.where(present, 1.0 + exp(-self.shape.half), 1.0)
        means = [np.where(present, bits, 0.0) for bits in self._bits(state, place)]
        for b in self.near:
            place, there = self._places(asked ^ (1 << b), times)
            weight = np.where(there, lost, 0.0)
            total += weight
            for mean, bits in zip(means, self._bits(state, place), strict=True):
                mean += weight * bits
        return [mean / total * unit for mean, unit in zip(means, self.units, strict=True)]

    def absorb(self, state: SeenValues, view: View, start: int, word: Word) -> None:
        """Store the values of these positions, to be looked up later."""
        self._check(start + view.size - 1)
        packed = np.zeros((self.integers, view.size), np.int64)
        for k, row in enumerate(self.values):
            packed[k // PACKED] |= view.bits(row).astype(np.int64) << (k % PACKED)
        state.add(packed)

    def step(self, state: SeenValues, x: list[float], time: int, word: Word) -> list[float]:
        self._check(time)
        packed = [0] * self.integers
        for k, row in enumerate(self.values):
            packed[k // PACKED] |= bit_of(row, x) << (k % PACKED)
        state.add(np.array(packed, np.int64)[:, None])
        asked = self.shape.flipped
        for b, row in enumerate(self.queries):
            asked ^= bit_of(row, x) << b
        times = np.array([time])
        place, present = self._places(np.array([asked]), times)
        half = self.shape.half
        lost, total = (exp(-2 * half), 1.0 + exp(-half)) if present[0] else (exp(-half), 1.0)
        means = [float(bits[0]) if present[0] else 0.0 for bits in self._bits(state, place)]
        for b in self.near:
            place, there = self._places(np.array([asked ^ (1 << b)]), times)
            if there[0]:
                total += lost
                bits_there = self._bits(state, place)
                means = [m + lost * float(v[0]) for m, v in zip(means, bits_there, strict=True)]
        return [mean / total * unit for mean, unit in zip(means, self.units, strict=True)]

    def _places(self, numbers: Array, times: Array) -> tuple[Array, Array]:
        """The position that has each number, 0 for none, and whether its time has come."""
        constant = self.shape.constant
        place = (constant - numbers if self.shape.down else numbers - constant) % self.size
        place[place == 0] = self.size
        present = place <= times
        return np.where(present, place, 0), present

    def _bits(self, state: SeenValues, places: Array) -> list[Array]:
        """Each value at these places."""
        read = state.values[:, places]
        return [read[k // PACKED] >> (k % PACKED) & 1 for k in range(len(self.values))]

    def _check(self, last: int) -> None:
        if last > self.longest:
            raise TooManyError(
                f"positions have different numbers only to {self.longest:,}, and this is number "
                f"{last:,}: run it densely"
            )
