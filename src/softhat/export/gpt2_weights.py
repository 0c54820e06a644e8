"""A layout to the tensors of a stock GPT-2.

Every linear form here reads *pairs*: weight w on pair p is w/2 on x₊ and -w/2 on x₋. Queries and
keys are multiplied by √d_head between them, because GPT-2 divides scores by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor, log2, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.gpt2_layout import (
    AMPLITUDE,
    BOS_PAIR,
    ONE,
    ORDINARY,
    Count,
    Head,
    Key,
    Layout,
    PositionAtLeast,
    bit,
    mean_of,
    previous_bit,
)
from softhat.program.signals import FirstPosition, Latest, Literal, PositionMod, Previous, TokenIn
from softhat.transformer.allocate import Register, read
from softhat.transformer.schedule import Term

Array = NDArray[np.float32]

SHARPNESS = 32.0
"""C: neighbours' scores differ by C. A leak of e^-32 is far below the roundoff of float32, so a
head that looks something up returns exactly 0 or 1 even in bfloat16."""
DECISION = 512.0
"""The least |score| of a Sign head: enough even if nine tenths of the mean are rounding error."""
GAIN = {"relu": 1.0, "gelu_new": 32.0}
"""G: a gate clips G·s. gelu_new differs from relu by less than 2^-23·|x| from |x| = 6 on, and
|G(s - 1/4)|, |G(s - 3/4)| >= 6 for s <= 1/16 and s >= 15/16."""
LOW, HIGH = 1 / 4, 3 / 4


@dataclass(slots=True)
class Form:
    """A linear form: weights on pairs, and a constant."""

    weights: dict[Key, float] = field(default_factory=dict)
    constant: float = 0.0

    def plus(self, other: Form, factor: float = 1.0) -> Form:
        weights = dict(self.weights)
        for key, w in other.weights.items():
            weights[key] = weights.get(key, 0.0) + factor * w
        return Form(weights, self.constant + factor * other.constant)

    def times(self, factor: float) -> Form:
        return Form().plus(self, factor)


@dataclass(frozen=True)
class Block:
    """The matrices of one block, inputs first, as GPT-2's Conv1D stores them."""

    c_attn: Array  # (d, 3d)
    c_attn_bias: Array
    attn_proj: Array  # (d, d)
    c_fc: Array  # (d, d_ff)
    c_fc_bias: Array
    mlp_proj: Array  # (d_ff, d)
    gates: tuple[tuple[tuple[int, ...], int], ...]
    """(units, signal) of each gate's terms."""


@dataclass(frozen=True)
class Trunk:
    """Embeddings and blocks, before any head."""

    layout: Layout
    activation: str
    wte: Array
    wpe: Array
    blocks: tuple[Block, ...]

    @property
    def d_ff(self) -> int:
        return int(self.blocks[0].c_fc.shape[1])


def trunk(layout: Layout, tokens: tuple[frozenset[str], ...], activation: str) -> Trunk:
    """All weights but the read-out. `tokens` says which symbols hold at each ordinary token."""
    d_ff = max(1, *(_units(layout, at) for at in range(len(layout.schedule.layers))), 1)
    return Trunk(
        layout=layout,
        activation=activation,
        wte=_token_embedding(layout, tokens),
        wpe=_position_embedding(layout),
        blocks=tuple(_block(layout, at, d_ff, activation) for at in range(layout.blocks)),
    )


def read_row(layout: Layout, weights: Mapping[Key, float]) -> NDArray[np.float64]:
    """A linear form over pairs as a row over coordinates."""
    row = np.zeros(layout.d_model)
    for key, w in weights.items():
        at = layout.pair[key]
        row[2 * at] += w / 2
        row[2 * at + 1] -= w / 2
    return row


def bit_of(layout: Layout, literal: Literal) -> Form:
    """A stored bit as 0 or 1, or its negation, which is 0 at `<bos>` too."""
    if literal.signal < 0:
        return Form({ORDINARY: 1.0} if literal.positive else {})
    stored = Form({Register(literal.signal, False): 0.5}, 0.5)
    return stored if literal.positive else Form({ORDINARY: 1.0}).plus(stored, -1.0)


# Embeddings


def _token_embedding(layout: Layout, tokens: tuple[frozenset[str], ...]) -> Array:
    """Rows of the ordinary tokens, then `<bos>` and `<eos>` (which is also padding)."""
    table = np.zeros((len(tokens) + 2, layout.d_model))

    def put(key: Key, values: NDArray[Any]) -> None:
        at = layout.pair[key]
        table[:, 2 * at] = values
        table[:, 2 * at + 1] = -values

    bos = np.zeros(len(tokens) + 2)
    bos[len(tokens)] = 1.0
    put(BOS_PAIR, bos)
    put(ORDINARY, 1.0 - bos)
    for at, signal in enumerate(layout.program.signals):
        if isinstance(signal, TokenIn) and Register(at, False) in layout.pair:
            holds = [bool(symbols.intersection(signal.symbols)) for symbols in tokens]
            put(Register(at, False), np.where([*holds, False, False], 1.0, -1.0))
    for layer in layout.schedule.layers:
        for gate in layer.gates:
            if gate.cover.complement:  # true until a term takes it away
                put(Register(gate.signal, False), 1.0 - 2.0 * bos)
    return table.astype(np.float32)


