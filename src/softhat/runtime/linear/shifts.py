"""The softmax of a Shift in linear time: a convolution with the few weights that are not lost."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import NamedTuple

import numpy as np

from softhat.runtime.linear.columns import Array, View
from softhat.runtime.linear.kernels import LARGEST_EXPONENT, Word, bit_of
from softhat.transformer.rows import UnknownShapeError, bit_rows
from softhat.transformer.shape_reader import NEGLIGIBLE
from softhat.transformer.shapes import HeadForm, Residues


@dataclass(slots=True)
class ShiftState:
    """The last values, the latest last, of each value row; 0 before the word."""

    last: list[Array]


class ShiftKernel:
    """Theorem 23. With w_d = e^(slope·(c - d) - penalty·[d ≢ c mod m]) the mean of a value over j
    <= i is Σ_{d < t} w_d·v_(t-d) / (Σ_{d < t} w_d + e^(slope·(c - t))) at time t, the last term
    being the sink's, which has no residue and the value 0. Weights below e^-38 of the winner's are
    left out, so that few are left. At times t <= c the sink is the winner."""

    def __init__(self, head: HeadForm, shape: Residues) -> None:
        self.shape = shape
        self.values = bit_rows(head.values)
        self.units = [float(row.quantum) for row in self.values]
        self.reach = shape.distance + int(NEGLIGIBLE // shape.slope) + 1
        """Distances from this on are negligible, whatever their residue."""
        if shape.slope * shape.distance > LARGEST_EXPONENT:
            raise UnknownShapeError("a distance too far for its slope")
        self.tables: dict[float, _LocalWeights] = {}

    def fresh(self) -> ShiftState:
        return ShiftState([np.zeros(self.reach) for _ in self.values])

    def chunk(self, state: ShiftState, view: View, start: int, word: Word) -> list[Array]:
        table = self._table(word)
        out = []
        early = max(0, min(view.size, 2 * self.reach - start))
        for k in range(len(self.values)):
            extended = self._extended(state, k, view)
            mean = np.zeros(view.size)
            for d, weight in table.weights:
                first = self.reach - d
                mean += weight * extended[first : first + view.size]
            mean[early:] /= table.total
            for at in range(early):
                mean[at] /= self._early(start + at, table)
            out.append(mean if self.units[k] == 1 else mean * self.units[k])
        return out

    def absorb(self, state: ShiftState, view: View, start: int, word: Word) -> None:
        """Only the last values are left of a stretch."""
        for k in range(len(self.values)):
            self._extended(state, k, view)

    def _extended(self, state: ShiftState, k: int, view: View) -> Array:
        """A value's bits before a stretch and in it; the last of them become the state."""
        extended = np.concatenate([state.last[k], view.bits(self.values[k])])
        state.last[k] = extended[len(extended) - self.reach :].copy()  # step writes into it
        return extended

    def step(self, state: ShiftState, x: list[float], time: int, word: Word) -> list[float]:
        table = self._table(word)
        total = table.total if time >= 2 * self.reach else self._early(time, table)
        out = []
        for k, row in enumerate(self.values):
            last = state.last[k]
            last[:-1] = last[1:]
            last[-1] = bit_of(row, x)
            mean = 0.0
            for d, weight in table.weights:
                if last[-1 - d]:
                    mean += weight
            out.append(mean / total * self.units[k])
        return out

    def _table(self, word: Word) -> _LocalWeights:
        """The weights, which depend on P if the penalty does."""
        shape = self.shape
        penalty = shape.penalty * (word.scale if shape.scaled else 1.0)
        if penalty not in self.tables:
            weights = []
            for d in range(self.reach):
                cost = shape.slope * (d - shape.distance)
                if (d - shape.distance) % shape.modulus:
                    cost += penalty
                if cost < NEGLIGIBLE:
                    weights.append((d, exp(-cost)))
            self.tables[penalty] = _LocalWeights(weights, sum(weight for _, weight in weights))
        return self.tables[penalty]

    def _early(self, time: int, table: _LocalWeights) -> float:
        """The sum of weights where the sink is near: it counts, and not all distances are there."""
        sink = exp(self.shape.slope * (self.shape.distance - time))
        return sink + sum(weight for d, weight in table.weights if d < time)


class _LocalWeights(NamedTuple):
    """(distance, weight relative to the winner's) of those that are not lost, and their sum."""

    weights: list[tuple[int, float]]
    total: float
