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
class AtLeast:
    """At least `count` >= 1 positions match: one step of the staircase that decodes a `Width`.

    A Width is 1/(1+w), and a fixed step between 1/(1+count) and 1/count tells w >= count from
    w < count at every n. (k/(n+2) could not be decoded by a fixed staircase.)
    """

    width: int
    count: int

    @property
    def reads(self) -> tuple[int, ...]:
        return (self.width,)

    def moved(self, places: Places) -> AtLeast:
        return AtLeast(places[self.width], self.count)


Gate = And | Xor | AtLeast
