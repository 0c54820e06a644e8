"""Gates and read-outs: what the feed-forward layers store, and how outputs are decided.

Theorem 10. A *clip* is 8(ReLU(s - 1/4) - ReLU(s - 3/8)): 0 up to 1/4, 1 from 3/8 on. For s within
1/8 below and 1/4 above an integer >= 1 both units lie in one binade, so that rounding moves them
alike and their difference is exactly 1/8: stored bits are exactly 0 or 1 in every format. In the
reals that is machine-checked: `conjunction_gate` and `read_out` of proofs/Gates.v.
"""

from __future__ import annotations

from typing import NamedTuple

from softhat.io.errors import SofthatError
from softhat.program.gates import Steps, Total
from softhat.program.heads import Average, Head, MatchMean, Width
from softhat.program.registers import Register, number_register, read
from softhat.program.schedule import AT_THE_END, Cover, GateStep, Term
from softhat.program.signals import Number, Program
from softhat.transformer.lowering.rows import ONE, ORDINARY, Hidden, LayerRows, Row
from softhat.transformer.lowering.wiring import Wiring

LOW, HIGH = 1 / 4, 3 / 8
Stored = dict[int, int]
"""Signal -> the layer that stores its bit."""


def write_gates(rows: LayerRows, gates: tuple[GateStep, ...], stored: Stored, layer: int) -> None:
    """A bit is a sum of clips of which at most one is 1, or one minus that sum."""
    off: Row = {}
    for gate in gates:
        target = Register(gate.signal, False)
        for term in gate.terms:
            row = _sum(term, stored, layer)
            weight = -8.0 if gate.complement else 8.0
            rows.hidden.append(Hidden(row, -LOW, {target: weight}))
            rows.hidden.append(Hidden(row, -HIGH, {target: -weight}))
        if gate.complement:
            rows.out_bias[target] = 1.0
            off[target] = -1.0
    if off:  # one minus a sum is 1 at the sinks: take it off there
        rows.hidden.append(Hidden({ORDINARY: -1.0}, 1.0, off))


def write_clears(rows: LayerRows, program: Program, registers: tuple[Register, ...]) -> None:
    """Take off what dead coordinates hold: ReLU(x), and ReLU(-x) where x may be negative."""
    for register in registers:
        rows.hidden.append(Hidden({register: 1.0}, 0.0, {register: -1.0}))
        signal = program.signals[register.signal]
        signed = isinstance(signal, Steps | Total) or (isinstance(signal, Head) and signal.numeric)
        if register.raw and signed:
            rows.hidden.append(Hidden({register: -1.0}, 0.0, {register: 1.0}))


def _sum(term: Term, stored: Stored, layer: int) -> Row:
    """ordinary + Σ (x - 1 for a positive literal x) - Σ (x for a negated one).

    1 if all literals hold, at most 0 if one fails and, since everything read lies in [0, 1], at
    the sinks. The integer constant is a weight on `1`, not part of the bias, so that both are
    short numbers in every format.
    """
    row: Row = {ORDINARY: 1.0}
    positive = sum(literal.positive for literal in term)
    if positive:
        row[ONE] = -float(positive)
    for literal in term:
        row[read(stored, literal.signal, layer)] = 1.0 if literal.positive else -1.0
    return row


class OutputRow(NamedTuple):
    """An output is true where row + bias > 0."""

    row: Row
    bias: float


def read_out(cover: Cover, stored: Stored) -> OutputRow:
    """The And of the literals minus 1/2; the negation of that for a complement."""
    (term,) = cover.terms
    row: Row = {}
    bias = 0.5 - len(term)  # 1 - k for the And, minus 1/2
    for literal in term:
        row[read(stored, literal.signal, AT_THE_END)] = 1.0 if literal.positive else -1.0
        bias += 0.0 if literal.positive else 1.0
    if cover.complement:
        return OutputRow({key: -w for key, w in row.items()}, -bias)
    return OutputRow(row, bias)


def read_number(number: Number, wiring: Wiring) -> OutputRow:
    """A numeric output: means are written divided by their scale."""
    row: Row = {}
    for a, at in number.terms:
        signal = wiring.program.signals[at]
        scale = 1.0
        if isinstance(signal, Average | MatchMean):
            scale = wiring.scale(signal.terms)
        elif isinstance(signal, Width):
            raise SofthatError("a Width is decoded by Steps or Total before it is an output")
        register = number_register(wiring.program, at)
        row[register] = row.get(register, 0.0) + float(a) * scale
    return OutputRow(row, float(number.constant))
