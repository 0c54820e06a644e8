"""Labels of a disguised Llama: what was a coordinate is a direction, units moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softhat.export.gpt2.disguise import dense_direction, of_units
from softhat.export.labels import CoordinateLabel, Labels, Meaning
from softhat.transformer.lowering.llama.disguise import DisguisedLlama


def disguised_llama_labels(labels: Labels, made: DisguisedLlama) -> Labels:
    """The labels of the plain trunk, moved to where the disguise has put everything."""
    heads = tuple(
        replace(
            head,
            computes=tuple(_of_head(meaning, head.layer, made) for meaning in head.computes),
        )
        for head in labels.heads
    )
    neurons = []
    for neuron in labels.neurons:
        units = made.directions.units[neuron.layer]
        places = tuple(map(int, np.flatnonzero(np.isin(units.part, neuron.units))))
        said = tuple(of_units(meaning, units) for meaning in neuron.computes)
        neurons.append(replace(neuron, units=places, computes=said))
    coordinates = tuple(
        CoordinateLabel(
            label.index,
            label.holds,
            tuple(_of_residual(meaning, made) for meaning in label.computes),
        )
        for label in labels.coordinates
    )
    return replace(
        labels, heads=heads, neurons=tuple(neurons), coordinates=coordinates, disguised=True
    )


def _of_residual(meaning: Meaning, made: DisguisedLlama) -> Meaning:
    vector = sum((w * made.residual[at] for at, w in meaning.direction), np.zeros(made.d_model))
    return replace(meaning, direction=dense_direction(vector))


def _of_head(meaning: Meaning, layer: int, made: DisguisedLlama) -> Meaning:
    assert meaning.head is not None
    rows = made.values[layer][meaning.head // made.trunk.layout.shared]
    vector = sum((w * rows[r] for r, w in meaning.direction), np.zeros(rows.shape[1]))
    return replace(meaning, direction=dense_direction(vector))
