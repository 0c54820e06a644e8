"""A layout to the tensors of a stock Llama.

There are no biases: a constant is a weight on the coordinate that is always 1. A gate is two hidden
units of SwiGLU whose second factor is that coordinate,

    dst += [silu(G(z - 1/4)) - silu(G(z - 3/4))]·4/G,

z the sum of the literals less their number, plus 1: silu differs from relu by at most |x|e^-|x|.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from softhat.program.literals import Literal
from softhat.program.registers import Register, read
from softhat.transformer.decoders import LlamaBlock
from softhat.transformer.lowering.llama.layout import PAD, KeyGroup, LlamaLayout
from softhat.transformer.lowering.stock.forms import ALWAYS, PairForm, bit_of, values_of
from softhat.transformer.lowering.stock.heads import KINDS
from softhat.transformer.lowering.stock.heads.kind import Rows
from softhat.transformer.lowering.stock.heads.scales import content_scale
from softhat.transformer.lowering.stock.plan import ONE, ORDINARY, Digits, bit
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
GAIN = 128.0
"""G: where z is 0 or 1 the units see ±32 at least, and silu's tail there is below 2^-41."""
SHORT = 8
"""Digits of a constant in bfloat16: what does not fit goes to a pad."""


def trunk(layout: LlamaLayout, tokens: tuple[frozenset[str], ...]) -> Trunk[LlamaLayout]:
    """All weights but the read-out. `tokens` says which symbols hold at each ordinary token."""
    clips = [_clips(layout, at) for at in range(layout.blocks)]
    d_ff, one = max([1, *(2 * len(block) for block in clips)]), row_of(layout, ALWAYS)
    table = np.ones((len(tokens) + 2, layout.d_model))
    for key, at in layout.place.items():
        if key != ONE:
            table[:, at] = -1.0 if isinstance(key, Register) or key.startswith("bit ") else 0.0
    for key, values in token_columns(layout, tokens):
        table[:, layout.place[key]] = values
    table[:, list(layout.zeros)] = 0.0
    table[:, list(layout.pads)] = 2.0
    return Trunk(
        layout=layout,
        tokens=table.astype(np.float32),
        positions=None,
        blocks=tuple(
            _block(layout, at, clipped(layout, own, d_ff, GAIN, partial(_short, layout), one))
            for at, own in enumerate(clips)
        ),
        gain=GAIN,
    )


def in_coordinates(block: TrunkBlock) -> LlamaBlock:
    """The matrices of a block as Llama stores them."""
    return LlamaBlock(**{part: getattr(block, part) for part in LlamaBlock.names()})


def row_of(layout: LlamaLayout, form: PairForm) -> NDArray[np.float64]:
    """A linear form as a row over coordinates, of which one is always 1."""
    row = row_over(layout, form.weights)
    row[layout.place[ONE]] += form.constant
    return row


# Blocks


def _block(layout: LlamaLayout, number: int, units: TrunkUnits) -> TrunkBlock:
    d, size = layout.d_model, layout.rotary.head_dim
    asking, seen = layout.n_head * size, layout.n_kv * size
    shapes = (asking, d), (seen, d), (seen, d), (d, asking)
    query, key, value, output = (np.zeros(shape, np.float32) for shape in shapes)
    for at, group in enumerate(layout.groups_of(number)):
        _put(layout, key, at * size, _keys(layout, group))
        for r, form in enumerate(group.values):
            value[at * size + r] = row_of(layout, form)
        for place, head in enumerate(group.heads):
            start = (at * layout.shared + place) * size
            _put(layout, query, start, KINDS[head.kind].queries(layout, group, head))
            forms = values_of(layout.counts, head)
            amplitude = layout.mean_amplitude if head.kind == "Average" else 2.0
            for target, form in zip(head.targets, forms, strict=True):
                row = layout.place[target]
                output[row, start + group.values.index(form)] = amplitude
    return TrunkBlock(
        **vars(units),
        query=query,
        key=key,
        value=value,
        constants=np.zeros((3, 0), np.float32),  # none beside the coordinate that is always 1
        output=output,
    )


def _keys(layout: LlamaLayout, group: KeyGroup) -> Rows:
    """The rows of a group's keys: each kind of head reads its own."""
    rows: Rows = {}
    for head in group.heads:
        rows |= KINDS[head.kind].keys(layout, head)
    for at, form in enumerate(group.contents):
        rows[layout.rotary.content[at], 0] = form.times(content_scale(layout, form))
    return rows


def _put(layout: LlamaLayout, matrix: Array, start: int, rows: Rows) -> None:
    """Rows of rotary pairs: coordinate p of a head turns with coordinate p + head_dim/2."""
    for (pair, side), form in rows.items():
        matrix[start + pair + side * layout.rotary.head_dim // 2] = row_of(layout, form)


def _clips(layout: LlamaLayout, number: int) -> list[LoweredClip]:
    """What a block stores. Digits are all known in the last block that finds some: there predicates
    of the position are."""
    if number < layout.first - 1:
        return []
    if number < layout.first:
        return [
            LoweredClip(Register(signal, False), conjunction(_digits(digits)), 2.0, is_table=True)
            for signal, table in layout.tables.items()
            for digits in table
        ]
    layers = layout.schedule.layers
    layer = number - layout.first
    clips = []
    for gate in layers[layer].gates if layer < len(layers) else ():
        for term in gate.terms:
            literals = [
                bit_of(literal, read(layout.stored, literal.signal, layer + 1).raw)
                for literal in term
            ]
            step = -2.0 if gate.complement else 2.0
            clips.append(
                LoweredClip(Register(gate.signal, False), conjunction(literals), step, term)
            )
    return clips


def _digits(digits: Digits) -> list[PairForm]:
    """Digits as 0 or 1; the conjunction of none is that this is no sink."""
    if not digits:
        return [bit_of(Literal(-1, True))]
    forms = []
    for b, one in digits:
        held = PairForm({bit(b): 0.5, ONE: 0.5})
        forms.append(held if one else PairForm({ORDINARY: 1.0}).plus(held, -1.0))
    return forms


def conjunction(literals: Iterable[PairForm]) -> PairForm:
    """Theorem 16. Σ literals - (k - 1) is 1 if all k hold, and <= 0 if not and at `<bos>`.

    A negated literal is 1 - bit at the word's positions. Each could be 0 at `<bos>`, but that makes
    constants of the size of k that cancel; taking 1 away there once is enough: k - k."""
    total = PairForm(constant=1.0)
    for literal in literals:
        total = total.plus(literal)
        total.constant -= 1.0
    beside = total.weights.get(ORDINARY, 0.0) - 1.0
    if beside > 0:
        total.weights[ORDINARY] = 1.0
        total.constant += beside
    return total


def _short(layout: LlamaLayout, form: PairForm) -> tuple[NDArray[np.float64], float]:
    """A form as a row, without a constant beside: its lower digits go through a pad, which is 2:
    bfloat16 has few."""
    row = row_of(layout, form)
    at = layout.place[ONE]
    mantissa, exponent = np.frexp(row[at])
    head = np.ldexp(np.round(np.ldexp(mantissa, SHORT)), exponent - SHORT)
    row[layout.place[PAD]] += (row[at] - head) / 2
    row[at] = head
    return row, 0.0
