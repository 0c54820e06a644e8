"""Steps: counts decoded by the feed-forward, into bits and into whole numbers.

A step at k is g(ReLU(high - u) - ReLU(low - u)), g = 1/(high - low), of the share u = s/(s+w+ε):
1 where u <= low, 0 where u >= high. It says w >= k if

    s/(s+k)·(1+δ) <= low  and  high <= s/(s+k-1+ε)·(1-δ)

with the relative error δ of the share in a number format. On a whole number x it is
g(ReLU(x - low) - ReLU(x - high)) with k-1 < low < high < k: 1 where x >= high, 0 where x <= low.

**In floats** a step that is 0 is exactly 0. One that is 1 is the difference of two hidden units,
each rounded by at most ρ of its size (not at all if u is within a factor of two), times g; sums of
many units are taken in float64 by softhat's runtime.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

from softhat.io.errors import VoidError
from softhat.numbers.rationals import power_of_two
from softhat.numerics.formats import MANY, Format
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.width import WidthKind
from softhat.proof.scores import CARE
from softhat.proof.softmax import Bound

Unit = tuple[float, float]
"""(bias, weight) of a hidden unit."""


@dataclass(frozen=True, slots=True)
class DecodingStep:
    """`weight` where the count is at least k."""

    k: int
    low: float
    high: float
    weight: int


@dataclass(frozen=True, slots=True)
class Decoded(Kind):
    """What steps of some counts add up to: a bit, or a whole number."""

    CALLED = ("Steps",)
    NUMBERS = ()
    bounds_weights = True

    of: tuple[tuple[WidthKind | Decoded, int, tuple[DecodingStep, ...]], ...]
    """The count, the sinks in its sight (0: it is a whole number), and its steps."""
    is_bit: bool

    @property
    def min_gap(self) -> float:
        return 0.0

    @property
    def leak(self) -> float:
        return 0.0

    def bound(self, n: int, form: Format) -> Bound:
        error = self.error(n, form)
        over = max(error, self._at_sinks(form))
        if max(error, over) > 0.25:
            raise VoidError("steps are off by more than 1/4")
        return Bound(error, error, over)

    def error(self, n: int, form: Format) -> float:
        """How far what it returns can be off on the word's own positions, for counts up to n."""
        steps = _Rounding(form)
        for source, sinks, its_steps in self.of:
            source.bound(n, form)
            room = _share_room(source, sinks, n, form) if sinks else _whole_room(source, n, form)
            for step in its_steps:
                stored = replace(step, low=form.stored(step.low), high=form.stored(step.high))
                never = bool(sinks) and step.k > n  # then its units are 0 for every share
                weight = step.weight / (step.high - step.low)
                if form.stored(weight) != weight or (stored != step and not never):
                    raise VoidError("a weight of a step is not representable")
                if not room(stored):
                    raise VoidError(f"counts around {step.k} are rounded together")
                if not never:
                    steps.add(step, step.high if sinks else n + 1.0)
        return steps.total(1.0 if self.is_bit else float(n) * self._slope)

    def _at_sinks(self, form: Format) -> float:
        """The same at a sink that sees no key: the share is 0 there and every step is 1, so a bit
        is 0 or 1 as it is after its last turn."""
        steps = _Rounding(form)
        for source, sinks, its_steps in self.of:
            if not source.blind:
                continue  # there it is a count of 0
            most = sum(abs(step.weight) for step in its_steps) + 1.0
            for step in its_steps:
                steps.add(step, step.high if sinks else most)
        return steps.total(1.0) if self.is_bit else 0.0

    @property
    def blind(self) -> bool:
        """Whether at some sink nothing is in sight."""
        return any(source.blind for source, _, _ in self.of)

    @property
    def _slope(self) -> int:
        """The largest sum of weights of steps at one k."""
        return sum(max((abs(s.weight) for s in steps), default=0) for _, _, steps in self.of)


