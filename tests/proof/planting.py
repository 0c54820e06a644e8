"""Models with something planted: one more hidden unit, a coordinate twice, one more weight.

What is planted looks like what the checker knows, so that a checker which only looks for what it
expects would pass over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from softhat.numbers.positions import Feature, text
from softhat.transformer.weights import Coordinate, Layer, Sparse, Transformer
from tests.proof.mutations import SHARED, Mutation

Form = Mapping[int, float]


def coordinates_of(t: Transformer, feature: str) -> list[int]:
    """The coordinates that hold a position feature, by its text."""
    rows, features = t.position_embedding.where
    return [
        r
        for r, f in zip(rows.tolist(), features.tolist(), strict=True)
        if text(t.positions[f]) == feature
    ]


def with_unit(t: Transformer, layer: int, into: Form, bias: float, out: Form) -> Transformer:
    """One more hidden unit: ReLU(into + bias), written to the coordinates of `out`."""
    before = t.layers[layer]
    d = t.d_model
    row, column = np.zeros((1, d)), np.zeros((d, 1))
    for at, weight in into.items():
        row[0, at] = weight
    for at, weight in out.items():
        column[at, 0] = weight
    changed = replace(
        before,
        into=Sparse.from_dense(np.concatenate([before.into.dense(), row])),
        into_bias=np.append(before.into_bias, bias),
        out=Sparse.from_dense(np.concatenate([before.out.dense(), column], axis=1)),
    )
    return with_layer(t, layer, changed)


def with_layer(t: Transformer, at: int, layer: Layer) -> Transformer:
    return replace(t, layers=(*t.layers[:at], layer, *t.layers[at + 1 :]))


def with_feature_twice(t: Transformer, feature: Feature) -> tuple[Transformer, int]:
    """The position feature in one more coordinate, and which that is."""
    at = t.d_model

    def wider(tensor: Sparse, axis: int) -> Sparse:
        shape = tuple(n + (k == axis) for k, n in enumerate(tensor.shape))
        return Sparse(shape, tensor.where, tensor.values)

    position = wider(t.position_embedding, 0).dense()
    position[at, t.positions.index(feature)] = 1.0
    layers = [
        replace(
            layer,
            query=wider(layer.query, 2),
            key=wider(layer.key, 2),
            value=wider(layer.value, 2),
            output=wider(layer.output, 1),
            into=wider(layer.into, 1),
            out=wider(layer.out, 0),
            out_bias=np.append(layer.out_bias, 0.0),
        )
        for layer in t.layers
    ]
    made = replace(
        t,
        embedding=wider(t.embedding, 1),
        position_embedding=Sparse.from_dense(position),
        readout=wider(t.readout, 1),
        layers=tuple(layers),
        coordinates=(*t.coordinates, Coordinate(((0, text(feature)),))),
    )
    return made, at


def every_place(t: Transformer, values: tuple[float, ...]) -> Iterator[Mutation]:
    """One weight more at every place where there is none: all matrices, biases, embeddings."""
    tensors = [(None, name, getattr(t, name)) for name in SHARED]
    tensors += [
        (k, n, getattr(layer, n)) for k, layer in enumerate(t.layers) for n in layer.TENSORS
    ]
    for layer, name, tensor in tensors:
        array = tensor.dense() if isinstance(tensor, Sparse) else tensor
        for at in np.argwhere(array == 0).tolist():
            for value in values:
                yield Mutation(layer, name, tuple(at), value)
