"""Labels of a disguised GPT-2: what was a coordinate is a direction, heads and units moved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from softhat.export.labels import CoordinateLabel, Labels, Meaning
from softhat.transformer.directions import Units
from softhat.transformer.lowering.gpt2.disguise import Disguised

DIGITS = 9
"""Significant digits of float32."""


def disguised_labels(labels: Labels, made: Disguised) -> Labels:
    """The labels of the plain trunk, moved to where the disguise has put everything."""
    heads = tuple(
        replace(
            head,
            head=made.head_places[head.layer][head.head],
            computes=tuple(_of_head(meaning, head.layer, made) for meaning in head.computes),
        )
        for head in labels.heads
    )
    neurons = tuple(
        replace(
            neuron,
            units=made.units_of(neuron.layer, neuron.units),
            computes=tuple(
                of_units(meaning, made.directions.units[neuron.layer])
                for meaning in neuron.computes
            ),
        )
        for neuron in labels.neurons
    )
    used = len(made.residual)
    coordinates = tuple(
        CoordinateLabel(
            label.index // 2,
            label.holds,
            tuple(_of_residual(meaning, made) for meaning in label.computes),
        )
        for label in labels.coordinates
        if label.index % 2 == 0 and label.index // 2 < used
    )
    edges = tuple((_moved(source, made), _moved(target, made)) for source, target in labels.edges)
    return replace(
        labels,
        heads=tuple(sorted(heads, key=lambda head: (head.layer, head.head))),
        neurons=neurons,
        coordinates=coordinates,
        edges=edges,
        disguised=True,
    )


def dense_direction(vector: Iterable[float]) -> tuple[tuple[int, float], ...]:
    return tuple((at, float(f"{w:.{DIGITS}g}")) for at, w in enumerate(vector))


def _of_residual(meaning: Meaning, made: Disguised) -> Meaning:
    vector = np.zeros(made.d_model)
    for at, weight in meaning.direction:  # (+v, -v)
        vector += (weight if at % 2 == 0 else -weight) * made.residual[at // 2]
    return replace(meaning, direction=dense_direction(vector))


def _of_head(meaning: Meaning, layer: int, made: Disguised) -> Meaning:
    assert meaning.head is not None
    place = made.head_places[layer][meaning.head]
    rows = made.directions.heads[layer][place].value.astype(np.float64)
    vector = sum((w * rows[r] for r, w in meaning.direction), np.zeros(rows.shape[1]))
    return replace(meaning, head=place, direction=dense_direction(vector))


def of_units(meaning: Meaning, units: Units) -> Meaning:
    """A unit is its side's times the factor, and the shares of a side add up to 1."""
    found = []
    for side, weight in meaning.direction:
        for u in np.flatnonzero(units.part == side).tolist():
            share = weight * float(units.share[u]) / float(units.factor[u])
            found.append((u, float(f"{share:.{DIGITS}g}")))
    return replace(meaning, direction=tuple(found))


def _moved(node: str, made: Disguised) -> str:
    """`L0.H2.q` with the number that the head has now."""
    if not node.startswith("L") or ".H" not in node:
        return node
    layer, _, rest = node[1:].partition(".H")
    head, dot, slot = rest.partition(".")
    return f"L{layer}.H{made.head_places[int(layer)][int(head)]}{dot}{slot}"
