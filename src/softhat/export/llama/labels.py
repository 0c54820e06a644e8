"""Labels of a Llama export: its heads, neurons, residual coordinates and the circuit's edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.labels import CoordinateLabel, Labels, NeuronLabel, stated
from softhat.export.stock import labels as stock
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula
from softhat.program.meanings import Meanings
from softhat.program.registers import Register
from softhat.transformer.edges import CircuitNode, places
from softhat.transformer.lowering.llama.layout import KeyGroup, LlamaLayout
from softhat.transformer.lowering.llama.weights import GAIN, LlamaMatrices, LlamaTrunk, groups_of
from softhat.transformer.lowering.stock.forms import values_of
from softhat.transformer.lowering.stock.plan import BOS_PAIR, ONE, ORDINARY, Key, StockHeadPlan, bit

Tensors = Mapping[str, NDArray[np.float32]]


def label(
    weights: LlamaTrunk, tensors: Tensors, formulas: Mapping[str, Formula], family: str
) -> Labels:
    """What a Llama's parts are for."""
    layout = weights.layout
    heads = []
    for layer in range(layout.blocks):
        for number, group, head in _placed(layout, layer):
            places = [group.values.index(form) for form in values_of(layout.counts, head)]
            heads.append(stock.LabelledHead(layer, number, head, places))
    stages = _stages(layout, weights, tensors, tuple(formulas))
    neurons = partial(_neurons, weights.blocks)
    return stock.labels_of(layout, formulas, family, heads, neurons, _coordinates, stages)


def _placed(layout: LlamaLayout, number: int) -> Iterator[tuple[int, KeyGroup, StockHeadPlan]]:
    """The query heads of a block, with their numbers and the groups that they are in."""
    for at, group in enumerate(groups_of(layout, number)):
        for place, head in enumerate(group.heads):
            yield at * layout.shared + place, group, head


def _neurons(
    blocks: tuple[LlamaMatrices, ...], words: stock.Spoken[LlamaLayout]
) -> Iterator[NeuronLabel]:
    """Where a term holds the difference of its two units is G/2, else 0."""
    layout, signal_meanings, needed = words
    for number, block in enumerate(blocks):
        hook = f"blocks.{number}.mlp.hook_post"
        for signal, units in block.tables:
            formula = signal_meanings.of[signal].formula
            signs = [2 / GAIN, -2 / GAIN] * (len(units) // 2)
            meaning = stated("term", formula, hook, list(zip(units, signs, strict=True)))
            yield NeuronLabel(number, units, layout.program.labels[signal], (meaning,))
        for gate in block.gates:
            meaning = stock.unit_meaning(signal_meanings, gate, number, GAIN)
            text = stock.gate_text(layout, gate, number - layout.first + 1)
            idle = gate.signal not in needed
            yield NeuronLabel(number, gate.units, text, (meaning,), idle)


def _coordinates(words: stock.Spoken[LlamaLayout]) -> tuple[CoordinateLabel, ...]:
    layout, signal_meanings, _ = words
    rows = [stock.HeldVariable(0, "constant", "pad", TRUE, 1.0)] * layout.d_model
    for at in layout.zeros:
        rows[at] = stock.HeldVariable(0, "empty", "empty", FALSE, 1.0)
    for at in layout.pads:
        rows[at] = stock.HeldVariable(0, "pad: keeps the norm", "pad", TRUE, 0.5)
    born = _born(layout)
    for key, at in layout.coordinate.items():
        if isinstance(key, Register) or key in (ONE, BOS_PAIR, ORDINARY) or key in born:
            since = born.get(key, 0)
            rows[at] = stock.HeldVariable(
                since, stock.key_text(layout, key), *_held(layout, signal_meanings, key, since)
            )
    return tuple(
        CoordinateLabel(at, ((row.since, row.text),), (row.meaning(at),))
        for at, row in enumerate(rows)
    )


def _born(layout: LlamaLayout) -> dict[Key, int]:
    """After how many blocks each coordinate holds what it is for."""
    born: dict[Key, int] = {
        Register(at, False): layout.first + layer if layer or at in layout.tables else 0
        for at, layer in layout.stored.items()
    }
    for number in range(layout.blocks):
        for _, _, head in _placed(layout, number):
            born |= dict.fromkeys(head.targets, number + 1)
    return born


def _held(layout: LlamaLayout, signal_meanings: Meanings, key: Key, since: int) -> tuple[Any, ...]:
    """Role, formula, weight, offset and numbers of what a coordinate holds."""
    if isinstance(key, Register):
        formula = signal_meanings.of[key.signal].formula
        return "raw" if key.raw else "gate" if since else "input", formula, 0.5, 0.5
    digits = {bit(b): ("i", b) for b in range(layout.rotary.digits)}
    return stock.feature_held(layout, signal_meanings, key, digits)


def _stages(
    layout: LlamaLayout, weights: LlamaTrunk, tensors: Tensors, names: tuple[str, ...]
) -> list[list[CircuitNode]]:
    """Attention itself knows how far apart query and key are: no node gives it positions."""
    size = layout.rotary.head_dim
    varying = (weights.embedding != weights.embedding[0]).any(axis=0)
    stages: list[list[CircuitNode]] = [[CircuitNode("embed", (), places(varying))]]
    for number, block in enumerate(weights.blocks):
        stage = []
        for h, _, _ in _placed(layout, number):
            own = slice(h * size, (h + 1) * size)
            at = h // layout.shared
            used = np.flatnonzero(block.output[:, own].any(axis=0)) + at * size
            turning = np.asarray(block.query[own].any(axis=1))
            half = size // 2
            pairs = turning[:half] | turning[half:]
            keys = np.flatnonzero(np.concatenate([pairs, pairs])) + at * size
            inputs = (
                ("q", places(block.query[own].any(axis=0))),
                ("k", places(block.key[keys].any(axis=0))),
                ("v", places(block.value[used].any(axis=0))),
            )
            writes = places(block.output[:, own].any(axis=1))
            stage.append(CircuitNode(f"L{number}.H{h}", inputs, writes))
        stages.append(stage)
        if block.gates or block.tables:
            reads = places(block.gate.any(axis=0))
            writes = places(block.down.any(axis=1))
            stages.append([CircuitNode(f"L{number}.MLP", (("", reads),), writes)])
    outputs = stock.output_nodes(layout.program, tensors, "score.weight", names)
    return [*stages, outputs]