class _Rounding:
    """The error of adding up steps that are 1: two units each, rounded where they are summed and
    where they are stored, and then their sum."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.magnitude, self.units = 0.0, 0

    def add(self, step: DecodingStep, size: float) -> None:
        """A step whose units are at most `size`."""
        self.magnitude += 2 * abs(step.weight) / (step.high - step.low) * size
        self.units += 2

    def total(self, most: float) -> float:
        """For a result up to `most`: it is stored, added to the residual stream and stored again,
        perhaps where something else has just been taken off."""
        form = self.form
        digits = form.wide_digits if self.units > MANY else form.sum_digits
        error = self.magnitude * (form.u_sum + form.u + self.units * 2.0**-digits)
        return (error + 4 * (form.u + form.u_sum) * (most + 1 + error)) * CARE


def _share_room(source: Kind, sinks: int, n: int, form: Format) -> Callable[[DecodingStep], bool]:
    """Whether a step of a share tells k from k-1, for every count up to n."""
    assert isinstance(source, WidthKind)
    epsilon, delta = source.share(n, form)

    def room(step: DecodingStep) -> bool:
        most = sinks / (sinks + step.k) * (1 + delta)
        least = sinks / (sinks + min(n, step.k - 1) + epsilon) * (1 - delta)
        return step.high <= least and (step.k > n or most <= step.low)

    return room


def _whole_room(source: Kind, n: int, form: Format) -> Callable[[DecodingStep], bool]:
    """The same for a step of a whole number, which is off by the error of its own steps."""
    assert isinstance(source, Decoded)
    error = source.error(n, form)
    return lambda step: error < min(step.low - (step.k - 1), step.k - step.high)


def steps_of_share(units: list[Unit], sinks: int) -> tuple[DecodingStep, ...]:
    """Hidden units ReLU(bias - u) with their weights, as steps at counts k, ascending."""
    ordered = sorted(units, reverse=True)
    if len(ordered) % 2:
        raise VoidError("a count is decoded by units that are no steps")
    steps = []
    for (high, up), (low, down) in zip(ordered[::2], ordered[1::2], strict=True):
        weight = _weight(high, low, up, down)
        if not 0 < low < high < 1:
            raise VoidError("a step lies outside what a share can be")
        k = max(1, ceil(sinks / low - sinks - 1e-12))
        while sinks / (sinks + k) > low:
            k += 1
        if not high <= sinks / (sinks + k - 1 + 1 / 8):
            raise VoidError("a step lies between no two counts")
        steps.append(DecodingStep(k, low, high, weight))
    return _distinct(steps)


def steps_of_whole(units: list[Unit]) -> tuple[DecodingStep, ...]:
    """Hidden units ReLU(x + bias) with their weights, as steps of a whole number."""
    ordered = sorted(units, reverse=True)
    if len(ordered) % 2:
        raise VoidError("a number is decoded by units that are no steps")
    steps = []
    for (early, up), (late, down) in zip(ordered[::2], ordered[1::2], strict=True):
        low, high = -early, -late  # the step goes from 0 at low to 1 at high
        weight = _weight(high, low, up, down)
        k = ceil(low)
        if not k - 1 < low < high < k:
            raise VoidError("a step lies between no two whole numbers")
        steps.append(DecodingStep(k, low, high, weight))
    return _distinct(steps)


def _weight(high: float, low: float, up: float, down: float) -> int:
    gain = 1 / (high - low) if high > low else 0.0
    weight = up / gain if gain else 0.0
    if not power_of_two(gain) or up != -down or weight != int(weight):
        raise VoidError("a count is decoded by units that are no steps")
    return int(weight)


def _distinct(steps: list[DecodingStep]) -> tuple[DecodingStep, ...]:
    ordered = sorted(steps, key=lambda step: step.k)
    if len({step.k for step in ordered}) < len(ordered):
        raise VoidError("two steps at one count")
    return tuple(ordered)


def turns_of(steps: tuple[DecodingStep, ...]) -> tuple[int, ...] | None:
    """Where a bit turns, if the steps add up to one: +1 and -1 in turn."""
    if all(step.weight == (1, -1)[at % 2] for at, step in enumerate(steps)):
        return tuple(step.k for step in steps)
    return None


def whole_of(steps: tuple[DecodingStep, ...]) -> tuple[int, int] | None:
    """(a, most) if the steps add up to a·w for w <= most: one at each k from 1 on."""
    weights = {step.weight for step in steps}
    if len(weights) == 1 and [step.k for step in steps] == list(range(1, len(steps) + 1)):
        return weights.pop(), len(steps)
    return None
