"""A machine that remembers more: the last symbols, or how often each was read.

In a model of two layers, what a position reads in the first layer depends on more than its state. A
finer machine tells such positions apart, so that each of its states stands for a smaller set. Where
the first layer looks near, the last symbols do; where it averages over everything, counts do.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.trained.specification import Specification

MOST = 4_000
"""States of a refined machine."""


@dataclass(frozen=True)
class Refined:
    """A finer machine, and which state of the coarse one each of its states belongs to."""

    spec: Specification
    base: NDArray[np.int64]


def refined(spec: Specification, memory: int, counts: bool, most: int) -> Refined:
    """The machine with the last `memory` symbols, and with the counts of all symbols but one (the
    number of symbols read gives that) if `counts`, for words of at most `most` symbols."""
    symbols = len(spec.symbols)
    none = (0,) * (symbols - 1) if counts else ()
    start: tuple[int, tuple[int, ...], tuple[int, ...]] = (spec.start, (), none)
    place: dict[Hashable, int] = {start: 0}
    states, steps, layer = [start], [[-1] * symbols], [start]
    for _ in range(most):
        fresh = []
        for state in layer:
            for k in range(symbols):
                to = int(spec.step[state[0], k])
                if to < 0:
                    continue
                counted = state[2]
                if counts and k < symbols - 1:
                    counted = (*counted[:k], counted[k] + 1, *counted[k + 1 :])
                after = (to, (*state[1], k)[-memory:] if memory else (), counted)
                if after not in place:
                    place[after] = len(place)
                    states.append(after)
                    steps.append([-1] * symbols)
                    fresh.append(after)
                steps[place[state]][k] = place[after]
        if len(states) > MOST:
            raise SofthatError(f"the refined machine has more than {MOST:,} states")
        layer = fresh
        if not layer:
            break
    base = np.array([state[0] for state in states])
    spec = replace(
        spec,
        names=tuple(f"{spec.names[q]} {at}" for at, q in enumerate(base)),
        start=0,
        step=np.array(steps, np.int64),
        allowed=tuple(spec.allowed[q] for q in base),
    )
    return Refined(spec, base)
