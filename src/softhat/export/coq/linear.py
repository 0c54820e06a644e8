"""Counting terms: linear forms over counts of signals, as `proofs/Matching.v` has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd

from softhat.program.heads import Range
from softhat.program.literals import Literal

Counts = dict[tuple[Range, int], int]


@dataclass(frozen=True)
class Linear:
    """A counting term: Σ a·#(signal) + position·i + length·n + constant."""

    counts: Counts = field(default_factory=dict)
    position: int = 0
    length: int = 0
    constant: int = 0

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        counts = dict(self.counts)
        for key, a in other.counts.items():
            counts[key] = counts.get(key, 0) + factor * a
        return Linear(
            {key: a for key, a in counts.items() if a},
            self.position + factor * other.position,
            self.length + factor * other.length,
            self.constant + factor * other.constant,
        )

    @property
    def at_one(self) -> int:
        """Its value at i = n = 1, of a form that counts nothing."""
        return self.position + self.length + self.constant

    def extreme(self, sign: int) -> Linear:
        """A form that counts nothing and is never less (1), or never more (-1): a count lies
        between 0 and the size of its range."""
        form = Linear({}, self.position, self.length, self.constant)
        for (over, _), a in self.counts.items():
            if a * sign > 0:
                form = form.plus(SIZES[over], a)
        return form

    @property
    def coefficients(self) -> list[int]:
        return [*self.counts.values(), self.position, self.length]

    def direction(self) -> tuple[tuple[object, ...], int]:
        """The form without its constant as a multiple of another: that one, and the factor. A form
        and its negative are multiples of the same one."""
        divisor = gcd(*self.coefficients)
        if not divisor:
            return ((), 0, 0), 0
        entries = sorted(self.counts.items())
        leading = next(a for a in [a for _, a in entries] + [self.position, self.length] if a)
        factor = divisor if leading > 0 else -divisor
        counts = tuple((key, a // factor) for key, a in entries)
        return (counts, self.position // factor, self.length // factor), factor


SIZES: dict[Range, Linear] = {
    "past": Linear(position=1),
    "future": Linear(position=-1, length=1, constant=1),
    "total": Linear(length=1),
}


def counted(literal: Literal, over: Range) -> Linear:
    """`#(literal)` with positive literals only: #(¬x) = (size of the range) - #(x)."""
    if literal.signal < 0:
        return SIZES[over] if literal.positive else Linear()
    plain = Linear({(over, literal.signal): 1})
    return plain if literal.positive else SIZES[over].plus(plain, -1)
