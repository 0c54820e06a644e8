"""The heads of a stock GPT-2 as the proof sees them, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.stock.counts import MeanCount
from softhat.proof.stock.variables import Form

Name = Literal["Latest", "Recall", "Shift", "Average", "Sign"]


@dataclass(frozen=True, slots=True)
class GPT2Head:
    """A head of a block. `gap`: of Latest and Shift, in logits, what a step (a digit) costs;
    `clear`: how far a ruled-out key lies below all others; `decision`: a Sign's least |score|."""

    block: int
    head: int
    kind: Name
    rows: int
    """Values that it computes."""
    gap: float = 0.0
    clear: float = 0.0
    digits: int = 0
    decision: float = 0.0
    counts: tuple[MeanCount, ...] = ()
    reach: tuple[float, ...] = ()
    """The largest |score| of a key that is not ruled out, among the first 1, 2, … positions (one
    entry: among all)."""
    grid: float = 0.0
    """The power of two that all those scores are multiples of."""
    anchored: float = 0.0
    """Of a Recall: the largest |score| of a key with the query's code."""
    compares: tuple[tuple[int, int], ...] = ()
    """Of a Recall: the two rows that compare each digit."""


@dataclass(frozen=True, slots=True)
class PairForms:
    """A head's queries, keys and values over pairs."""

    block: int
    head: int
    query: list[Form]
    key: list[Form]
    value: list[Form]
    d_head: int
    context: int


def amplitude(weight: float, where: str) -> float:
    """A of a pair that starts at -A and to which 2A·output is added."""
    if weight <= 0:
        raise VoidError(f"{where} writes with a weight that is not positive")
    return weight / 2


def grid_of(values: NDArray[np.float64]) -> float:
    """The largest power of two that all values are multiples of."""
    grid = 2.0 ** int(np.floor(np.log2(max(float(np.abs(values).max()), 2.0**-900))))
    while grid > 2.0**-1000 and (values % grid).any():
        grid /= 2
    return grid
