"""A layer of GPT-2, written once, for single activations and for sets of them.

The steps are the stock class's: a norm, units with their activation, an output, the sum. What they
do to a vector (`Points`) or to a set of vectors (`Zonotope`) is the domain's business, and so is
the rounding. Attention stands between: it needs to know which words there are (`reads`).
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from softhat.trained.activations import Activation
from softhat.trained.checkpoint import Affine, Block, Checkpoint, Norm
from softhat.trained.points import Points
from softhat.trained.rounding import Array, Rounding


class Domain(Protocol):
    """What the walk asks of activations, single or many."""

    def folded(self) -> Self: ...
    def affine(self, step: Affine, rounding: Rounding) -> Self: ...
    def added(self, other: Self, rounding: Rounding) -> Self: ...
    def activated(self, activation: Activation, rounding: Rounding) -> Self: ...
    def normalised(self, norm: Norm, epsilon: float, rounding: Rounding) -> Self: ...


X = TypeVar("X", bound=Domain)


def feed_forward(x: X, block: Block, model: Checkpoint, rounding: Rounding) -> X:
    """The second half of a layer."""
    x = x.folded()
    y = x.normalised(block.before_units, model.epsilon, rounding)
    y = y.affine(block.units, rounding).activated(model.activation, rounding)
    return x.added(y.affine(block.output, rounding), rounding)


def queries_keys_values(x: X, block: Block, model: Checkpoint, rounding: Rounding) -> X:
    """What attention compares and reads, all heads side by side."""
    y = x.folded().normalised(block.before_attention, model.epsilon, rounding)
    return y.affine(block.attention, rounding)


def logits(x: X, model: Checkpoint, rounding: Rounding) -> X:
    """What the answers are read from."""
    y = x.folded().normalised(model.last, model.epsilon, rounding)
    return y.affine(model.answers, rounding)


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
    hidden = np.triu(np.ones((length, length), bool), 1)
    for block in model.blocks:
        y = _norm(x, block.before_attention, model.epsilon)
        mixed = y @ block.attention.weight + block.attention.bias
        q, k, v = (
            part.reshape(batch, length, heads, size).transpose(0, 2, 1, 3)
            for part in np.split(mixed, 3, -1)
        )
        scores = q @ k.transpose(0, 1, 3, 2) * model.scale
        scores[:, :, hidden] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        read = (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, model.width)
        x = x + read @ block.projection.weight + block.projection.bias
        x = _units(x, block, model)
    return answers(x, model)


def _units(x: Array, block: Block, model: Checkpoint) -> Array:
    y = _norm(x, block.before_units, model.epsilon)
    units = model.activation.function(y @ block.units.weight + block.units.bias)
    return x + units @ block.output.weight + block.output.bias


def answers(x: Array, model: Checkpoint) -> Array:
    """Logits of residual streams, in float64."""
    y = _norm(x, model.last, model.epsilon)
    return y @ model.answers.weight + model.answers.bias


def tail(x: Array, model: Checkpoint, layer: int) -> Array:
    """Logits from residual streams after the attention of the last layer."""
    return answers(_units(x, model.blocks[layer], model), model)


def _norm(x: Array, norm: Norm, epsilon: float) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
    return centred / deviation * norm.gain + norm.shift
