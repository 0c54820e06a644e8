"""A layout to the tensors of a stock Llama.

There are no biases: a constant is a weight on the coordinate that is always 1. A gate is two hidden
units of SwiGLU whose second factor is that coordinate,

    dst += [silu(G(z - 1/4)) - silu(G(z - 3/4))]·4/G,

z the sum of the literals less their number, plus 1: silu differs from relu by at most |x|e^-|x|.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.program.inputs import TokenIn
from softhat.program.literals import Literal
from softhat.program.registers import Register, read
from softhat.program.schedule import Term
from softhat.transformer.decoders import LlamaBlock
from softhat.transformer.lowering.gpt2.weights import GateTerm
from softhat.transformer.lowering.llama.inputs import Digits
from softhat.transformer.lowering.llama.layout import PAD, KeyGroup, LlamaLayout
from softhat.transformer.lowering.stock.forms import PairForm, bit_of, values_of
from softhat.transformer.lowering.stock.heads import KINDS
from softhat.transformer.lowering.stock.heads.kind import Rows
from softhat.transformer.lowering.stock.heads.scales import content_scale
from softhat.transformer.lowering.stock.plan import BOS_PAIR, ONE, ORDINARY, bit

Array = NDArray[np.float32]
GAIN = 128.0
"""G: where z is 0 or 1 the units see ±32 at least, and silu's tail there is below 2^-41."""
LOW, HIGH = 1 / 4, 3 / 4
SHORT = 8
"""Digits of a constant in bfloat16: what does not fit goes to a pad."""


@dataclass(frozen=True)
class LlamaMatrices(LlamaBlock):
    """The matrices of one block, and where its gates are."""

    gates: tuple[GateTerm, ...]
    """The terms of the program's gates; predicates of the position are in `tables`."""
    tables: tuple[tuple[int, tuple[int, ...]], ...]
    """(signal, its units) for predicates of the position."""


@dataclass(frozen=True)
class LlamaTrunk:
    """Embedding and blocks, before any head."""

    layout: LlamaLayout
    embedding: Array
    blocks: tuple[LlamaMatrices, ...]

    @property
    def d_ff(self) -> int:
        return len(self.blocks[0].gate)


def trunk(layout: LlamaLayout, tokens: tuple[frozenset[str], ...]) -> LlamaTrunk:
    """All weights but the read-out. `tokens` says which symbols hold at each ordinary token."""
    d_ff = max([1, *(2 * len(_clips(layout, at)) for at in range(layout.blocks))])
    return LlamaTrunk(
        layout=layout,
        embedding=_embedding(layout, tokens),
        blocks=tuple(_block(layout, at, d_ff) for at in range(layout.blocks)),
    )


def row_of(layout: LlamaLayout, form: PairForm) -> NDArray[np.float64]:
    """A linear form as a row over coordinates."""
    row = np.zeros(layout.d_model)
    for key, w in form.weights.items():
        row[layout.coordinate[key]] += w
    row[layout.coordinate[ONE]] += form.constant
    return row


def _embedding(layout: LlamaLayout, tokens: tuple[frozenset[str], ...]) -> Array:
    """Rows of the ordinary tokens, then `<bos>` and `<eos>` (which is also padding)."""
    table = np.ones((len(tokens) + 2, layout.d_model))
    bos = np.zeros(len(tokens) + 2)
    bos[len(tokens)] = 1.0
    for key, at in layout.coordinate.items():
        if key != ONE:
            table[:, at] = -1.0 if isinstance(key, Register) or key.startswith("bit ") else 0.0
    table[:, layout.coordinate[BOS_PAIR]] = bos
    table[:, layout.coordinate[ORDINARY]] = 1.0 - bos
    for at, signal in enumerate(layout.program.signals):
        if isinstance(signal, TokenIn) and Register(at, False) in layout.coordinate:
            holds = [bool(symbols.intersection(signal.symbols)) for symbols in tokens]
            column = np.where([*holds, False, False], 1.0, -1.0)
            table[:, layout.coordinate[Register(at, False)]] = column
    for layer in layout.schedule.layers:
        for gate in layer.gates:
            if gate.complement:  # true until a term takes it away
                table[:, layout.coordinate[Register(gate.signal, False)]] = 1.0 - 2.0 * bos
    table[:, list(layout.zeros)] = 0.0
    table[:, list(layout.pads)] = 2.0
    return table.astype(np.float32)


# Blocks


