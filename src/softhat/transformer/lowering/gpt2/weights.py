"""A layout to the tensors of a stock GPT-2.

Every linear form here reads *pairs*: weight w on pair p is w/2 on x₊ and -w/2 on x₋. Queries and
keys are multiplied by √d_head between them, because GPT-2 divides scores by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.program.registers import Register, read
from softhat.program.schedule import Term, keys_of_recalls
from softhat.transformer.decoders import GPT2Block
from softhat.transformer.lowering.gpt2.layout import Layout
from softhat.transformer.lowering.stock.forms import PairForm, bit_of, values_of
from softhat.transformer.lowering.stock.heads import KINDS
from softhat.transformer.lowering.stock.heads.latest import one
from softhat.transformer.lowering.stock.plan import (
    BOS_PAIR,
    ONE,
    ORDINARY,
    Key,
    bit,
    earlier_bit,
    position_table,
)
from softhat.transformer.lowering.stock.trunk import (
    LoweredClip,
    Trunk,
    TrunkBlock,
    TrunkUnits,
    clipped,
    row_over,
    token_columns,
)

Array = NDArray[np.float32]

GAIN = {"relu": 1.0, "gelu_new": 32.0}
"""G: a gate clips G·s. gelu_new differs from relu by less than 2^-23·|x| from |x| = 6 on, and
|G(s - 1/4)|, |G(s - 3/4)| >= 6 for s <= 1/16 and s >= 15/16."""
TRUE = PairForm({BOS_PAIR: -1.0}, 1.0)
"""What means count of `true`: 1 less `<bos>` has no error except at `<bos>`."""


def trunk(layout: Layout, tokens: tuple[frozenset[str], ...], activation: str) -> Trunk[Layout]:
    """All weights but the read-out. `tokens` says which symbols hold at each ordinary token."""
    clips = [_clips(layout, at) for at in range(layout.blocks)]
    d_ff = max([1, *(2 * len(block) for block in clips)])
    table = np.zeros((len(tokens) + 2, layout.variables))
    for key, values in token_columns(layout, tokens):
        table[:, layout.place[key]] = values
    gain = GAIN[activation]
    return Trunk(
        layout=layout,
        tokens=table.astype(np.float32),
        positions=_position_embedding(layout),
        blocks=tuple(
            _block(layout, at, clipped(layout, own, d_ff, gain, partial(_row, layout)))
            for at, own in enumerate(clips)
        ),
        gain=gain,
    )


def reading_pairs(rows: NDArray[Any]) -> Array:
    """Rows over pairs as rows over coordinates."""
    return written_to_pairs(rows / 2).astype(np.float32)


def held_in_pairs(values: Array) -> Array:
    """What pairs hold, or what is added to them, in coordinates; a pair that no row has is 0."""
    minus = np.where(values.any(axis=0), -values, values)
    return np.stack([values, minus], axis=-1).reshape(len(values), -1)


def written_to_pairs(columns: NDArray[Any]) -> Array:
    """What is added to pairs, (rows, pairs), in coordinates."""
    return np.stack([columns, 0.0 - columns], axis=-1).reshape(len(columns), -1)


def in_coordinates(block: TrunkBlock) -> GPT2Block:
    """The matrices of a block as GPT-2 stores them."""
    rows = np.concatenate([block.query, block.key, block.value])
    return GPT2Block(
        c_attn=reading_pairs(rows).T,
        c_attn_bias=block.constants.reshape(-1),
        attn_proj=written_to_pairs(block.output.T),
        c_fc=reading_pairs(block.gate).T,
        c_fc_bias=block.gate_constants,
        mlp_proj=written_to_pairs(block.down.T),
    )


def _position_embedding(layout: Layout) -> Array:
    table = np.zeros((layout.context, layout.variables))
    index = np.arange(layout.context)

    def put(at: int, values: Any) -> None:
        table[:, at] = values

    def put_bool(key: Key, values: NDArray[np.bool_]) -> None:
        put(layout.place[key], np.where(values, 1.0, -1.0))

    put(layout.place[ONE], 1.0)
    for distance in {head.distance for block in layout.heads for head in block if head.distance}:
        before = np.maximum(index - distance, 0)
        for b in range(layout.digits):
            put_bool(earlier_bit(b, distance), (before >> b & 1) == 1)
    for b in range(layout.digits):
        put_bool(bit(b), (index >> b & 1) == 1)
    for at, signal in enumerate(layout.program.signals):
        key = Register(at, False)
        holds = position_table(signal, layout.context)
        if holds is not None:
            put_bool(key, holds)
    inputs = {Register(at, False) for at, layer in layout.stored.items() if not layer}
    embedded = {layout.place[key] for key in inputs & layout.place.keys()}
    for layer in layout.schedule.layers:
        for gate in layer.gates:
            at = layout.place[Register(gate.signal, False)]
            if not gate.complement and at not in embedded:
                put(at, -1.0)
    for block in layout.heads:
        for head in block:
            if head.kind != "Average":
                for target in head.targets:
                    put(layout.place[target], -layout.amplitude)
    for at in layout.pads:
        put(at, 2.0)
    for at in layout.trims:
        put(at, layout.trim)
    for at in range(layout.used, layout.variables):
        put(at, 1.0)
    return table.astype(np.float32)


# Blocks


def _block(layout: Layout, number: int, units: TrunkUnits) -> TrunkBlock:
    d, variables = layout.d_model, layout.variables
    shapes = (3, d, variables), (3, d), (variables, d)
    rows, constants, output = (np.zeros(shape, np.float32) for shape in shapes)
    heads = layout.heads[number] if number < len(layout.heads) else ()
    for h, head in enumerate(heads):
        start = h * layout.d_head
        query, key = KINDS[head.kind].learned(layout, head)
        values = values_of(layout.counts, head, one(layout, 1.0), TRUE)
        for part, forms in enumerate((query, key, values)):
            for r, form in enumerate(forms, start):
                rows[part, r] = row_over(layout, form.weights)
                constants[part, r] = form.constant
        weight = layout.mean_amplitude if head.kind == "Average" else 2 * layout.amplitude
        for r, target in enumerate(head.targets, start):
            output[layout.place[target], r] = weight
    return TrunkBlock(
        **vars(units),
        query=rows[0],
        key=rows[1],
        value=rows[2],
        constants=constants,
        output=output,
    )


def _row(layout: Layout, form: PairForm) -> tuple[NDArray[np.float64], float]:
    return row_over(layout, form.weights), form.constant


def _clips(layout: Layout, number: int) -> list[LoweredClip]:
    """What a block stores, and what it takes off pairs that are used again."""
    layers = layout.schedule.layers
    if number >= len(layers):
        return []
    keys = keys_of_recalls(layout.program)
    clips = [
        LoweredClip(
            Register(gate.signal, False),
            conjunction(layout, term, number + 1, gate.signal in keys),
            -2.0 if gate.complement else 2.0,
            term,
        )
        for gate in layers[number].gates
        for term in gate.terms
    ]
    for cleared in layout.clears[number]:
        step = -2 * layout.amplitude if cleared.raw else -2.0
        clips.append(LoweredClip(cleared, _small_sum(layout, [(cleared, True)]), step))
    return clips


def conjunction(layout: Layout, term: Term, layer: int, is_key: bool = False) -> PairForm:
    """Theorem 16. Σ literals - (k - 1) is 1 if all hold, and <= 0 if not and at `<bos>`.

    A literal is a stored bit, 0 at `<bos>`; its negation `ordinary - bit`; a raw output o as
    o + ordinary - 1, or negated as ordinary - o, which are <= 0 at `<bos>`. In a term of a recall's
    key that reads stored bits, one of them not negated, 1 - bit serves as well as ordinary - bit:
    fewer summands round less."""
    total = PairForm(constant=1.0 - len(term))
    reads_raw = any(read(layout.stored, literal.signal, layer).raw for literal in term)
    if is_key and not reads_raw and any(literal.positive for literal in term):
        signs: dict[Key, float] = {
            Register(x.signal, False): 0.5 if x.positive else -0.5 for x in term
        }
        return PairForm(signs, 1.0 - len(term) / 2)
    if layout.reuse:
        return _small_sum(
            layout, [(read(layout.stored, x.signal, layer), x.positive) for x in term]
        )
    for literal in term:
        if read(layout.stored, literal.signal, layer).raw:
            raw = PairForm({Register(literal.signal, True): 0.5 / layout.amplitude}, 0.5)
            ordinary = PairForm({ORDINARY: 1.0})
            if literal.positive:
                total = total.plus(ordinary).plus(raw)
                total.constant -= 1.0
            else:
                total = total.plus(ordinary).plus(raw, -1.0)
        else:
            total = total.plus(bit_of(literal, one=one(layout, 1.0)))
    return _short_constant(total)


def _small_sum(layout: Layout, term: Sequence[tuple[Register, bool]]) -> PairForm:
    """The same of small summands: what is off adds up in a pair that is used again, and rounding
    grows with their size. Σ ±v/2 + 1 - k/2 is at most 1, and `<bos>` takes 1 off."""
    total = PairForm({BOS_PAIR: -1.0}, 1.0 - len(term) / 2)
    for register, positive in term:
        size = layout.amplitude if register.raw else 1.0
        total = total.plus(PairForm({register: 0.5 / size}), 1.0 if positive else -1.0)
    return total


def _short_constant(form: PairForm) -> PairForm:
    """The constant's whole part goes through the pair that is always 1: a bias such as -100.75
    has too many digits for bfloat16."""
    whole = float(floor(form.constant))
    return PairForm({**form.weights, ONE: whole}, form.constant - whole) if abs(whole) > 8 else form
