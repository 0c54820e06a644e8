"""`labels.json` of models in softhat's own architecture (native folders, torch, ONNX, corpus).

Coordinates of compiled models are reused once what they hold is dead, so an edge leads from
whatever wrote the *present* content of a coordinate, not from everything that ever wrote there.
Those of simulations keep their meaning, and everything that wrote there counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from softhat.export.labels import (
    CoordinateLabel,
    HeadLabel,
    Labels,
    NeuronLabel,
    circuit,
    outputs_said,
)
from softhat.export.native.meanings import NativeMeanings, native_meanings
from softhat.models.model import Model
from softhat.numbers.positions import Named
from softhat.program.signals import Program
from softhat.runtime.answers import Answers
from softhat.transformer.edges import CircuitNode, read_by, written_by
from softhat.transformer.weights import Coordinate, Layer, Transformer

CONSTANT = "1"
"""The one feature that does not vary: reading it is no edge."""


def labels_of(model: Answers) -> Labels:
    """The labels of a compiled model or of a simulation."""
    if not isinstance(model, Model) or not model.formulas:
        return native_labels(model.transformer)
    outputs = outputs_said(model.formulas)
    return replace(native_labels(model.transformer, model.program), outputs=outputs)


def native_labels(t: Transformer, program: Program | None = None) -> Labels:
    """What each head, hidden unit and coordinate computes, and the edges of the circuit.

    With the program of a compiled model also as formulas (`native_meanings`).
    """
    part_meanings = native_meanings(t, program)
    t = part_meanings.named if part_meanings else t
    lasting = bool(t.layers) and all(since == 0 for c in t.coordinates for since, _ in c.holds)
    if lasting:
        part_meanings = None
    neurons: list[NeuronLabel] = []
    stages = [_lasting_inputs(t) if lasting else _inputs(t)]
    heads: list[HeadLabel] = []
    for number, layer in enumerate(t.layers):
        parts = {"q": layer.query, "k": layer.key, "v": layer.value}
        nodes = [
            CircuitNode(
                f"L{number}.H{h}",
                tuple((slot, read_by(tensor, h)) for slot, tensor in parts.items()),
                written_by(layer, h),
            )
            for h in range(len(layer.masks))
        ]
        heads += [
            HeadLabel(
                layer=number,
                head=h,
                kind=layer.kinds[h],
                label=layer.labels[h],
                reads=_texts(t, frozenset().union(*(read for _, read in node.reads)), number),
                writes=_texts(t, node.writes, number if lasting else number + 1),
                computes=part_meanings.heads[number][h] if part_meanings else (),
            )
            for h, node in enumerate(nodes)
        ]
        if part_meanings:
            neurons += _unit_labels(part_meanings, number)
        else:
            neurons += _neurons(t, layer, number, clears=not lasting)
        read = frozenset(layer.into.where[1].tolist())
        stored = _stored(t, layer, number, lasting)
        stages += [nodes, [CircuitNode(f"L{number}.MLP", (("", read),), stored)]]
    rows, columns = t.readout.where
    outputs = [
        CircuitNode(f"output:{name}", (("", frozenset(columns[rows == at].tolist())),), frozenset())
        for at, name in enumerate(t.outputs)
    ]
    return Labels(
        model="softhat",
        heads=tuple(heads),
        neurons=tuple(neurons),
        coordinates=tuple(
            CoordinateLabel(c, x.holds, part_meanings.coordinates[c] if part_meanings else ())
            for c, x in enumerate(t.coordinates)
        ),
        edges=circuit([*stages, outputs], replaced=not lasting),
        definitions=part_meanings.definitions if part_meanings else (),
    )


def _stored(t: Transformer, layer: Layer, number: int, lasting: bool) -> frozenset[int]:
    """The coordinates whose content is what this feed-forward wrote."""
    if lasting:
        return frozenset(layer.out.where[0].tolist())
    return frozenset(
        c
        for c, coordinate in enumerate(t.coordinates)
        if any(since == number + 1 and not _raw(text) for since, text in coordinate.holds)
    )


def _lasting_inputs(t: Transformer) -> list[CircuitNode]:
    """What writes before the first layer, where coordinates hold one thing each."""
    embedded = frozenset(t.embedding.where[1].tolist())
    return [CircuitNode("embed", (), embedded), CircuitNode("positions", (), _varying(t))]


def _inputs(t: Transformer) -> list[CircuitNode]:
    """What writes before the first layer and varies; of one coordinate the last."""
    written = {"positions": t.position_embedding.where[0], "embed": t.embedding.where[1]}
    return [
        CircuitNode(
            name,
            (),
            frozenset(c for c in where.tolist() if t.coordinates[c].label(0) != CONSTANT),
        )
        for name, where in written.items()
    ]


def _varying(t: Transformer) -> frozenset[int]:
    """The coordinates in which positions of a word differ."""
    constant = [k for k, f in enumerate(t.positions) if f in (Named("1"), Named("n"))]
    rows, columns = t.position_embedding.where
    return frozenset(rows[~np.isin(columns, constant)].tolist())


def _raw(text: str) -> bool:
    """Heads write raw outputs, feed-forward layers bits."""
    return text.startswith("raw ")


def _texts(t: Transformer, coordinates: Iterable[int], layer: int) -> tuple[str, ...]:
    return tuple(t.coordinates[c].label(layer) for c in sorted(coordinates))


def _unit_labels(part_meanings: NativeMeanings, number: int) -> list[NeuronLabel]:
    """Units that compute something together."""
    labels = []
    for meaning in part_meanings.neurons[number]:
        units = tuple(unit for unit, _ in meaning.direction)
        text = str(meaning.formula if meaning.sign > 0 else f"!({meaning.formula})")
        if meaning.role == "clear":
            text = f"clear {meaning.term or text}"
        labels.append(NeuronLabel(number, units, text, (meaning,)))
    return labels


def _neurons(t: Transformer, layer: Layer, number: int, clears: bool = True) -> list[NeuronLabel]:
    """Units that write the same coordinates together: a gate, or the clearing of a dead one."""
    into_row, into_column = layer.into.where
    out_row, out_column = layer.out.where
    groups: dict[str, list[int]] = {}
    for unit in range(len(layer.into_bias)):
        targets = np.sort(out_row[out_column == unit]).tolist()
        read = into_column[into_row == unit].tolist()
        cleared = clears and read == targets and not layer.into_bias[unit]
        text = "; ".join(
            _before(t.coordinates[c], number) if cleared else t.coordinates[c].label(number + 1)
            for c in targets
        )
        groups.setdefault(f"clear {text}" if cleared else text, []).append(unit)
    return [NeuronLabel(number, tuple(units), text) for text, units in groups.items()]


def _before(coordinate: Coordinate, number: int) -> str:
    """What the coordinate held when the feed-forward of layer `number` read it."""
    held = [
        t for since, t in coordinate.holds if since <= number or (since == number + 1 and _raw(t))
    ]
    return held[-1] if held else ""
