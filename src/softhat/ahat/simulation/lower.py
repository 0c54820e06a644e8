"""AHAT → transformer: the same layers, with laws of temperature (or hard attention) for floats.

Weights are the nearest float64; heads of one layer are padded with zeros to a common size.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from softhat.ahat.model import AHAT, Head
from softhat.ahat.model import Layer as HardLayer
from softhat.numbers.laws import ONE, Law
from softhat.numerics.exact import floats
from softhat.transformer.weights import BOS, EOS, Coordinate, Layer, Sparse, Transformer

Floats = NDArray[np.float64]
VALUE = "value"
"""The name of a simulation's one output."""


def lower(model: AHAT, laws: Mapping[tuple[int, int], Law] | None) -> Transformer:
    """The softmax transformer with these laws (1 where there is none); without any, average-hard
    attention in floats."""
    names = model.names or tuple(f"x{c}" for c in range(model.d_model))
    known = {} if laws is None else laws
    return Transformer(
        attention="hard" if laws is None else "temperature",
        symbols=model.alphabet,
        propositional=False,
        sinks=(BOS,) * model.bos + (EOS,) * model.eos,
        positions=model.positions,
        embedding=Sparse.from_dense(floats(model.vectors)),
        position_embedding=Sparse.from_dense(floats(model.position_embedding)),
        layers=tuple(
            _layer(layer, tuple(known.get((l, h), ONE) for h in range(len(layer.heads))), model)
            for l, layer in enumerate(model.layers)
        ),
        outputs=(VALUE,),
        readout=Sparse.from_dense(floats((model.output_weights,))),
        readout_bias=floats(((model.output_bias,),))[0],
        coordinates=tuple(Coordinate(((0, name),)) for name in names),
    )


def _layer(layer: HardLayer, laws: tuple[Law, ...], model: AHAT) -> Layer:
    d, heads, forward = model.d_model, layer.heads, layer.feed_forward
    d_k = max((len(head.query) for head in heads), default=0)
    d_v = max((len(head.value) for head in heads), default=0)
    output = [floats(tuple(zip(*head.output, strict=True)), d) for head in heads]
    nothing = np.zeros((0, d))
    return Layer(
        labels=tuple(head.name or f"head {h}" for h, head in enumerate(heads)),
        kinds=tuple(_kind(head) for head in heads),
        masks=tuple(head.mask for head in heads),
        laws=laws,
        query=_stacked([floats(head.query, d) for head in heads], d_k, d),
        key=_stacked([floats(head.key, d) for head in heads], d_k, d),
        value=_stacked([floats(head.value, d) for head in heads], d_v, d),
        output=_turned(_stacked(output, d_v, d)),
        into=Sparse.from_dense(floats(forward.in_weights, d) if forward else nothing),
        into_bias=floats((forward.in_bias,))[0] if forward else np.zeros(0),
        out=Sparse.from_dense(floats(forward.out_weights) if forward else nothing.T),
        out_bias=floats((forward.out_bias,))[0] if forward else np.zeros(d),
    )


def _kind(head: Head) -> str:
    """Hard attention has no kinds of head but this: equal scores, or not."""
    return "Average" if not any(map(any, head.query)) or not any(map(any, head.key)) else "Select"


def _stacked(matrices: list[Floats], rows: int, columns: int) -> Sparse:
    full = np.zeros((len(matrices), rows, columns))
    for h, matrix in enumerate(matrices):
        full[h, : len(matrix)] = matrix
    return Sparse.from_dense(full)


def _turned(tensor: Sparse) -> Sparse:
    """(heads, d_v, d_model) as (heads, d_model, d_v)."""
    return Sparse.from_dense(tensor.dense().transpose(0, 2, 1))
