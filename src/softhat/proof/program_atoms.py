"""Atoms and cells of programs: what a selection selects, what is read of it, and how much that is.

A *selection* are the keys j whose functions go with those of the query i. No formula has one, so
the checker of formulas does not load this.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product

from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.cells import Number

FEW_TURNS = 8
"""A bit of a count that turns more often is an atom of its own."""
MOST_TOGETHER = 6
"""Atoms that read one position and are looked at together: 64 cases. More are taken by twos."""


@dataclass(frozen=True, slots=True)
class Share(Number):
    """What a Width head returns: s/(s + w + ε), where w keys of a selection match."""

    selection: int
    sinks: int
    head: int


@dataclass(frozen=True, slots=True)
class Whole(Number):
    """Σ a·w of counts of selections, off by the error of `head`; may be negative."""

    terms: tuple[tuple[int, int], ...]
    """(a, selection)."""
    head: int


@dataclass(frozen=True, slots=True)
class Chosen(Number):
    """The mean of Σ a·bit over the keys of a selection, 0 where there is none."""

    selection: int
    terms: tuple[tuple[float, int], ...]
    head: int


class ProgramAtoms(Atoms):
    """The atoms of one model of a program."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self._selections: dict[Hashable, int] = {}
        self._agreed: set[tuple[int, int]] = set()
        """(selection, function) that the claim reads: there, keys agree by what it assumes."""

    def selection(self, mask: str, pairs: frozenset[tuple[int, int]]) -> int:
        """The number of a selection: j with (query function at i, key function at j) in a pair."""
        return self._number(("pairs", mask, pairs))

    def code(self, mask: str, digits: Iterable[tuple[int, int]]) -> int:
        """The number of a selection of the keys whose digits are the query's; (query, key) each."""
        return self._number(("code", mask, self.same_digits(digits)))

    def _number(self, key: Hashable) -> int:
        return self._selections.setdefault(key, len(self._selections))

    def read(self, selection: int, value: int, level: int) -> int:
        """`value` at the keys of a selection, which agree on it; false where there is none."""
        self._agreed |= {(selection, value), (selection, self.space.negation(value))}
        if value == self.space.false:
            return value
        return self.space.atom(("read", selection, value), level)

    def agree(self, selection: int, value: int) -> bool:
        """Do the keys of a selection agree on a function? On what weights read beside the claim
        they need not: it may be no bit, and still leave a Boolean function unchanged."""
        return value in (self.space.false, self.space.true) or (selection, value) in self._agreed

    def steps(self, terms: tuple[tuple[int, int], ...], turns: tuple[int, ...], level: int) -> int:
        """A bit of the number Σ a·w of widths: false for the least, turning at each of `turns`."""
        space, function = self.space, self.space.false
        if len(turns) > FEW_TURNS:
            return space.atom(("steps", terms, turns), level)
        for turn in reversed(turns):
            # From here on it is what the rest says, negated: the rest counts from later turns.
            reached = space.atom(("width", terms, turn), level)
            function = space.both(reached, space.negation(function))
        return function

    def exclusive(self, f: int, g: int) -> bool:
        """Is it plain that two functions never hold at one position? (A number that is at least 3
        is at least 2: what the space does not know is added.)"""
        space = self.space
        both = space.both(f, g)
        chains: dict[Hashable, dict[int, int]] = {}
        for key in space.atoms_in(both):
            if key[0] in ("width", "at least"):
                chains.setdefault(key[:-1], {})[key[-1]] = space.atom(key, 0)
        for chain in chains.values():
            for less, more in pairwise(sorted(chain)):
                either = space.either(space.negation(chain[more]), chain[less])
                both = space.both(both, either)
        return both == space.false or self._contradicts(both)

    def _contradicts(self, function: int) -> bool:
        """Do the atoms of a function that read one other position say of it what cannot be, in
        every case in which the function holds? (`Y a`, `Y b` and `Y c` exclude each other.)

        Where a position is not there, all that is read of it by a selection is false, and what
        `previous` atoms say does not matter: the function is the same whatever they say.
        """
        space = self.space
        places: dict[tuple[str, Hashable], list[tuple[int, int]]] = {}
        for key in space.atoms_in(function):
            if key[0] == "previous" or (key[0] == "read" and self.agree(*key[1:])):
                places.setdefault((key[0], key[1]), []).append((space.atom(key, 0), key[2]))
        for (kind, _), read in places.items():
            for some in combinations(read, 2) if len(read) > MOST_TOGETHER else [read]:
                function = space.both(function, self._possible(some, kind == "read"))
        return function == space.false

    def _possible(self, read: Sequence[tuple[int, int]], may_be_nowhere: bool) -> int:
        """The cases of atoms, each with the function that it reads, that some position has."""
        space, possible = self.space, self.space.false
        for case in product((False, True), repeat=len(read)):
            atoms, values = (
                space.every(
                    f if yes else space.negation(f) for f, yes in zip(of, case, strict=True)
                )
                for of in zip(*read, strict=True)
            )
            if (may_be_nowhere and not any(case)) or not self.exclusive(values, space.true):
                possible = space.either(possible, atoms)
        return possible
