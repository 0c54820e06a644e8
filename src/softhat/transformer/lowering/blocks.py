"""A block that is repeated: a round of a program, lowered so that it ends where it began.

What a round computes stands in the coordinates of what it was computed from, and the block clears
all that its head returned. So the same weights can be run again, on what they have written.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from softhat.program.gates import And, Table
from softhat.program.literals import Literal
from softhat.program.registers import Allocation, Register
from softhat.program.schedule import (
    NARROW,
    Cover,
    GateStep,
    HeadGroup,
    Schedule,
    ScheduledLayer,
)
from softhat.program.signals import Program
from softhat.transformer.lowering.lower import realised
from softhat.transformer.weights import Attention, Layer, Sparse, Transformer


def block(
    program: Program,
    before: tuple[int, ...],
    after: tuple[int, ...],
    heads: tuple[int, ...],
    attention: Attention,
) -> tuple[Transformer, tuple[int, ...]]:
    """The transformer of one round, and the coordinates that hold its state.

    `before` and `after` are the signals of the state, in one order; `heads` are read by one head.
    """
    most = max(len(term) for at in after for term in _terms(program, at))
    layer = ScheduledLayer(
        (HeadGroup(heads, wide=most - 1 > NARROW),),
        tuple(GateStep(_terms(program, at), complement=False, signal=at) for at in after),
    )
    outputs = tuple(
        (name, Cover(((literal,),), complement=False)) for name, literal in program.outputs
    )
    inputs = [at for at in range(len(program.signals)) if at < min(heads)]
    places = {Register(at, False): k for k, at in enumerate(inputs)}
    raws = {Register(at, True): len(inputs) + k for k, at in enumerate(heads)}
    written = {
        Register(new, False): places[Register(old, False)]
        for old, new in zip(before, after, strict=True)
    }
    allocation = Allocation(
        coordinate={**places, **raws, **written},
        clears=((*(Register(at, False) for at in before), *raws),),
        count=len(places) + len(raws),
        stored={**dict.fromkeys(inputs, 0), **dict.fromkeys(after, 1)},
    )
    lowered = realised(program, Schedule((layer,), outputs), allocation, attention)
    transformer = lowered.transformer
    features = transformer.d_model - allocation.count
    return transformer, tuple(features + written[Register(at, False)] for at in after)


def _terms(program: Program, at: int) -> tuple[tuple[Literal, ...], ...]:
    signal = program.signals[at]
    match signal:
        case And(literals):
            return (literals,)
        case Table(terms):
            return terms
    raise TypeError(f"a round ends in gates, not in {type(signal).__name__}")


def repeated(transformer: Transformer, rounds: int) -> Transformer:
    """The block as so many layers, all the same object."""
    return replace(transformer, layers=transformer.layers * rounds)


def block_of(transformer: Transformer) -> Transformer:
    """The block that all layers are, `ValueError` if they are not one: what `repeated` undoes."""
    if not transformer.layers:
        raise ValueError("a loop has one block, and there is no layer")
    first, *others = transformer.layers
    for layer in others:
        same = layer.masks == first.masks and layer.laws == first.laws
        for name in Layer.TENSORS:
            same = same and np.array_equal(_dense(layer, name), _dense(first, name))
        if not same:
            raise ValueError("a loop has one block, and its layers differ")
    return replace(transformer, layers=(first,))


def _dense(layer: Layer, name: str) -> NDArray[np.float64]:
    tensor = getattr(layer, name)
    array: NDArray[np.float64] = tensor.dense() if isinstance(tensor, Sparse) else tensor
    return array
