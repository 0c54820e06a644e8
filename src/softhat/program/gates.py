"""Gates of an attention program: Boolean functions of other signals at the same position."""

from __future__ import annotations

from dataclasses import dataclass

from softhat.program.literals import Literal, Places, signals_of


@dataclass(frozen=True, slots=True)
class And:
    """All literals hold. Or is the negation of the And of the negations."""

    literals: tuple[Literal, ...]

    @property
    def reads(self) -> tuple[int, ...]:
        return signals_of(*self.literals)

    def moved(self, places: Places) -> And:
        return And(tuple(sorted(literal.moved(places) for literal in self.literals)))


@dataclass(frozen=True, slots=True)
class Xor:
    """Exactly one of two signals holds."""

    left: int
    right: int

    @property
    def reads(self) -> tuple[int, ...]:
        return (self.left, self.right)

    def moved(self, places: Places) -> Xor:
        return Xor(places[self.left], places[self.right])


@dataclass(frozen=True, slots=True)
class Total:
    """Σ a·w of the counts w behind some `Width`s: an exact integer, not a bit.

    A Width is 1/(1+w). The steps that decode it, one between 1/(1+k) and 1/k for each k, add up
    to w itself, so several counts add up in one coordinate.
    """

    terms: tuple[tuple[int, int], ...]
    """(coefficient, Width)."""
    most: int
    """No w is larger."""

    @property
    def reads(self) -> tuple[int, ...]:
        return tuple(read for _, read in self.terms)

    def moved(self, places: Places) -> Total:
        return Total(tuple((a, places[read]) for a, read in self.terms), self.most)


@dataclass(frozen=True, slots=True)
class Steps:
    """A bit that depends on a count alone: false for the least, and turning at every one of
    `turns` (ascending).

    The count is that behind a `Width`, or a `Total`. A fixed step between 1/(1+k) and 1/k tells
    w >= k from w < k at every n (k/(n+2) could not be decoded by fixed steps). Bits that read the
    same count share their steps: all binary digits of a count up to N need N of them.
    """

    count: int
    turns: tuple[int, ...]

    @property
    def reads(self) -> tuple[int, ...]:
        return (self.count,)

    def moved(self, places: Places) -> Steps:
        return Steps(places[self.count], self.turns)


@dataclass(frozen=True, slots=True)
class Table:
    """One of several conjunctions holds. No two of them ever do: a row of the table is chosen.

    However many rows there are, the table is one gate: a clip for each, and their sum is the bit.
    """

    terms: tuple[tuple[Literal, ...], ...]

    @property
    def reads(self) -> tuple[int, ...]:
        return signals_of(*(literal for term in self.terms for literal in term))

    def moved(self, places: Places) -> Table:
        return Table(
            tuple(tuple(sorted(literal.moved(places) for literal in term)) for term in self.terms)
        )


Gate = And | Xor | Table | Total | Steps
