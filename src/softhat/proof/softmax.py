"""From scores to a head's output: the error of softmax in a number format.

The winner's weight is exp(0) = 1. Losers are off by at most (1 + 8u_a)(1 + u), or are subnormal
and at most doubled, or vanish, which only helps. Sums of weights and of weighted values have as
many roundings as there are weights that do not vanish; then come one division and storage.

A head's theorem gives one `RowFact`: who wins, and how much all others weigh. What follows from it
for the output is the same for every kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, floor
from typing import Literal

from softhat.io.errors import VoidError
from softhat.numerics.formats import Format
from softhat.proof.scores import CARE, COARSE


@dataclass(frozen=True, slots=True)
class Bound:
    """`low`: how far below 1 a true output can be; `high`: how far above 0 a false one;
    `over`: how far beyond 1 any output can be. Outputs are never negative."""

    low: float
    high: float
    over: float

    def or_worse(self, other: Bound) -> Bound:
        """What holds if either of two does."""
        return Bound(
            max(self.low, other.low), max(self.high, other.high), max(self.over, other.over)
        )


EXACT = Bound(0.0, 0.0, 0.0)


def softmax(low: float, high: float, terms: float, tail: float, form: Format) -> Bound:
    """From the weight of losers relative to the winner's (`low`: the answer is yes; `high`: no),
    at most `terms` weights that do not vanish, and the weight of subnormal losers."""
    # Of a score minus the maximum, of exp, of storage.
    inflated = exp(2 * form.visible * form.u_sum) * (1 + form.kernel.exp_units * form.u_sum) * CARE
    inflated *= 1 + form.u_score  # weights are stored as scores are
    low, high = low * inflated + tail, high * inflated + tail
    # One sum of weights, one of weighted values, and what comes after them.
    sums = (2 * terms + 1 + form.kernel.between) * form.u_sum * CARE
    low = low / (1 + low) + sums
    if form.u:  # from 1/2 to 1 storage has the spacing u; what exceeds 1 by less is stored as 1
        low = floor(low / form.u + 0.5) * form.u
    high = high / (1 + high) * (1 + sums) * (1 + form.u) * CARE
    return Bound(low, high, sums if sums >= form.u else 0.0)


def checked(result: Bound) -> Bound:
    if max(result.low, result.high) > 0.25:
        raise VoidError("its error exceeds 1/4")
    return result


@dataclass(frozen=True, slots=True)
class Ladder:
    """Keys below the winner: the k-th of them, from 0 on, lies at least first + k·step below it, up
    to errors of the two scores of together at most `off`. A step of inf: there is one key."""

    first: float
    step: float
    off: float
    sag: float = 0.0
    """A share of its own by which a gap may be smaller, below 1. (It costs the first gap most, so
    that `off` holds it; how many weights vanish it decides.)"""

    @property
    def spread(self) -> float:
        """1 - e^-step: e^-first + e^-(first + step) + … is e^-first over this."""
        return -expm1(-self.step)

    def weight(self) -> float:
        """Of all its keys, relative to the winner's."""
        return exp(self.off - self.first) / self.spread

    def seen(self, form: Format) -> float:
        """How many of its weights do not vanish, at most."""
        return 1 + max(0.0, form.visible + self.off) / (self.step * (1 - self.sag))


Winners = Literal["one", "tied", "uniform", "sign"]
"""Which keys share the weight: one of them, all that match, all, or those on one side of a
comparison."""


@dataclass(frozen=True, slots=True)
class RowFact:
    """What a head's theorem says of one row of scores, for every word of length at most n."""

    winners: Winners
    yes: float = 0.0
    """The weight of all others, relative to the winners', where the answer is yes …"""
    no: float = 0.0
    """… and where it is no."""
    seen: float = 0.0
    """How many weights do not vanish, at most; 0 if none but the winners' is there at all."""
    tail: float = 0.0
    """The weight of subnormal losers."""

    def bound(self, form: Format) -> Bound:
        """How far a head's output is off."""
        if not self.seen:
            return EXACT
        return checked(softmax(self.yes, self.no, self.seen, self.tail, form))


def one_winner(
    ladders: tuple[Ladder, ...], n: int, form: Format, hard: bool, beyond: float = 0.0
) -> RowFact:
    """All keys but the winner stand on ladders below it (`beyond`: but for some of this weight).
    With hard attention errors need only leave a gap; otherwise they leave a tenth of it."""
    if any(ladder.off >= ladder.first * (1.0 if hard else 0.9) for ladder in ladders):
        raise VoidError(COARSE)
    if hard:
        return RowFact("one")
    losers = sum(ladder.weight() for ladder in ladders) + beyond
    seen = min(n + 2.0, 1 + sum(ladder.seen(form) for ladder in ladders))
    # Those below the normal numbers are at most twice as many units as they should be.
    tail = min(losers, sum(2 * form.held.normal / ladder.spread for ladder in ladders))
    return RowFact("one", losers, losers, seen, tail)
