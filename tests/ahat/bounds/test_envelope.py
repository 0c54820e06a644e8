"""Boxes hold every activation, hard or soft at any temperature, of every word of the lengths."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from softhat.ahat.bounds.blocks import Blocks, PositionBlock, blocks
from softhat.ahat.bounds.envelope import envelope
from softhat.ahat.bounds.weights import weights
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT, BOS, EOS
from softhat.ahat.simulation.lower import lower
from softhat.numbers.laws import Constant
from softhat.numerics.formats import format_of
from softhat.runtime.dense import Ready
from softhat.runtime.trace import trace
from tests.ahat.models import random_model

MODELS = [random_model(random.Random(seed)) for seed in range(16)]
MODELS += [GALLERY[name]() for name in ("majority", "induction-latest", "dyck-uniform")]


def holders(found: Blocks, n: int, model: AHAT) -> list[PositionBlock]:
    """For each place of a word of length n its block."""
    own = [b for b in found.parts if b.sink is None]
    by_sink = {b.sink: b for b in found.parts if b.sink}
    places = [by_sink[BOS]] if model.bos else []
    places += [next(b for b in own if b.first <= i <= b.last) for i in range(1, n + 1)]
    return [*places, *([by_sink[EOS]] if model.eos else [])]


def runs(model: AHAT) -> list[Ready]:
    """Hard attention, nearly uniform and sharp softmax."""
    form = format_of("float64")
    soft = [dict.fromkeys(model.heads, Constant(Fraction(b))) for b in (Fraction(1, 50), 2, 40)]
    average = all(head.ties == "average" for layer in model.layers for head in layer.heads)
    hard = [Ready(lower(model, None), form)] if average else []
    return [*hard, *(Ready(lower(model, laws), form) for laws in soft)]


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_activations_are_in_their_boxes(number: int) -> None:
    model = MODELS[number]
    low, high = 2, min(model.longest or 4, 4)
    if low > high:
        return
    found = blocks(model, low, high)
    boxes = envelope(weights(model), found)
    letters = range(len(model.alphabet))
    words = [w for n in range(low, high + 1) for w in product(letters, repeat=n)]
    for ready in runs(model):
        for word in words[:: max(1, len(words) // 25)]:
            at = [found.parts.index(b) for b in holders(found, len(word), model)]
            for box, x in zip(boxes, trace(ready, np.array(word)).residual, strict=True):
                slack = 1e-9 * (1 + np.abs(x))
                assert (box.low[at] - slack <= x).all() and (x <= box.high[at] + slack).all()
