"""Labels of a GPT-2 export: its heads, neurons, residual coordinates and the circuit's edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.labels import CoordinateLabel, Labels, NeuronLabel
from softhat.export.stock import labels as stock
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula
from softhat.program.meanings import Meanings
from softhat.program.registers import Register
from softhat.transformer.edges import CircuitNode, places
from softhat.transformer.lowering.gpt2.layout import Layout
from softhat.transformer.lowering.gpt2.weights import GAIN, Trunk
from softhat.transformer.lowering.stock.plan import Key, bit, earlier_bit


def label(
    weights: Trunk, tensors: Mapping[str, NDArray[np.float32]], formulas: Mapping[str, Formula]
) -> Labels:
    """What a GPT-2's parts are for."""
    heads = [
        stock.LabelledHead(layer, number, head, [*range(len(head.signals))])
        for layer, block in enumerate(weights.layout.heads)
        for number, head in enumerate(block)
    ]
    stages = _stages(weights, tensors, tuple(formulas))
    neurons = partial(_neurons, weights)
    return stock.labels_of(weights.layout, formulas, "gpt2", heads, neurons, _coordinates, stages)


def _neurons(weights: Trunk, words: stock.Spoken[Layout]) -> Iterator[NeuronLabel]:
    layout, signal_meanings, needed = words
    for number, block in enumerate(weights.blocks):
        for gate in block.gates:
            meaning = stock.unit_meaning(signal_meanings, gate, number, GAIN[weights.activation])
            text, idle = stock.gate_text(layout, gate, number + 1), gate.signal not in needed
            yield NeuronLabel(number, gate.units, text, (meaning,), idle)


def _coordinates(words: stock.Spoken[Layout]) -> tuple[CoordinateLabel, ...]:
    layout, signal_meanings, _ = words
    holds: list[list[stock.HeldVariable]] = [[] for _ in range(layout.d_model // 2)]
    born: dict[Key, int] = {Register(at, False): layer for at, layer in layout.stored.items()}
    for number, block in enumerate(layout.heads, start=1):
        for head in block:
            born |= dict.fromkeys(head.targets, number)
    for key, at in layout.pair.items():
        since = born.get(key, 0)
        holds[at].append(
            stock.HeldVariable(
                since, stock.key_text(layout, key), *_held(layout, signal_meanings, key, since)
            )
        )
    for at, rows in enumerate(holds):
        if at in layout.pads or at in layout.trims:
            amplitude = 2.0 if at in layout.pads else layout.trim
            rows.append(stock.HeldVariable(0, "pad: keeps the norm", "pad", TRUE, 1 / amplitude))
        elif not rows and at in layout.scratch:
            rows.append(stock.HeldVariable(0, "scratch, unused", "empty", FALSE, 1.0))
        elif not rows:
            rows.append(stock.HeldVariable(0, "constant", "pad", TRUE, 1.0))
    return tuple(
        CoordinateLabel(
            2 * at + half,
            tuple((row.since, row.text if sign > 0 else f"minus: {row.text}") for row in rows),
            tuple(row.meaning(2 * at + half, sign) for row in rows),
        )
        for at, rows in enumerate(holds)
        for half, sign in ((0, 1.0), (1, -1.0))
    )


def _held(layout: Layout, signal_meanings: Meanings, key: Key, since: int) -> tuple[Any, ...]:
    """Role, formula, weight, offset and numbers of what a pair holds."""
    if isinstance(key, Register):
        formula = signal_meanings.of[key.signal].formula
        if key.raw:
            return "raw", formula, 0.5 / layout.amplitude, 0.5
        return "gate" if since else "input", formula, 0.5, 0.5
    digits = {bit(b): ("i", b) for b in range(layout.bits)}
    for distance in {head.distance for block in layout.heads for head in block if head.distance}:
        digits |= {earlier_bit(b, distance): (f"i - {distance}", b) for b in range(layout.bits)}
    return stock.feature_held(layout, signal_meanings, key, digits)


def _stages(
    weights: Trunk, tensors: Mapping[str, NDArray[np.float32]], names: tuple[str, ...]
) -> list[list[CircuitNode]]:
    layout, width = weights.layout, weights.layout.d_head
    tables = {"embed": weights.wte, "positions": weights.wpe}
    varying = {name: places((t != t[0]).any(axis=0)) for name, t in tables.items()}
    stages = [[CircuitNode(name, (), places) for name, places in varying.items()]]
    for number, block in enumerate(weights.blocks):
        heads = layout.heads[number] if number < len(layout.heads) else ()
        stage = []
        for h in range(len(heads)):
            own = slice(h * width, (h + 1) * width)
            parts = zip("qkv", np.split(block.c_attn, 3, axis=1), strict=True)
            inputs = tuple((suffix, places(part[:, own].any(axis=1))) for suffix, part in parts)
            writes = places(block.attn_proj[own].any(axis=0))
            stage.append(CircuitNode(f"L{number}.H{h}", inputs, writes))
        stages.append(stage)
        if block.gates:
            reads = places(block.c_fc.any(axis=1))
            writes = places(block.mlp_proj.any(axis=0))
            stages.append([CircuitNode(f"L{number}.MLP", (("", reads),), writes)])
    outputs = stock.output_nodes(layout.program, tensors, "classifier.weight", names)
    return [*stages, outputs]
