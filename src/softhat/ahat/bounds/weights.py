"""An AHAT's weights, made once, with the dyadic grids of their entries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from softhat.ahat.model import AHAT, Head, Layer, Mask, Vector
from softhat.numerics.entries import Entries, entries

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HeadEntries:
    """Only the rows of query and key that both are not 0: the others add nothing to a score."""

    mask: Mask
    query: Entries
    key: Entries
    value: Entries
    output: Entries
    written: Floats  # output · value


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """The heads of a layer, and its feed-forward sublayer if it has one."""

    heads: tuple[HeadEntries, ...]
    into: Entries | None
    into_bias: Entries | None
    out: Entries | None
    out_bias: Entries | None
    alike: tuple[npt.NDArray[np.int64], ...] = ()
    """Hidden units with equal incoming weights: the runtimes sum those once for all of them."""


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights of a model as floats with their grids, made once for all bounds."""

    model: AHAT
    tokens: Entries
    places: Entries
    layers: tuple[LayerWeights, ...]
    readout: Entries
    bias: Entries


@lru_cache(maxsize=64)
def weights(model: AHAT) -> Weights:
    """All matrices of the model."""
    return Weights(
        model,
        entries(model.vectors, model.d_model),
        entries(model.position_embedding, len(model.positions)),
        tuple(_layer(layer, model.d_model) for layer in model.layers),
        entries((model.output_weights,), model.d_model),
        entries(((model.output_bias,),), 1),
    )


def _layer(layer: Layer, d: int) -> LayerWeights:
    ff = layer.feed_forward
    alike: dict[Vector, list[int]] = {}
    for u, row in enumerate(() if ff is None else ff.in_weights):
        alike.setdefault(row, []).append(u)
    return LayerWeights(
        tuple(_head(head, d) for head in layer.heads),
        None if ff is None else entries(ff.in_weights, d),
        None if ff is None else entries((ff.in_bias,), len(ff.in_weights)),
        None if ff is None else entries(ff.out_weights, len(ff.in_weights)),
        None if ff is None else entries((ff.out_bias,), d),
        tuple(np.array(units) for units in alike.values()),
    )


def _head(head: Head, d: int) -> HeadEntries:
    pairs = [(q, k) for q, k in zip(head.query, head.key, strict=True) if any(q) and any(k)]
    value, output = entries(head.value, d), entries(head.output, len(head.value))
    return HeadEntries(
        head.mask,
        entries(tuple(q for q, _ in pairs), d),
        entries(tuple(k for _, k in pairs), d),
        value,
        output,
        output.values @ value.values,
    )
