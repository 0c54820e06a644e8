"""A layer of GPT-2, written once, for single activations and for sets of them.

The steps are the stock class's, as `numerics.walk` lists them: a norm, units with their activation,
an output, the sum. What they do to a vector (`Points`) or to a set of them (`ActivationSet`) is the
domain's business, and so is the rounding. Attention stands between: it needs to know which words
there are (`first_layer`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from softhat.numerics.walk import (
    STOCK_ANSWERS,
    STOCK_PROJECTION,
    STOCK_READING,
    STOCK_UNITS,
    take,
)
from softhat.trained.activations import Activation
from softhat.trained.checkpoint import Affine, Block, Checkpoint, LayerNorm
from softhat.trained.points import Points
from softhat.trained.rounding import Array, Rounding


class Activations(Protocol):
    """What the walk asks of activations, single or many."""

    def folded(self) -> Self: ...
    def affine(self, step: Affine, rounding: Rounding) -> Self: ...
    def added(self, other: Self, rounding: Rounding) -> Self: ...
    def activated(self, activation: Activation, rounding: Rounding) -> Self: ...
    def normalised(self, norm: LayerNorm, epsilon: float, rounding: Rounding) -> Self: ...


X = TypeVar("X", bound=Activations)


@dataclass(frozen=True, slots=True)
class Bounded(Generic[X]):
    """The walk's numbers: activations, with all that the model may round."""

    model: Checkpoint
    rounding: Rounding

    def norm(self, x: X, norm: LayerNorm) -> X:
        return x.normalised(norm, self.model.epsilon, self.rounding)

    def linear(self, x: X, step: Affine) -> X:
        return x.affine(step, self.rounding)

    def activate(self, x: X) -> X:
        return x.activated(self.model.activation, self.rounding)

    def add(self, x: X, y: X) -> X:
        return x.added(y, self.rounding)

    def store(self, x: X) -> X:
        return x


@dataclass(frozen=True, slots=True)
class PlainFloats:
    """The walk's numbers: float64, without error bounds."""

    model: Checkpoint

    def norm(self, x: Array, norm: LayerNorm) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + self.model.epsilon)
        return centred / deviation * norm.gain + norm.shift

    def linear(self, x: Array, step: Affine) -> Array:
        return x @ step.weight + step.bias

    def activate(self, x: Array) -> Array:
        return self.model.activation.function(x)

    def add(self, x: Array, y: Array) -> Array:
        return x + y

    def store(self, x: Array) -> Array:
        return x


def feed_forward(x: X, block: Block, model: Checkpoint, rounding: Rounding) -> X:
    """The second half of a layer."""
    domain: Bounded[X] = Bounded(model, rounding)
    given = {"stream": x.folded()}
    after: X = take(STOCK_UNITS, domain, block, given)["stream"]
    return after


def queries_keys_values(x: X, block: Block, model: Checkpoint, rounding: Rounding) -> X:
    """What attention compares and reads, all heads side by side."""
    domain: Bounded[X] = Bounded(model, rounding)
    given = {"stream": x.folded()}
    mixed: X = take(STOCK_READING, domain, block, given)["mixed"]
    return mixed


def logits(x: X, model: Checkpoint, rounding: Rounding) -> X:
    """What the answers are read from."""
    domain: Bounded[X] = Bounded(model, rounding)
    given = {"stream": x.folded()}
    read: X = take(STOCK_ANSWERS, domain, model, given)["logits"]
    return read


def embedded(model: Checkpoint, ids: list[int], positions: range, rounding: Rounding) -> Points:
    """(ids, positions, width): every token at every position, rounded once."""
    return embedding(model, np.array(ids)[:, None], np.array(positions)[None], rounding)


def embedding(
    model: Checkpoint, ids: NDArray[np.int64], places: NDArray[np.int64], rounding: Rounding
) -> Points:
    """(…, width): tokens at position ids, rounded once."""
    token, place = model.tokens[ids], model.positions[places]
    if model.moved is None:
        return Points(token, np.zeros_like(token)).added(
            Points(place, np.zeros_like(place)), rounding
        )
    tokens, positions = model.moved
    return Points(token, tokens[ids]).added(Points(place, positions[places]), rounding)


def forward(model: Checkpoint, ids: NDArray[np.int64], offset: int = 0) -> Array:
    """Logits of words of one length, in float64, without error bounds: for searching."""
    batch, length = ids.shape
    heads, size = model.heads, model.width // model.heads
    x = model.tokens[ids] + model.positions[offset : offset + length]
    hidden, plain = np.triu(np.ones((length, length), bool), 1), PlainFloats(model)
    for block in model.blocks:
        mixed = take(STOCK_READING, plain, block, {"stream": x})["mixed"]
        q, k, v = (
            part.reshape(batch, length, heads, size).transpose(0, 2, 1, 3)
            for part in np.split(mixed, 3, -1)
        )
        scores = q @ k.transpose(0, 1, 3, 2) * model.scale
        scores[:, :, hidden] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        read = (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, model.width)
        x = take(STOCK_PROJECTION, plain, block, {"stream": x, "read": read})["stream"]
        x = take(STOCK_UNITS, plain, block, {"stream": x})["stream"]
    return answers(x, model)


def answers(x: Array, model: Checkpoint) -> Array:
    """Logits of residual streams, in float64."""
    read: Array = take(STOCK_ANSWERS, PlainFloats(model), model, {"stream": x})["logits"]
    return read


def tail(x: Array, model: Checkpoint, layer: int) -> Array:
    """Logits from residual streams after the attention of the last layer."""
    after = take(STOCK_UNITS, PlainFloats(model), model.blocks[layer], {"stream": x})["stream"]
    return answers(after, model)
