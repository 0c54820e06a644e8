"""One position at a time, in plain Python: a NumPy call costs more than a whole small layer.

The kernels' `step` and the same weights, on a list of floats. The sums are in float64 and head
outputs are rounded to the storage format, so bits are the same as in chunks and margins agree
to a rounding of that format.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softhat.numbers.positions import Feature, Mod, Named, floats
from softhat.runtime.linear.columns import Array
from softhat.runtime.linear.kernels import Word
from softhat.runtime.linear.layers import UNKNOWN_LENGTH
from softhat.runtime.linear.runtime import LinearModel

LONGEST_PERIOD = 1 << 16


class Stepper:
    """A streamable model, ready to take single positions."""

    def __init__(self, model: LinearModel) -> None:
        self.model = model
        self.round = _rounder(model)
        embedding = model.embedding
        self.varying: list[tuple[int, float, Callable[[int], float]]] = []
        constant = [0.0] * embedding.d_model
        for c, parts in embedding.positions.items():
            for feature, weight in parts:
                if feature in (Named("1"), Named("ordinary")):  # 1 on every position after <bos>
                    constant[c] += weight
                else:
                    self.varying.append((c, weight, _feature(feature)))
        self.constant = constant
        self.symbols = [list(constant) for _ in model.transformer.tokens]
        for c, table in embedding.tokens.items():
            for code, value in enumerate(table.tolist()):
                self.symbols[code][c] += value
        self.layers = [
            (
                list(enumerate(layer.kernels)),
                [(h, r, c, w) for h, head in enumerate(layer.heads)
                 for r, row in enumerate(head.targets) for c, w in row if c in model.needed],
                [] if layer.feed_forward is None else layer.feed_forward.units,
                [] if layer.feed_forward is None else list(layer.feed_forward.bias.items()),
            )
            for layer in model.layers
        ]  # fmt: skip
        self.readout = list(zip(model.readout.rows, model.readout.bias, strict=True))

    def embed(self, token: int | Array) -> list[float]:
        if isinstance(token, int):
            return self.symbols[token].copy()
        x = self.constant.copy()
        for c, table in self.model.embedding.tokens.items():
            x[c] += float(token @ table[: len(token)])
        return x

    def step(
        self, states: list[list[Any]], token: int | Array, time: int, word: Word
    ) -> list[float]:
        """The margins at position `time` >= 1."""
        x = self.embed(token)
        for c, weight, value in self.varying:
            x[c] += weight * value(time)
        rounded = self.round
        for (kernels, targets, units, biases), state in zip(self.layers, states, strict=True):
            means = [kernel.step(state[h], x, time, word) for h, kernel in kernels]
            for h, r, c, w in targets:
                x[c] += w * rounded(means[h][r])
            if units or biases:
                delta = dict(biases)
                for row, hidden in units:
                    total = 0.0
                    for c, w in row:
                        total += w * x[c]
                    for bias, out in hidden:
                        active = total + bias
                        if active > 0:
                            for c, w in out:
                                delta[c] = delta.get(c, 0.0) + w * active
                for c, change in delta.items():
                    x[c] += change
        margins = []
        for row, bias in self.readout:
            for c, w in row:
                bias += w * x[c]
            margins.append(rounded(bias))
        return margins


def _rounder(model: LinearModel) -> Callable[[float], float]:
    form = model.form
    if form.name == "float64":
        return float
    accumulate, storage = form.accumulate, form.storage
    if storage is accumulate:
        return lambda value: float(accumulate(value))
    return lambda value: float(storage(accumulate(value)))


def _feature(feature: Feature) -> Callable[[int], float]:
    """A position feature as a function of a single position."""

    def at(start: int, stop: int) -> list[float]:
        column = floats((feature,), UNKNOWN_LENGTH, start=start, stop=stop)[:, 0]
        values: list[float] = column.tolist()
        return values

    match feature:
        case Named("first"):
            return lambda time: 1.0 if time == 1 else 0.0
        case Mod(modulus) if modulus <= LONGEST_PERIOD:
            period = at(modulus, 2 * modulus)
            return lambda time: period[time % modulus]
    return lambda time: at(time, time + 1)[0]


def scalar_tokens(tokens: Array) -> list[int] | list[Array]:
    """Encoded symbols as Python integers, propositions as a row of bits each."""
    return tokens.tolist() if tokens.ndim == 1 else list(tokens.astype(np.float64))
