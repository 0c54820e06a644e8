"""Boxes: the least and the greatest that numbers can be, whatever they are correlated with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.numerics.entries import Entries

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
WIDER = 1e-12
"""Relative: what the sums of a box's own computation may round. One of k terms is off by at most
k·2^-53 of its size, and no matrix here has 2^13 columns."""


@dataclass(frozen=True, slots=True)
class Box:
    """low ≤ x ≤ high, for each block and coordinate: (blocks, coordinates)."""

    low: Floats
    high: Floats
    sums: Box | None = None
    """The sums before the bias: hidden units that read the same sum are bounded together."""

    @property
    def size(self) -> Floats:
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def through(self, matrix: Floats, bias: Floats | float = 0.0) -> Box:
        """matrix · x + bias."""
        up, down = np.maximum(matrix, 0).T, np.minimum(matrix, 0).T
        with np.errstate(over="ignore", invalid="ignore"):
            low = self.low @ up + self.high @ down + bias
            high = self.high @ up + self.low @ down + bias
        return Box(low, high).widened()

    def seen(self, visible: Truths, empty: bool) -> Box:
        """For each block of queries the hull of the keys' blocks; with 0 if a row may be empty."""
        some = visible[:, :, None]
        low = np.where(some, self.low[None], np.inf).min(axis=1)
        high = np.where(some, self.high[None], -np.inf).max(axis=1)
        if empty:
            return Box(np.minimum(low, 0.0), np.maximum(high, 0.0))
        return Box(low, high)

    def plus(self, other: Box) -> Box:
        return Box(self.low + other.low, self.high + other.high).widened()

    def widened(self) -> Box:
        slack = WIDER * (np.abs(self.low) + np.abs(self.high))
        low, high = self.low - slack, self.high + slack
        return Box(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


class Boxes:
    """The walk's numbers: boxes, whatever the attention weights."""

    def linear(self, x: Box, matrix: Entries) -> Box:
        return x.through(matrix.values)

    def shift(self, x: Box, bias: Entries) -> Box:
        return Box(x.low + bias.values[0], x.high + bias.values[0], x)

    def relu(self, x: Box) -> Box:
        return Box(np.maximum(x.low, 0.0), np.maximum(x.high, 0.0), x.sums)

    def attend(self, query: Box, key: Box, value: Box, head: Any) -> Box:
        raise NotImplementedError("which keys a row sees is for those who have rows")

    def gather(self, reads: Sequence[Box], layer: Any) -> Box:
        raise NotImplementedError("what heads write depends on what they read")

    def add(self, x: Box, y: Box) -> Box:
        return x.plus(y)

    def store(self, x: Box) -> Box:
        return x
