"""A machine that remembers more: the last symbols, or how often each was read.

In a model of two layers, what a position reads in the first layer depends on more than its state. A
finer machine tells such positions apart, so that each of its states stands for a smaller set. Where
the first layer looks near, the last symbols do; where it averages over everything, counts do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softhat.trained.specification import Specification, explored

MOST = 4_000
"""States of a refined machine."""


@dataclass(frozen=True)
class Refined:
    """A finer machine, and which state of the coarse one each of its states belongs to."""

    spec: Specification
    base: NDArray[np.int64]


_Finer = tuple[int, tuple[int, ...], tuple[int, ...]]
"""A state of the coarse machine, the last symbols, and the counts."""


def refined(spec: Specification, memory: int, counts: bool, most: int) -> Refined:
    """The machine with the last `memory` symbols, and with the counts of all symbols but one (the
    number of symbols read gives that) if `counts`, for words of at most `most` symbols."""
    symbols = len(spec.symbols)
    none = (0,) * (symbols - 1) if counts else ()

    def after(state: _Finer) -> Iterator[_Finer | None]:
        for k, to in enumerate(spec.step[state[0]].tolist()):
            counted = state[2]
            if counts and k < symbols - 1:
                counted = (*counted[:k], counted[k] + 1, *counted[k + 1 :])
            last = (*state[1], k)[-memory:] if memory else ()
            yield (to, last, counted) if to >= 0 else None

    start: _Finer = (spec.start, (), none)
    states, steps = explored(start, after, symbols, most, MOST, "the refined machine")
    base = np.array([state[0] for state in states])
    spec = replace(
        spec,
        names=tuple(f"{spec.names[q]} {at}" for at, q in enumerate(base)),
        start=0,
        step=np.array(steps, np.int64),
        allowed=tuple(spec.allowed[q] for q in base),
    )
    return Refined(spec, base)
