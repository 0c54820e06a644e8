"""A layout to the tensors of a stock GPT-2.

Every linear form here reads *pairs*: weight w on pair p is w/2 on x₊ and -w/2 on x₋. Queries and
keys are multiplied by √d_head between them, because GPT-2 divides scores by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.numbers.predicates import column
from softhat.program.inputs import FirstPosition, PositionAtLeast, PositionIn, PositionMod, TokenIn
from softhat.program.registers import Register, read
from softhat.program.schedule import Term, keys_of_recalls
from softhat.transformer.decoders import GPT2Block
from softhat.transformer.lowering.gpt2.layout import Layout
from softhat.transformer.lowering.stock.forms import PairForm, bit_of, values_of
from softhat.transformer.lowering.stock.heads import KINDS
from softhat.transformer.lowering.stock.heads.latest import one
from softhat.transformer.lowering.stock.plan import BOS_PAIR, ONE, ORDINARY, Key, bit, earlier_bit

Array = NDArray[np.float32]

GAIN = {"relu": 1.0, "gelu_new": 32.0}
"""G: a gate clips G·s. gelu_new differs from relu by less than 2^-23·|x| from |x| = 6 on, and
|G(s - 1/4)|, |G(s - 3/4)| >= 6 for s <= 1/16 and s >= 15/16."""
LOW, HIGH = 1 / 4, 3 / 4
TRUE = PairForm({BOS_PAIR: -1.0}, 1.0)
"""What means count of `true`: 1 less `<bos>` has no error except at `<bos>`."""


@dataclass(frozen=True, slots=True)
class GateTerm:
    """The two hidden units that clip one term of the gate that stores `signal`."""

    signal: int
    term: Term
    complement: bool
    units: tuple[int, int]


@dataclass(frozen=True)
class GPT2Matrices(GPT2Block):
    """The matrices of one block, and where its gates are."""

    gates: tuple[GateTerm, ...]


@dataclass(frozen=True)
class Trunk:
    """Embeddings and blocks, before any head."""

    layout: Layout
    activation: str
    wte: Array
    wpe: Array
    blocks: tuple[GPT2Matrices, ...]

    @property
    def d_ff(self) -> int:
        return int(self.blocks[0].c_fc.shape[1])


def trunk(layout: Layout, tokens: tuple[frozenset[str], ...], activation: str) -> Trunk:
    """All weights but the read-out. `tokens` says which symbols hold at each ordinary token."""
    d_ff = max([1, *(_units(layout, at) for at in range(len(layout.schedule.layers)))])
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
            if gate.complement:  # true until a term takes it away
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
    for distance in {head.distance for block in layout.heads for head in block if head.distance}:
        before = np.maximum(index - distance, 0)
        for b in range(layout.bits):
            put_bool(earlier_bit(b, distance), (before >> b & 1) == 1)
    for b in range(layout.bits):
        put_bool(bit(b), (index >> b & 1) == 1)
    for at, signal in enumerate(layout.program.signals):
        key = Register(at, False)
        match signal:
            case FirstPosition():
                put_bool(key, index == 1)
            case PositionMod(modulus, remainder):
                # In Python's integers, as below: moduli may be beyond int64.
                holds = [i > 0 and i % modulus == remainder for i in range(layout.context)]
                put_bool(key, np.array(holds))
            case PositionIn(predicate):
                put_bool(key, column(predicate, index, layout.context - 1))
            case PositionAtLeast(coefficient, threshold):
                holds = [i > 0 and coefficient * i >= threshold for i in range(layout.context)]
                put_bool(key, np.array(holds))
    inputs = {Register(at, False) for at, layer in layout.stored.items() if not layer}
    embedded = {layout.pair[key] for key in inputs & layout.pair.keys()}
    for layer in layout.schedule.layers:
        for gate in layer.gates:
            at = layout.pair[Register(gate.signal, False)]
            if not gate.complement and at not in embedded:
                put(at, -1.0)
    for block in layout.heads:
        for head in block:
            if head.kind != "Average":
                for target in head.targets:
                    put(layout.pair[target], -layout.amplitude)
    for at in layout.pads:
        put(at, 2.0)
    for at in layout.trims:
        put(at, layout.trim)
    for at in range(layout.used, layout.d_model // 2):
        put(at, 1.0)
    return table.astype(np.float32)


# Blocks


def _block(layout: Layout, number: int, d_ff: int, activation: str) -> GPT2Matrices:
    d = layout.d_model
    c_attn, c_attn_bias = np.zeros((d, 3 * d)), np.zeros(3 * d)
    attn_proj = np.zeros((d, d))
    heads = layout.heads[number] if number < len(layout.heads) else ()
    for h, head in enumerate(heads):
        query, key = KINDS[head.kind].learned(layout, head)
        values = values_of(layout.counts, head, one(layout, 1.0), TRUE)
        for part, forms in enumerate((query, key, values)):
            for r, form in enumerate(forms):
                column = part * d + h * layout.d_head + r
                c_attn[:, column] = read_row(layout, form.weights)
                c_attn_bias[column] = form.constant
        for r, target in enumerate(head.targets):
            at = layout.pair[target]
            weight = layout.mean_amplitude if head.kind == "Average" else 2 * layout.amplitude
            attn_proj[h * layout.d_head + r, 2 * at] = weight
            attn_proj[h * layout.d_head + r, 2 * at + 1] = -weight
    c_fc, c_fc_bias = np.zeros((d, d_ff)), np.zeros(d_ff)
    mlp_proj = np.zeros((d_ff, d))
    gates = []
    unit = 0
    gain = GAIN[activation]
    layers = layout.schedule.layers
    keys = keys_of_recalls(layout.program)

    def clip(total: PairForm, key: Register, step: float) -> tuple[int, int]:
        """Two units that add `step` to a pair where the sum is 1."""
        nonlocal unit
        at, row = layout.pair[key], gain * read_row(layout, total.weights)
        for threshold, sign in ((LOW, 1.0), (HIGH, -1.0)):
            c_fc[:, unit] = row
            c_fc_bias[unit] = gain * (total.constant - threshold)
            weight = sign * step / (gain * (HIGH - LOW))
            mlp_proj[unit, 2 * at] = weight
            mlp_proj[unit, 2 * at + 1] = -weight
            unit += 1
        return unit - 2, unit - 1

    for gate in layers[number].gates if number < len(layers) else ():
        step = -2.0 if gate.complement else 2.0
        for term in gate.terms:
            total = conjunction(layout, term, number + 1, gate.signal in keys)
            units = clip(total, Register(gate.signal, False), step)
            gates.append(GateTerm(gate.signal, term, gate.complement, units))
    for cleared in layout.clears[number] if number < len(layers) else ():
        step = -2 * layout.amplitude if cleared.raw else -2.0
        clip(_small_sum(layout, [(cleared, True)]), cleared, step)
    matrices = (c_attn, c_attn_bias, attn_proj, c_fc, c_fc_bias, mlp_proj)
    return GPT2Matrices(*matrices, tuple(gates)).cast(np.float32)


def _units(layout: Layout, number: int) -> int:
    terms = sum(len(gate.terms) for gate in layout.schedule.layers[number].gates)
    return 2 * (terms + len(layout.clears[number]))


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
