"""Counts decoded by steps: bits and integers that depend on how many positions match.

A `Width` head returns u = s/(s + w + ε), 0 <= ε <= 1/8, for w matching positions and s sinks. A
*step* is 2^m(ReLU(high - u) - ReLU(low - u)), high = low + 2^-m: 1 for u <= low, 0 for u >= high.
With s/(s+k) <= low and high <= s/(s+k-1+1/8) it is 1 exactly if w >= k. The units are 0 for large
u and small for small u, so that rounding, which is relative, does little harm. Steps add up: all
of them to w itself, some of them with alternating signs to any function of w.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from softhat.program.gates import Steps, Total
from softhat.program.heads import Width
from softhat.program.registers import Register
from softhat.program.signals import Program
from softhat.transformer.lowering.rows import Hidden, Key, LayerRows, Row

MIDDLE = 1 / 16
"""Half the width of a step between two integers."""


class CountStep(NamedTuple):
    """1 where the count behind signal `counted` is at least k, else 0: it rises between `low` and
    `high`, and is added, times a weight, to some signals."""

    counted: int
    k: int
    low: float
    high: float
    weights: dict[int, int]
    falls: bool
    """Of a share, which falls as the count grows; else of a whole number."""


def count_steps(program: Program, signals: Iterable[int], sinks: int) -> list[CountStep]:
    """The steps that these signals are made of. Those that several need are computed once."""
    wanted: dict[tuple[int, int], dict[int, int]] = {}

    def want(count: int, k: int, target: int, weight: int) -> None:
        weights = wanted.setdefault((count, k), {})
        weights[target] = weights.get(target, 0) + weight

    for at in signals:
        signal = program.signals[at]
        match signal:
            case Steps(count, turns):
                for place, k in enumerate(turns):
                    want(count, k, at, 1 if place % 2 == 0 else -1)
            case Total(terms, most):
                for a, width in terms:
                    for k in range(1, most + 1):
                        want(width, k, at, a)
    steps = []
    for (count, k), weights in wanted.items():
        head = program.signals[count]
        if isinstance(head, Width):
            seen = sinks if head.selector.mask == "none" else 1
            steps.append(CountStep(count, k, *step(k, seen), weights, falls=True))
        else:  # an integer: halfway between k-1 and k
            low, high = k - 0.5 - MIDDLE, k - 0.5 + MIDDLE
            steps.append(CountStep(count, k, low, high, weights, falls=False))
    return steps


def write_steps(rows: LayerRows, program: Program, signals: Iterable[int], sinks: int) -> None:
    """Two hidden units for each step."""
    for counted, _, low, high, weights, falls in count_steps(program, signals, sinks):
        raw: Key = Register(counted, True)
        gain = 1 / (high - low)
        sign, first, second = (-1.0, high, low) if falls else (1.0, -low, -high)
        for bias, weight in ((first, gain), (second, -gain)):
            out: Row = {Register(at, True): weight * w for at, w in weights.items()}
            rows.hidden.append(Hidden({raw: sign}, bias, out))


def step(k: int, sinks: int) -> tuple[float, float]:
    """The ends of the step at k, a power of two apart, on a short grid in the middle of the gap."""
    least, most = sinks / (sinks + k), sinks / (sinks + k - 1 + 1 / 8)
    width = 1.0
    while width > (most - least) / 2:
        width /= 2
    grid = width / 4
    low = round(((least + most - width) / 2) / grid) * grid
    return low, low + width
