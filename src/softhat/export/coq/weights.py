"""The weights of a model, as a term `model` of `proofs/Model.v`. Nothing else is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isnan

import numpy as np
from numpy.typing import NDArray

from softhat.export.coq.inputs import Inputs
from softhat.export.coq.programs import MASKS, feature_text, known_text
from softhat.export.coq.syntax import boolean, call, form, lines, rational, record, sequence
from softhat.io.errors import SofthatError
from softhat.numbers.laws import ONE, Constant, Law
from softhat.transformer.weights import BOS, EOS, Layer, Transformer, sharpness_of


def model_text(weights: Transformer, inputs: Inputs) -> str:
    """The record: embedding matrix, position features with their columns, layers, read-outs."""
    if weights.sinks not in ((BOS,), (BOS, EOS)):
        raise SofthatError("the Coq kernel covers models with <bos>, as the compiler makes them")
    scaled = weights.attention == "temperature"
    tokens, columns = weights.embedding.dense(), weights.position_embedding.dense()
    count = len(weights.symbols)
    ends = len(weights.sinks) == 2
    parts = (
        ("symbols", str(count)),
        ("propositional", boolean(weights.propositional)),
        ("scales", boolean(scaled)),
        ("ends", boolean(ends)),
        ("embedding", lines(map(form, tokens[:count]), 5)),
        ("bos", form(tokens[count])),
        ("eos", form(tokens[count + 1]) if ends else "[]"),
        ("features", lines(_features(weights, columns, inputs), 5)),
        ("layers", lines((_layer(layer, scaled) for layer in weights.layers), 5)),
        ("readouts", lines(_readouts(weights), 5)),
    )
    return record("Model", parts)


def _features(weights: Transformer, columns: NDArray[np.float64], inputs: Inputs) -> Iterator[str]:
    for at, feature in enumerate(weights.positions):
        known = known_text(feature, inputs)
        text = call("Known", known) if known is not None else call("Plain", feature_text(feature))
        yield f"({text}, {form(columns[:, at])})"


def _layer(layer: Layer, scaled: bool) -> str:
    query, key, value = (x.dense() for x in (layer.query, layer.key, layer.value))
    output = layer.output.dense()
    heads = []
    for h in range(len(layer.labels)):
        pairs = zip(query[h], key[h], strict=True)
        rows = sequence(f"({form(q)}, {form(k)})" for q, k in pairs if q.any() and k.any())
        values = sequence(
            f"({form(_scaled(value[h, r], output[h, target, r]))}, {target})"
            for r in range(value.shape[1])
            for target in np.flatnonzero(output[h, :, r])
        )
        heat = _heat(layer.laws[h], scaled)
        heads.append(call("Head", rows, MASKS[layer.masks[h]], values, *heat))
    into, out = layer.into.dense(), layer.out.dense()
    units = (
        call("Unit", form(into[u]), rational(layer.into_bias[u]), form(out[:, u]))
        for u in range(len(layer.into_bias))
    )
    return call("Layer", lines(heads, 7), "\n      " + lines(units, 7), form(layer.out_bias))


def _heat(law: Law, scaled: bool) -> tuple[str, str]:
    """A head's inverse temperature: its share of that of the model, or its own at every length."""
    if not scaled and law == ONE:
        return rational(1), boolean(False)
    if scaled and isinstance(law, Constant):
        return rational(law.value), boolean(True)
    cold = sharpness_of(law)
    if not scaled or isnan(cold):
        raise SofthatError("the Coq kernel covers the temperatures that the compiler sets")
    return rational(cold), boolean(False)


def _scaled(row: NDArray[np.float64], factor: float) -> list[Fraction] | NDArray[np.float64]:
    """A head is linear in what it reads: the output's entry can stand in the value's row."""
    return row if factor == 1 else [Fraction(float(x)) * Fraction(float(factor)) for x in row]


def _readouts(weights: Transformer) -> Iterator[str]:
    for row, bias in zip(weights.readout.dense(), weights.readout_bias, strict=True):
        yield call("Readout", form(row), rational(bias))
