"""Formulas whose heads all see the whole word, without a mask: for TransformerLens' bidirectional
models, which know no end of a word.

These are Boolean functions of the symbol and of comparisons of counts over all positions
(`#*(a) > #*(b)`, `2*#*(a) >= n`). Their averages have no mask; a comparison has one only because it
looks for its own position, which a number that is the same everywhere does not need.

A comparison asks whether y = Σ counts + length·n - (threshold - 1/2) is positive; |y| is at least
1/2. All that it needs are means over the word and its two sinks: t, that of what is counted, and s,
that of the sinks, which is 2/(n+2). For y/(n+2) = t + length·(1 - s) - (threshold - 1/2)·s/2. The
score is S·y/(n+2) on ordinary positions and 0 on `<bos>` and `<eos>`, with S = 2K·context and
n + 2 <= context. So it is at least K in size. The ordinary positions together get all but 2·e^-K
of the weight if y > 0, and at most n·e^-K if y < 0. `<eos>` is a token like others: no feature of
the position is left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.numbers.positions import Named
from softhat.program.gates import And, Xor
from softhat.program.heads import Average, Sign
from softhat.program.inputs import TokenIn
from softhat.program.signals import Program
from softhat.transformer.lowering.lower import Lowered
from softhat.transformer.lowering.rows import ONE, ORDINARY, Key, PositionUnits, Row
from softhat.transformer.lowering.wiring import Wiring
from softhat.transformer.weights import Coordinate, Layer, Mask, Sparse, Transformer

SHARPNESS = 32.0
"""K: e^-K is far below what float32 resolves."""
NO_MASK: Mask = "none"
SINKS = Named("2/(n+2)")
"""The mean of the sinks, which gets a coordinate of its own."""


def sees_everything(program: Program) -> bool:
    """Does every head average over all positions, or compare such an average?"""
    averages = 0
    for signal in program.signals:
        match signal:
            case Average(range="total"):
                averages += 1
            case Sign(past=None, future=None, total=int(), position=0):
                continue
            case TokenIn() | And() | Xor():
                continue
            case _:
                return False
    return averages > 0


def without_masks(program: Program, lowering: Lowered, context: int) -> Transformer:
    """The transformer of such a program, in which every head sees everything, for words that fill
    a `context` with their sinks at most. Heads and coordinates keep their numbers; one coordinate
    is new, and one value of the first head that averages."""
    t = lowering.transformer
    place: dict[Key, int] = {
        key: at for at, held in enumerate(lowering.contents) for _, key in held
    }
    place[SINKS] = t.d_model
    wiring = Wiring(program, PositionUnits(scaled=False))
    layers, averaged = [], False
    for layer, planned in zip(t.layers, lowering.plan.layers, strict=True):
        arrays = {name: _wider(name, getattr(layer, name)) for name in (*Layer.ATTENTION, *HIDDEN)}
        for h, group in enumerate(planned.heads):
            signal = program.signals[group.signals[0]]
            if isinstance(signal, Sign):
                arrays["query"][h], arrays["key"][h] = 0.0, 0.0
                arrays["query"][h, 0] = _row(_compared(signal, wiring, context), place)
                arrays["key"][h, 0] = _row({ORDINARY: 1.0}, place)
            elif not averaged:
                averaged = True
                arrays["value"][h, -1] = _row({ONE: 1.0, ORDINARY: -1.0}, place)
                arrays["output"][h, place[SINKS], -1] = 1.0
        masks = tuple(NO_MASK for _ in layer.masks)
        sparse: dict[str, Any] = {name: Sparse.from_dense(a) for name, a in arrays.items()}
        layers.append(
            replace(layer, masks=masks, out_bias=np.append(layer.out_bias, 0.0), **sparse)
        )
    embedding = _wider("embedding", t.embedding)
    embedding[:, place[ONE]] = 1.0
    embedding[: len(t.symbols), place[ORDINARY]] = 1.0
    return replace(
        t,
        positions=(),
        embedding=Sparse.from_dense(embedding),
        position_embedding=Sparse.of((t.d_model + 1, 0), []),
        layers=tuple(layers),
        readout=Sparse.from_dense(_wider("readout", t.readout)),
        coordinates=(*t.coordinates, Coordinate(((1, SINKS.name),))),
    )


def _compared(sign: Sign, wiring: Wiring, context: int) -> Row:
    """S·y/(n+2), as a row over what a position holds."""
    assert sign.total is not None
    sharp = 2 * SHARPNESS * context
    row: Row = {at: sharp * w for at, w in wiring.average(sign.total).items()}
    row[ONE] = sharp * sign.length
    row[SINKS] = -sharp * (sign.length + (sign.threshold - 0.5) / 2)
    return row


HIDDEN = ("into", "out")
"""The matrices of the hidden units."""
_MORE = {"value": (0, 1, 1), "output": (0, 1, 1), "out": (1, 0)}
"""By how much each axis of a tensor grows: that of coordinates by one, and in `value` and `output`
that of values by one. In other tensors the last axis is that of coordinates."""


def _wider(name: str, tensor: Sparse) -> NDArray[np.float64]:
    """A tensor with room for the new coordinate, and for the new value."""
    more = _MORE.get(name, (0,) * (len(tensor.shape) - 1) + (1,))
    return np.pad(tensor.dense(), [(0, k) for k in more])


def _row(row: Row, place: dict[Key, int]) -> NDArray[np.float64]:
    dense = np.zeros(place[SINKS] + 1)
    for key, weight in row.items():
        dense[place[key]] = weight
    return dense
