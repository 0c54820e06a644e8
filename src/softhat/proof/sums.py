"""Comparisons of counts by what positions add: those that finitely many states tell.

A linear form of counts is a sum over the positions of a word: one amount for those before position
i, one for i itself, one for those after it. Read from one end, what is behind and the position
itself decide the comparison where positions ahead add nothing, and at the end of the word; where
those ahead can only add, or only take off, they decide one side of it; and where all positions add
the same it is the same everywhere. A sum behind is remembered exactly only within the numbers that
matter. Beyond them only its side is remembered, large or small. When it comes back from there it
may be any number that one step can lead to.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from softhat.proof.atoms import CountSum, Direction, Range
from softhat.proof.boolean import Key, Space

Weights = tuple[tuple[int, int], ...]
"""(function, what a position adds where it holds)."""

LARGEST = 127
"""The largest sum that is remembered."""
STEEPEST = 7
"""The most that one position may take off a sum, or add to it, if others do the opposite."""


Ahead = Literal["nothing", "the same", "more", "less"]
"""What positions ahead add: nothing, what all others add, at least 0, at most 0."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Σ behind + Σ here + what is ahead >= least."""

    behind: Weights
    here: Weights
    least: int
    ahead: Ahead
    slip: int
    """How far a sum may come back by a step from beyond what is remembered; 0 if it never does."""

    @property
    def most(self) -> int:
        """Sums behind from this on meet the comparison whatever is here, and down from its opposite
        they miss it."""
        return abs(self.least) + sum(abs(a) for _, a in self.here) + 1


def is_comparison(key: Key) -> bool:
    """A sum against a number; not the atoms of bounded words, with a threshold each position."""
    return bool(key[0] == "at least" and len(key) == 5)


def form_of(key: Key, value: bool) -> CountSum:
    """The sum that is >= 0 exactly where the comparison has this value."""
    _, counts, position, length, threshold = key
    sums: dict[tuple[Range, int], int] = dict(counts)
    total = CountSum(sums, position, length, -threshold)
    return total if value else CountSum(constant=-1).plus(total, -1)


def kept_sum(space: Space, key: Key, behind: Direction) -> Kept | None:
    """A comparison by what is behind, if finitely many states tell it; None otherwise."""
    before, here, after = _weights(space, key)
    back, ahead = (before, after) if behind == "past" else (after, before)
    low, high = _bounds(space, back)
    slip = max(-low, high) if low < 0 < high else 0
    less, more = _bounds(space, ahead)
    follows: Ahead = "nothing"
    if ahead:
        follows = "the same" if back == here == ahead else "more" if less >= 0 else "less"
        if follows == "less" and more > 0:
            return None
    compared = Kept(back, here, key[4], follows, slip)
    return compared if compared.most <= LARGEST and slip <= STEEPEST else None


def _bounds(space: Space, weights: Weights) -> tuple[int, int]:
    """What a position adds at least, and at most."""
    low, high = space.range_of_sum([(Fraction(a), f) for f, a in weights])
    return int(low), int(high)


def _weights(space: Space, key: Key) -> tuple[Weights, Weights, Weights]:
    """What positions before, at and after position i add."""
    sides: tuple[dict[int, int], ...] = ({}, {}, {})
    _, counts, position, length, _ = key
    adds = [(over, f, a) for (over, f), a in counts]
    adds += [("past", space.true, position), ("total", space.true, length)]
    for over, f, a in adds:
        for side, where in zip(sides, (("past",), ("past", "future"), ("future",)), strict=True):
            if over in where or over == "total":
                side[f] = side.get(f, 0) + a
    before, here, after = (tuple(sorted((f, a) for f, a in s.items() if a)) for s in sides)
    return before, here, after