def _block(layout: LlamaLayout, number: int, d_ff: int) -> LlamaMatrices:
    d, size = layout.d_model, layout.rotary.head_dim
    query, output = np.zeros((layout.n_head * size, d)), np.zeros((d, layout.n_head * size))
    key, value = np.zeros((layout.n_kv * size, d)), np.zeros((layout.n_kv * size, d))
    for at, group in enumerate(groups_of(layout, number)):
        _put(layout, key, at * size, _keys(layout, group))
        for r, form in enumerate(group.values):
            value[at * size + r] = row_of(layout, form)
        for place, head in enumerate(group.heads):
            start = (at * layout.shared + place) * size
            _put(layout, query, start, KINDS[head.kind].queries(layout, group, head))
            forms = values_of(layout.counts, head)
            amplitude = layout.mean_amplitude if head.kind == "Average" else 2.0
            for target, form in zip(head.targets, forms, strict=True):
                row = layout.coordinate[target]
                output[row, start + group.values.index(form)] = amplitude
    gate, up, down = np.zeros((d_ff, d)), np.zeros((d_ff, d)), np.zeros((d, d_ff))
    gates: list[GateTerm] = []
    tables: dict[int, tuple[int, ...]] = {}
    for at, (signal, literals, step, term) in enumerate(_clips(layout, number)):
        units = (2 * at, 2 * at + 1)
        for unit, threshold, sign in zip(units, (LOW, HIGH), (1.0, -1.0), strict=True):
            moved = PairForm(literals.weights, literals.constant - threshold)
            gate[unit] = _short(layout, GAIN * row_of(layout, moved))
            up[unit, layout.coordinate[ONE]] = 1.0
            down[layout.coordinate[Register(signal, False)], unit] = (
                sign * step / (GAIN * (HIGH - LOW))
            )
        if term is None:
            tables[signal] = (*tables.get(signal, ()), *units)
        else:
            gates.append(GateTerm(signal, term, step < 0, units))
    matrices = (query, key, value, output, gate, up, down)
    return LlamaMatrices(*matrices, tuple(gates), tuple(tables.items())).cast(np.float32)


def _keys(layout: LlamaLayout, group: KeyGroup) -> Rows:
    """The rows of a group's keys: each kind of head reads its own."""
    rows: Rows = {}
    for head in group.heads:
        rows |= KINDS[head.kind].keys(layout, head)
    for at, form in enumerate(group.contents):
        rows[layout.rotary.content[at], 0] = form.times(content_scale(layout, form))
    return rows


def _put(layout: LlamaLayout, matrix: NDArray[np.float64], start: int, rows: Rows) -> None:
    """Rows of rotary pairs: coordinate p of a head turns with coordinate p + head_dim/2."""
    for (pair, side), form in rows.items():
        matrix[start + pair + side * layout.rotary.head_dim // 2] = row_of(layout, form)


def _clips(layout: LlamaLayout, number: int) -> list[tuple[int, PairForm, float, Term | None]]:
    """(signal, sum of literals, step, term) of each clip of a block; no term for digits, which are
    all known in the last block that finds some."""
    if number < layout.first - 1:
        return []
    if number < layout.first:
        return [
            (signal, conjunction(_digits(digits)), 2.0, None)
            for signal, table in layout.tables.items()
            for digits in table
        ]
    layers = layout.schedule.layers
    layer = number - layout.first
    clips: list[tuple[int, PairForm, float, Term | None]] = []
    for gate in layers[layer].gates if layer < len(layers) else ():
        for term in gate.terms:
            literals = [
                bit_of(literal, read(layout.stored, literal.signal, layer + 1).raw)
                for literal in term
            ]
            clips.append(
                (gate.signal, conjunction(literals), -2.0 if gate.complement else 2.0, term)
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


def _short(layout: LlamaLayout, row: NDArray[np.float64]) -> NDArray[np.float64]:
    """The constant's lower digits go through a pad, which is 2: bfloat16 has few."""
    at = layout.coordinate[ONE]
    mantissa, exponent = np.frexp(row[at])
    head = np.ldexp(np.round(np.ldexp(mantissa, SHORT)), exponent - SHORT)
    row[layout.coordinate[PAD]] += (row[at] - head) / 2
    row[at] = head
    return row


def groups_of(layout: LlamaLayout, number: int) -> tuple[KeyGroup, ...]:
    """The groups of a block."""
    return layout.groups[number] if number < len(layout.groups) else ()
