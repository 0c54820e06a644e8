"""How large activations can be at a length, whatever the attention weights: interval arithmetic.

An average lies between the least and the greatest of what it averages, so these intervals hold
for hard attention, for softmax at any temperature and for everything between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.weights import LayerWeights, Weights
from softhat.positions import Digit, Feature, Holds, Mod, Named, Table

Floats = npt.NDArray[np.float64]
WIDER = 1e-12  # relative: covers the rounding of this computation itself


@dataclass(frozen=True, slots=True)
class Box:
    """low ≤ x ≤ high, coordinate by coordinate."""

    low: Floats
    high: Floats

    @property
    def size(self) -> Floats:
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def width(self) -> Floats:
        return self.high - self.low

    def through(self, matrix: Floats, bias: Floats | float = 0.0) -> Box:
        """matrix · x + bias."""
        up, down = np.maximum(matrix, 0), np.minimum(matrix, 0)
        with np.errstate(over="ignore", invalid="ignore"):
            low = up @ self.low + down @ self.high + bias
            high = up @ self.high + down @ self.low + bias
        return Box(low, high)._widened()

    def joined(self, other: Box) -> Box:
        return Box(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def plus(self, other: Box) -> Box:
        return Box(self.low + other.low, self.high + other.high)._widened()

    def _widened(self) -> Box:
        slack = WIDER * (np.abs(self.low) + np.abs(self.high))
        low, high = self.low - slack, self.high + slack
        return Box(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


@dataclass(frozen=True, slots=True)
class LayerBoxes:
    """Activations before a layer, after its heads, and its hidden units before ReLU."""

    before: Box
    middle: Box
    hidden: Box | None


def envelope(used: Weights, n: int) -> tuple[list[LayerBoxes], Box]:
    """The boxes of every layer and at the end, for all words of length 1 … n."""
    x = _embedding(used, n)
    zero = np.zeros(used.model.d_model)
    layers = []
    for layer in used.layers:
        before = x
        for head in layer.heads:
            found = before.through(head.written)
            if head.mask in ("<", ">"):
                found = found.joined(Box(zero, zero))
            x = x.plus(found)
        middle = x
        x, hidden = _forward(layer, middle)
        layers.append(LayerBoxes(before, middle, hidden))
    return layers, x


def _forward(layer: LayerWeights, x: Box) -> tuple[Box, Box | None]:
    if layer.into is None or layer.out is None:
        return x, None
    assert layer.into_bias is not None and layer.out_bias is not None
    hidden = x.through(layer.into.values, layer.into_bias.values[0])
    active = Box(np.maximum(hidden.low, 0), np.maximum(hidden.high, 0))
    return x.plus(active.through(layer.out.values, layer.out_bias.values[0])), hidden


def _embedding(used: Weights, n: int) -> Box:
    table = used.tokens.values
    box = Box(table.min(axis=0), table.max(axis=0))
    model = used.model
    if not model.positions:
        return box
    ends = np.array([_feature(f, n, model.bos, model.eos) for f in model.positions])
    return box.plus(Box(ends[:, 0], ends[:, 1]).through(used.places.values))


def _feature(feature: Feature, n: int, bos: bool, eos: bool) -> tuple[float, float]:
    """The range of a position feature over the lengths 1 … n."""
    zero = 0.0 if bos else None
    match feature:
        case Named("1"):
            return 1.0, 1.0
        case Named("n"):
            return 1.0, float(n)
        case Named("i" | "r"):
            return zero if zero is not None else 1.0, float(n)
        case Named("i^2"):
            return zero if zero is not None else 1.0, float(n) ** 2
        case Named("(-1)^i"):
            return -1.0, 1.0
        case Named() | Mod() | Digit() | Holds():
            return 0.0, 1.0
        case Table(entries):
            seen = [float(e) for e in entries[: n + int(bos)]] + [0.0] * eos or [0.0]
            return min(seen), max(seen)
