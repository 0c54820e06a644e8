"""Numbers that softmax models, which are stored in float64, cannot hold.

Bounds multiply weights, temperatures and values. Those of an ordinary model are far from the ends
of float64's range; where they are not, arithmetic may overflow anywhere, and the error says that
the weights are why.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Literal

import numpy as np

from softhat.ahat.model import AHAT
from softhat.io.errors import SofthatError

LEAST_EPSILON = 1e-280
"""Shares of ε, down to 2^-24 of it, and their logarithms stay in float64's range."""
FAR = Fraction(10) ** 30
"""Products of ten numbers that are nearer to 1 than this stay in float64's range."""


@contextmanager
def in_range(model: AHAT, epsilon: float | None) -> Iterator[None]:
    """What fails in here for a model with extreme weights fails with one line that says so."""
    if epsilon is not None and epsilon < LEAST_EPSILON:
        raise SofthatError(
            f"epsilon must be at least {LEAST_EPSILON:g}, not {epsilon:g}: float64 has no room for "
            "the temperatures of a smaller one"
        )
    # numpy would warn before that line
    quiet: Literal["ignore"] | None = "ignore" if _extreme(model) else None
    try:
        with np.errstate(over=quiet, invalid=quiet):
            yield
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, SofthatError) or not _extreme(model):
            raise
        raise SofthatError(
            "values of this AHAT are beyond the range of float64, which softmax models are stored "
            "in: scale its weights so that they are nearer to 1"
        ) from None


def _extreme(model: AHAT) -> bool:
    """Has the model a weight that is far from 1?"""
    return any(w and not 1 / FAR < abs(w) < FAR for w in _weights(model))


def _weights(model: AHAT) -> Iterator[Fraction]:
    rows = [*model.vectors, *model.position_embedding, model.output_weights]
    for layer in model.layers:
        for head in layer.heads:
            rows += [*head.query, *head.key, *head.value, *head.output]
        ff = layer.feed_forward
        if ff is not None:
            rows += [*ff.in_weights, ff.in_bias, *ff.out_weights, ff.out_bias]
    for row in rows:
        yield from row
    yield model.output_bias
