"""Atoms of a model whose words have at most N positions: position predicates are tables.

A checkpoint with learned positions holds any predicate of the position as a table. Two tables
that are equal up to N are one atom, whatever they were called. How many positions up to i a table
holds at is a number known for each i: so a comparison of past counts is a threshold for each
position, cut to what words of that length can reach. Two comparisons of the same counts with equal
thresholds are one atom, and one that no word can meet (or miss) is a constant.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import gcd

import numpy as np
from numpy.typing import NDArray

from softhat.numbers.predicates import Predicate, column, depends_on_length
from softhat.proof.atoms import Atoms, CountSum, Direction
from softhat.proof.boolean import Space


class BoundedAtoms(Atoms):
    """Atoms over positions 1 to `most`."""

    def __init__(
        self,
        space: Space,
        most: int,
        has_recalls: bool = False,
        whole_shifts: bool = False,
    ) -> None:
        super().__init__(space)
        self.whole_shifts = whole_shifts
        """Is what stands some positions before an atom of its own, or so many times `Y`?"""
        self.most = most
        self.has_recalls = has_recalls
        """Is there a kind of head for `last[…]`? Then that is an atom of its own."""
        self.index = np.arange(1, most + 1)
        self.tables: dict[int, NDArray[np.bool_]] = {}
        """Where the functions that are tables hold."""
        self._false_to: dict[int, int] = {}
        """Up to which position a function is false, where that is known."""
        self._read_at: dict[int, tuple[int, int]] = {}
        """How far before something stands that is read there, and what."""
        self.edge["past"] = self.table(self.index == 1, -2)

    def table(self, holds: NDArray[np.bool_], level: int) -> int:
        """The predicate that holds at these positions."""
        if holds.all():
            return self.space.true
        if not holds.any():
            return self.space.false
        if holds[0]:
            function = self.space.negation(self.table(~holds, level))
        else:
            key = ("positions", self.most, np.packbits(holds).tobytes())
            function = self.space.atom(key, level)
        self.tables[function] = holds
        return function

    def recall(self, bad: int, digits: Iterable[tuple[int, int]], value: int, level: int) -> int:
        if not self.has_recalls:
            return super().recall(bad, digits, value, level)
        same = self.same_digits(digits)
        if value == self.space.false:
            return value
        if not same:
            return self.since(bad, value, "past", level)
        return self.space.atom(("recall", bad, same, value), level)

    def previous(self, value: int, direction: Direction, level: int) -> int:
        """`Y value`; what looks back further than the longest word goes is false."""
        early = self._false_to.get(value, 0) + 1
        if direction == "past" and early >= self.most:
            return self.space.false
        moved = super().previous(value, direction, level)
        self._false_to[moved] = max(early, self._false_to.get(moved, 0))
        return moved

    def earlier(self, value: int, distance: int, level: int) -> int:
        """`value` at i - distance; false where that is no position."""
        space = self.space
        if not self.whole_shifts:
            for _ in range(min(distance, self.most)):
                value = self.previous(value, "past", level)
            return value
        nearer, value = self._read_at.get(value, (0, value))
        distance += nearer
        there = self.table(self.index > distance, level)
        if there == space.false or value == space.false:
            return space.false
        moved = there
        if value != space.true:
            positive = space.polarity(value)
            same = value if positive else space.negation(value)
            atom = space.atom(("earlier", distance, same), level)
            moved = space.both(there, atom if positive else space.negation(atom))
        self._read_at[moved] = (distance, value)
        return moved

    def residue(self, modulus: int, remainder: int, level: int) -> int:
        if modulus > self.most:  # no larger number than a position is needed
            holds = self.index == min(remainder, self.most + 1)
            return self.table(holds, level)
        return self.table(self.index % modulus == remainder, level)

    def holds(self, predicate: Predicate, level: int) -> int:
        if depends_on_length(predicate):
            return super().holds(predicate, level)
        return self.table(column(predicate, self.index, self.most), level)

    def _table_of(self, function: int) -> NDArray[np.bool_] | None:
        """Where a function holds that only the position tells, or the opposite of such a one."""
        if function == self.space.true:
            return np.ones(self.most, np.bool_)
        if function in self.tables:
            return self.tables[function]
        opposite = self.tables.get(self.space.negation(function))
        return None if opposite is None else ~opposite

    def at_least(self, total: CountSum, threshold: int, level: int) -> int:
        """`total >= threshold`: Σ a·#(f) over the past against a threshold for each position."""
        if total.length or any(over != "past" for over, _ in total.counts):
            return super().at_least(total, threshold, level)
        space = self.space
        # In Python's integers: constants may be beyond int64.
        needed = [threshold - total.constant - total.position * i for i in self.index.tolist()]
        counts: dict[int, int] = {}
        for (_, f), a in total.counts.items():
            table = self._table_of(f)
            if table is not None:
                held = np.cumsum(table).tolist()
                needed = [n - a * k for n, k in zip(needed, held, strict=True)]
            elif f != space.false and space.polarity(f):
                counts[f] = counts.get(f, 0) + a
            elif f != space.false:  # #(!f) = i - #(f)
                needed = [n - a * i for n, i in zip(needed, self.index.tolist(), strict=True)]
                counts[space.negation(f)] = counts.get(space.negation(f), 0) - a
        terms = sorted((f, a) for f, a in counts.items() if a)
        if not terms:
            return self.table(np.array([n <= 0 for n in needed]), level)
        divisor = gcd(*(a for _, a in terms))
        negated = terms[0][1] < 0  # -t >= c is not t >= 1 - c
        sign = -1 if negated else 1
        terms = [(f, sign * a // divisor) for f, a in terms]
        needed = [-(-n // divisor) for n in needed]
        if negated:
            needed = [1 - n for n in needed]
        low, high = map(int, space.range_of_sum([(Fraction(a), f) for f, a in terms]))
        within = [min(max(n, low * i), high * i + 1) for i, n in enumerate(needed, start=1)]
        if all(n == low * i for i, n in enumerate(within, start=1)):
            result = space.true
        elif all(n == high * i + 1 for i, n in enumerate(within, start=1)):
            result = space.false
        else:
            result = space.atom(("at least", tuple(terms), tuple(within)), level)
        return space.negation(result) if negated else result
