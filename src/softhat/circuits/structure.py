"""Who reads whom in a stock checkpoint: where its weights are not 0, and what outputs need of them.

The norms read all coordinates, but on the residual stream of an export, whose mean and norm are
constant, they read nothing (of means of counts see `leak` in `stock`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.transformer.edges import CircuitNode, ReadBy, edges_of, places

Array = NDArray[Any]
Wires = NDArray[np.bool_]
"""(rows, coordinates): is there a weight?"""


@dataclass(frozen=True)
class CircuitHead:
    """What a head reads, and what its values write."""

    inputs: Mapping[str, Wires]
    """The rows of its queries, keys and values (q, k, v), by what they read."""
    output: Wires
    """(values, coordinates)."""


@dataclass(frozen=True)
class CircuitBlock:
    """The heads and the hidden units."""

    heads: tuple[CircuitHead, ...]
    into: Wires
    """(units, coordinates): what the units read."""
    out: Wires
    """(units, coordinates): what they write."""


@dataclass(frozen=True)
class Structure:
    """Where a checkpoint's weights are not 0. Their values are left out."""

    embedding: Wires
    blocks: tuple[CircuitBlock, ...]
    readout: Wires


def edges(structure: Structure) -> Iterator[ReadBy]:
    """(source, target, slot) for every reader of a coordinate that the source writes."""
    return edges_of(_stages(structure))


def _stages(structure: Structure) -> Iterator[list[CircuitNode]]:
    yield [CircuitNode("input", (), _columns(structure.embedding))]
    for number, block in enumerate(structure.blocks):
        yield [
            CircuitNode(
                f"a{number}.h{h}",
                tuple((slot, _columns(wires)) for slot, wires in head.inputs.items()),
                _columns(head.output),
            )
            for h, head in enumerate(block.heads)
            if head.output.any() and head.inputs["v"].any()  # else it is empty
        ]
        yield [CircuitNode(f"m{number}", (("", _columns(block.into)),), _columns(block.out))]
    yield [CircuitNode("logits", (("", _columns(structure.readout)),), frozenset())]


def _columns(wires: Wires) -> frozenset[int]:
    """The coordinates of which some row has a weight."""
    return places(wires.any(axis=0))


def head_wires(inputs: Mapping[str, Array], output: Array, turns: bool) -> CircuitHead:
    """The wires of a head with these weights. Where queries and keys turn, several heads may share
    keys and values: the head has those that it uses."""
    wires, written = {slot: rows != 0 for slot, rows in inputs.items()}, output != 0
    if turns:
        turning = wires["q"].any(axis=1)
        wires["k"] &= (turning | np.roll(turning, len(turning) // 2))[:, None]
        wires["v"] &= written.any(axis=1)[:, None]
    return CircuitHead(wires, written)


def needed(structure: Structure) -> Structure:
    """The structure without what no output needs, going back from the read-out. A distractor has
    edges of its own, but none of them is part of the circuit."""
    wanted: Wires = np.array(structure.readout.any(axis=0))
    blocks = []
    for block in reversed(structure.blocks):
        used = (block.out & wanted).any(axis=1)
        narrowed = replace(block, into=block.into[used], out=block.out[used])
        wanted |= narrowed.into.any(axis=0)
        heads = tuple(_needed_head(head, wanted) for head in block.heads)
        for head in heads:
            for wires in head.inputs.values():
                wanted |= wires.any(axis=0)
        blocks.append(replace(narrowed, heads=heads))
    return replace(structure, blocks=tuple(reversed(blocks)))


def _needed_head(head: CircuitHead, wanted: Wires) -> CircuitHead:
    used = (head.output & wanted).any(axis=1)
    if not used.any():
        return CircuitHead({slot: rows[:0] for slot, rows in head.inputs.items()}, head.output[:0])
    inputs = {**head.inputs, "v": head.inputs["v"][used]}
    return CircuitHead(inputs, head.output[used])
