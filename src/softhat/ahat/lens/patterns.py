"""Where a row looks: at the token before, at the first one, at itself, at its own symbol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Where = npt.NDArray[np.bool_]
RECOGNISED = 0.5  # of the attention, on rows that can, …
LIFT = 2.0  # … and so many times what the same weights, shuffled among a row's keys, would give


def _previous(ids: Sequence[int]) -> Where:
    return np.eye(len(ids), k=-1, dtype=bool)


def _first(ids: Sequence[int]) -> Where:
    attended = np.zeros((len(ids), len(ids)), dtype=bool)
    attended[:, 0] = True
    return attended


def _own_place(ids: Sequence[int]) -> Where:
    return np.eye(len(ids), dtype=bool)


def _own_symbol(ids: Sequence[int]) -> Where:
    """Earlier positions with the same token."""
    row = np.array(ids)
    return np.tril(row[:, None] == row[None, :], k=-1)


def _after_own_symbol(ids: Sequence[int]) -> Where:
    """Positions whose token before is this one: induction."""
    attended = np.zeros((len(ids), len(ids)), dtype=bool)
    attended[:, 1:] = _own_symbol(ids)[:, :-1]
    return attended


PATTERNS: dict[str, Callable[[Sequence[int]], Where]] = {
    "previous token": _previous,
    "first token": _first,
    "own place": _own_place,
    "own symbol": _own_symbol,
    "after own symbol": _after_own_symbol,
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """Mean attention on a pattern's keys, over the rows that see such a key and another one."""

    share: float
    by_chance: float  # the same weights, shuffled among each row's keys
    rows: int

    @property
    def recognised(self) -> bool:
        """Is it where the head looks?"""
        return self.share >= max(RECOGNISED, LIFT * self.by_chance)


def patterns(
    maps: Sequence[tuple[Floats, Where]], ids: Sequence[Sequence[int]]
) -> dict[str, Pattern]:
    """Every pattern over the (weights, allowed) of all texts."""
    result = {}
    for name, where in PATTERNS.items():
        shares: list[float] = []
        chance: list[float] = []
        for (weights, allowed), text in zip(maps, ids, strict=True):
            keys = where(text) & allowed
            count, seen = keys.sum(axis=1), allowed.sum(axis=1)
            rows = (count > 0) & (count < seen)
            shares += (weights * keys).sum(axis=1)[rows].tolist()
            chance += (count[rows] / seen[rows]).tolist()
        if shares:
            result[name] = Pattern(float(np.mean(shares)), float(np.mean(chance)), len(shares))
    return result
