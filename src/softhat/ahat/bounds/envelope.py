"""How large activations can be at a length, whatever the attention weights: interval arithmetic.

An average lies between the least and the greatest of what it averages, so these intervals hold
for hard attention, for softmax at any temperature and for everything between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.exact import floats
from softhat.ahat.model import AHAT, Layer
from softhat.positions import Feature, Mod, Named, Table

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
        return Box(np.nan_to_num(self.low - slack, nan=-np.inf),
                   np.nan_to_num(self.high + slack, nan=np.inf))  # fmt: skip


@dataclass(frozen=True, slots=True)
class LayerBoxes:
    """Activations before a layer, after its heads, and its hidden units before ReLU."""

    before: Box
    middle: Box
    hidden: Box | None


def envelope(model: AHAT, n: int) -> tuple[list[LayerBoxes], Box]:
    """The boxes of every layer and at the end, for all words of length 1 … n."""
    x = _embedding(model, n)
    layers = []
    for layer in model.layers:
        before = x
        for head in layer.heads:
            matrix = floats(head.output) @ floats(head.value, model.d_model)
            found = before.through(matrix)
            if head.mask in ("<", ">"):
                zero = np.zeros(model.d_model)
                found = found.joined(Box(zero, zero))
            x = x.plus(found)
        middle = x
        x, hidden = _forward(layer, middle, model.d_model)
        layers.append(LayerBoxes(before, middle, hidden))
    return layers, x


def _forward(layer: Layer, x: Box, d: int) -> tuple[Box, Box | None]:
    forward = layer.feed_forward
    if forward is None:
        return x, None
    into, bias = floats(forward.in_weights, d), floats((forward.in_bias,))[0]
    hidden = x.through(into, bias)
    active = Box(np.maximum(hidden.low, 0), np.maximum(hidden.high, 0))
    out_bias = floats((forward.out_bias,))[0]
    return x.plus(active.through(floats(forward.out_weights), out_bias)), hidden


def _embedding(model: AHAT, n: int) -> Box:
    tokens = [*model.embedding, *([model.bos_embedding] if model.bos_embedding else [])]
    table = floats(tuple(tokens))
    box = Box(table.min(axis=0), table.max(axis=0))
    if not model.positions:
        return box
    ends = np.array([_feature(f, n, model.bos) for f in model.positions])
    places = Box(ends[:, 0], ends[:, 1])
    return box.plus(places.through(floats(model.position_embedding)))


def _feature(feature: Feature, n: int, bos: bool) -> tuple[float, float]:
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
        case Named() | Mod():
            return 0.0, 1.0
        case Table(entries):
            seen = [float(e) for e in entries[: n + int(bos)]] or [0.0]
            return min(seen), max(seen)

