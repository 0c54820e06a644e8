"""Counts decoded by steps: bits and integers that depend on how many positions match.

A `Width` head returns u = s/(s + w + ε), 0 <= ε <= 1/8, for w matching positions and s sinks. A
*step* is 2^m(ReLU(high - u) - ReLU(low - u)), high = low + 2^-m: 1 for u <= low, 0 for u >= high.
With s/(s+k) <= low and high <= s/(s+k-1+1/8) it is 1 exactly if w >= k. The units are 0 for large
u and small for small u, so that rounding, which is relative, does little harm. Steps add up: all
of them to w itself, some of them with alternating signs to any function of w.
"""

from __future__ import annotations

from collections.abc import Iterable

from softhat.program.gates import Steps, Total
from softhat.program.heads import Width
from softhat.program.registers import Register
from softhat.program.signals import Program
from softhat.transformer.lowering.rows import Hidden, Key, LayerRows, Row

MIDDLE = 1 / 16
"""Half the width of a step between two integers."""


def write_steps(rows: LayerRows, program: Program, signals: Iterable[int], sinks: int) -> None:
    """Steps that several signals need are computed once."""
    wanted: dict[tuple[int, int], Row] = {}

    def want(source: int, k: int, target: int, weight: float) -> None:
        row = wanted.setdefault((source, k), {})
        at = Register(target, True)
        row[at] = row.get(at, 0.0) + weight

    for at in signals:
        signal = program.signals[at]
        match signal:
            case Steps(count, turns):
                for place, k in enumerate(turns):
                    want(count, k, at, 1.0 if place % 2 == 0 else -1.0)
            case Total(terms, most):
                for a, width in terms:
                    for k in range(1, most + 1):
                        want(width, k, at, float(a))
    for (source, k), out in wanted.items():
        head = program.signals[source]
        raw: Key = Register(source, True)
        if isinstance(head, Width):
            seen = sinks if head.selector.mask == "none" else 1
            low, high = step(k, seen)
            gain = 1 / (high - low)
            units = [({raw: -1.0}, high, gain), ({raw: -1.0}, low, -gain)]
        else:  # an integer: halfway between k-1 and k
            gain = 1 / (2 * MIDDLE)
            units = [({raw: 1.0}, 0.5 - k + MIDDLE, gain), ({raw: 1.0}, 0.5 - k - MIDDLE, -gain)]
        for row, bias, weight in units:
            rows.hidden.append(Hidden(dict(row), bias, {at: weight * w for at, w in out.items()}))


def step(k: int, sinks: int) -> tuple[float, float]:
    """The ends of the step at k, a power of two apart, on a short grid in the middle of the gap."""
    least, most = sinks / (sinks + k), sinks / (sinks + k - 1 + 1 / 8)
    width = 1.0
    while width > (most - least) / 2:
        width /= 2
    grid = width / 4
    low = round(((least + most - width) / 2) / grid) * grid
    return low, low + width