def _position_embedding(layout: Layout) -> Array:
    table = np.zeros((layout.context, layout.d_model))
    index = np.arange(layout.context)

    def put(at: int, values: Any) -> None:
        table[:, 2 * at] = values
        table[:, 2 * at + 1] = -np.asarray(values)

    def put_bool(key: Key, values: NDArray[np.bool_]) -> None:
        put(layout.pair[key], np.where(values, 1.0, -1.0))

    put(layout.pair[ONE], 1.0)
    for b in range(layout.bits):
        put_bool(bit(b), (index >> b & 1) == 1)
        if previous_bit(b) in layout.pair:
            put_bool(previous_bit(b), ((index - 1) >> b & 1) == 1)
    signals: tuple[object, ...] = layout.program.signals  # with position inputs of our own
    for at, signal in enumerate(signals):
        key = Register(at, False)
        match signal:
            case FirstPosition():
                put_bool(key, index == 1)
            case PositionMod(modulus, remainder):
                put_bool(key, (index % modulus == remainder) & (index > 0))
            case PositionAtLeast(coefficient, threshold):
                # In Python's integers: coefficients may be beyond int64.
                holds = [i > 0 and coefficient * i >= threshold for i in range(layout.context)]
                put_bool(key, np.array(holds))
    for layer in layout.schedule.layers:
        for gate in layer.gates:
            if not gate.cover.complement:
                put(layout.pair[Register(gate.signal, False)], -1.0)
    for block in layout.heads:
        for head in block:
            if head.kind != "Average":
                for signal in head.signals:
                    put(layout.pair[head.target(signal)], -AMPLITUDE)
    for at in layout.pads:
        put(at, 2.0)
    for at in layout.trims:
        put(at, layout.trim)
    for at in range(layout.pads[-1] + 1 + len(layout.trims), layout.d_model // 2):
        put(at, 1.0)
    return table.astype(np.float32)


# Blocks


def _block(layout: Layout, number: int, d_ff: int, activation: str) -> Block:
    d = layout.d_model
    c_attn, c_attn_bias = np.zeros((d, 3 * d)), np.zeros(3 * d)
    attn_proj = np.zeros((d, d))
    heads = layout.heads[number] if number < len(layout.heads) else ()
    for h, head in enumerate(heads):
        query, key = _scores(layout, head)
        value = [_value(layout, head, at) for at in head.signals]
        for part, forms in enumerate((query, key, value)):
            for r, form in enumerate(forms):
                column = part * d + h * layout.d_head + r
                c_attn[:, column] = read_row(layout, form.weights)
                c_attn_bias[column] = form.constant
        for r, signal in enumerate(head.signals):
            at = layout.pair[head.target(signal)]
            weight = layout.mean_amplitude if head.kind == "Average" else 2 * AMPLITUDE
            attn_proj[h * layout.d_head + r, 2 * at] = weight
            attn_proj[h * layout.d_head + r, 2 * at + 1] = -weight
    c_fc, c_fc_bias = np.zeros((d, d_ff)), np.zeros(d_ff)
    mlp_proj = np.zeros((d_ff, d))
    gates = []
    unit = 0
    gain = GAIN[activation]
    layers = layout.schedule.layers
    for gate in layers[number].gates if number < len(layers) else ():
        at = layout.pair[Register(gate.signal, False)]
        step = -2.0 if gate.cover.complement else 2.0
        for term in gate.cover.terms:
            total = _short_constant(conjunction(layout, term, number + 1))
            row = gain * read_row(layout, total.weights)
            for threshold, sign in ((LOW, 1.0), (HIGH, -1.0)):
                c_fc[:, unit] = row
                c_fc_bias[unit] = gain * (total.constant - threshold)
                weight = sign * step / (gain * (HIGH - LOW))
                mlp_proj[unit, 2 * at] = weight
                mlp_proj[unit, 2 * at + 1] = -weight
                unit += 1
            gates.append(((unit - 2, unit - 1), gate.signal))
    return Block(
        c_attn=c_attn.astype(np.float32),
        c_attn_bias=c_attn_bias.astype(np.float32),
        attn_proj=attn_proj.astype(np.float32),
        c_fc=c_fc.astype(np.float32),
        c_fc_bias=c_fc_bias.astype(np.float32),
        mlp_proj=mlp_proj.astype(np.float32),
        gates=tuple(gates),
    )


def _units(layout: Layout, number: int) -> int:
    return sum(2 * len(gate.cover.terms) for gate in layout.schedule.layers[number].gates)


def conjunction(layout: Layout, term: Term, layer: int) -> Form:
    """Theorem. Σ literals - (k - 1) is 1 if all hold, and <= 0 if not and at `<bos>`.

    A literal is a stored bit, 0 at `<bos>`; its negation `ordinary - bit`; a raw output o as
    o + ordinary - 1, or negated as ordinary - o, which are <= 0 at `<bos>`."""
    total = Form(constant=1.0 - len(term))
    for literal in term:
        if read(layout.stored, literal.signal, layer).raw:
            raw = Form({Register(literal.signal, True): 0.5 / AMPLITUDE}, 0.5)
            ordinary = Form({ORDINARY: 1.0})
            if literal.positive:
                total = total.plus(ordinary).plus(raw)
                total.constant -= 1.0
            else:
                total = total.plus(ordinary).plus(raw, -1.0)
        else:
            total = total.plus(bit_of(layout, literal))
    return total


def _short_constant(form: Form) -> Form:
    """The constant's whole part goes through the pair that is always 1: a bias such as -100.75
    has too many digits for bfloat16."""
    whole = float(floor(form.constant))
    return Form({**form.weights, ONE: whole}, form.constant - whole) if abs(whole) > 8 else form


def _scores(layout: Layout, head: Head) -> tuple[list[Form], list[Form]]:
    match head.kind:
        case "Latest":
            assert head.bad is not None
            return latest(layout, head.bad)
        case "Previous":
            return previous(layout)
        case "Sign":
            return sign(layout, head.signals[0])
        case "Average":
            return [], []


def latest(layout: Layout, bad: Literal) -> tuple[list[Form], list[Form]]:
    """Theorem. Softmax of C(j - 2^(B-1)) - 1.25·2^B·C·bad_j over j <= i, B the bits of a position,
    puts all but e^-C/(1 - e^-C) + n·e^(-C·2^B/4) on the last j <= i without bad: `<bos>` is never
    bad, the others without bad lose C a step, and those with bad lie C·2^B/4 below all without.
    Scores without bad are whole multiples of C up to 2^(B-1), exact in small formats."""
    penalty = 1.25 * 2.0**layout.bits * SHARPNESS
    pairs: list[tuple[float, Form]] = [
        (SHARPNESS * 2.0 ** (b - 1), Form({bit(b): 1.0})) for b in range(layout.bits)
    ]
    pairs.append((-SHARPNESS / 2, Form(constant=1.0)))
    pairs.append((-penalty, bit_of(layout, bad)))
    key_scale = _key_scale(penalty)
    query_scale = sqrt(layout.d_head) / key_scale
    return (
        [Form(constant=weight * query_scale) for weight, _ in pairs],
        [form.times(key_scale) for _, form in pairs],
    )


def previous(layout: Layout) -> tuple[list[Form], list[Form]]:
    """Theorem. Softmax of (C/2)·Σ_b bit_b(i-1)·bit_b(j), with ±1 bits, puts all but
    (1 + e^-C)^B - 1 on j = i-1 (`<bos>` for i = 1): each digit that differs costs C, and at most
    binom(B, h) positions differ in h digits. Scores stay small: exact in every format."""
    query_scale = sqrt(layout.d_head) * SHARPNESS / 2
    return (
        [Form({previous_bit(b): query_scale}) for b in range(layout.bits)],
        [Form({bit(b): 1.0}) for b in range(layout.bits)],
    )


def sign(layout: Layout, signal: int) -> tuple[list[Form], list[Form]]:
    """Theorem. Softmax of S·x_i on ordinary j and of 0 on `<bos>` gives the ordinary positions all
    but e^-512 of the weight if x_i > 0, and at most n·e^-512 if x_i < 0: the mean
    x_i = (Σcounts - c + 1/2)/(V(i+1)) has |x_i| >= 1/(2V·2^B), and S = 2V·2^B·512."""
    least = 2.0 * layout.counts[signal].scale * (1 << layout.bits)
    total = DECISION * least * sqrt(layout.d_head)
    key_scale = _key_scale(total / layout.mean_amplitude)
    return (
        [Form({mean_of(signal): total / key_scale / layout.mean_amplitude})],
        [Form({ORDINARY: key_scale})],
    )


def _value(layout: Layout, head: Head, signal: int) -> Form:
    match head.kind, layout.program.signals[signal]:
        case "Average", _:
            return _averaged(layout, layout.counts[signal])
        case "Sign", _:
            return Form({ORDINARY: 1.0})
        case _, Latest(_, value, _) | Previous(value, _):
            return bit_of(layout, value)
    raise TypeError(f"not a head: {head!r}")


def _averaged(layout: Layout, count: Count) -> Form:
    """(Σ a·bit)/V on ordinary positions and -(c - 1/2)/V on `<bos>`, so that the mean over j <= i
    is (Σcounts - c + 1/2)/(V(i+1)), rounded once."""
    total = Form({BOS_PAIR: -(count.threshold - 0.5)})
    for a, source in count.terms:
        if source < 0:  # true is 1 less <bos>: no error except at <bos>
            total = total.plus(Form({BOS_PAIR: -1.0}, 1.0), float(a))
        else:
            total = total.plus(bit_of(layout, Literal(source, True)), float(a))
    return total.times(1.0 / count.scale)


def _key_scale(total: float) -> float:
    """A power of two that shares a large product between query and key: half-precision formats
    have little range."""
    return 2.0 ** (ceil(log2(total)) // 2)
