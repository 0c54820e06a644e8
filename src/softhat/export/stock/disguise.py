"""Labels of a disguised checkpoint: what was a coordinate is a direction, heads and units moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from softhat.export.labels import CoordinateLabel, Labels, Meaning
from softhat.transformer.directions import DisguisedUnits
from softhat.transformer.lowering.disguise import Disguise

DIGITS = 9
"""Significant digits of float32."""


def disguised_labels(labels: Labels, moved: Disguise) -> Labels:
    """The labels of the plain trunk, moved to where the disguise has put everything."""
    heads = [
        replace(
            head,
            head=moved.head_place(head.layer, head.head),
            computes=tuple(_of_head(meaning, head.layer, moved) for meaning in head.computes),
        )
        for head in labels.heads
    ]
    neurons = []
    for neuron in labels.neurons:
        units = moved.directions.units[neuron.layer]
        places = tuple(map(int, np.flatnonzero(np.isin(units.part, neuron.units))))
        computes = tuple(_of_units(meaning, units) for meaning in neuron.computes)
        neurons.append(replace(neuron, units=places, computes=computes))
    coordinates = [
        CoordinateLabel(
            at, label.holds, tuple(_of_residual(meaning, moved) for meaning in label.computes)
        )
        for label in labels.coordinates
        if (at := moved.variable(label.index)) is not None
    ]
    return replace(
        labels,
        heads=tuple(sorted(heads, key=lambda head: (head.layer, head.head))),
        neurons=tuple(neurons),
        coordinates=tuple(coordinates),
        edges=tuple(
            (_node(source, moved), _node(target, moved)) for source, target in labels.edges
        ),
        disguised=True,
    )


def _dense(vector: NDArray[np.float64]) -> tuple[tuple[int, float], ...]:
    return tuple((at, float(f"{w:.{DIGITS}g}")) for at, w in enumerate(vector))


def _of_residual(meaning: Meaning, moved: Disguise) -> Meaning:
    width = moved.directions.residual.shape[1]
    vector = sum((w * moved.direction(at) for at, w in meaning.direction), np.zeros(width))
    return replace(meaning, direction=_dense(vector))


def _of_head(meaning: Meaning, layer: int, moved: Disguise) -> Meaning:
    assert meaning.head is not None
    rows = moved.value_rows(layer, meaning.head)
    vector = sum((w * rows[r] for r, w in meaning.direction), np.zeros(rows.shape[1]))
    place = moved.head_place(layer, meaning.head)
    return replace(meaning, head=place, direction=_dense(vector))


def _of_units(meaning: Meaning, units: DisguisedUnits) -> Meaning:
    """A unit is its side's times the factor, and the shares of a side add up to 1."""
    shares = []
    for side, weight in meaning.direction:
        for u in np.flatnonzero(units.part == side).tolist():
            share = weight * float(units.share[u]) / float(units.factor[u])
            shares.append((u, float(f"{share:.{DIGITS}g}")))
    return replace(meaning, direction=tuple(shares))


def _node(node: str, moved: Disguise) -> str:
    """`L0.H2.q` with the number that the head has now."""
    if not node.startswith("L") or ".H" not in node:
        return node
    layer, _, rest = node[1:].partition(".H")
    head, dot, slot = rest.partition(".")
    return f"L{layer}.H{moved.head_place(int(layer), int(head))}{dot}{slot}"
