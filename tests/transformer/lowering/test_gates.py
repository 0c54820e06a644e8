"""Gates as hidden units: exact bits for every input within its error, 0 at the sinks."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import SofthatError
from softhat.program.draft import Draft
from softhat.program.gates import Steps
from softhat.program.heads import Average, Previous, Selector, Width
from softhat.program.literals import Literal
from softhat.program.registers import Register
from softhat.program.schedule import Cover, GateStep
from softhat.program.signals import Number
from softhat.transformer.lowering.gates import read_number, read_out, write_clears, write_gates
from softhat.transformer.lowering.rows import ONE, ORDINARY, Key, LayerRows, PositionUnits, Row
from softhat.transformer.lowering.wiring import Wiring

Stored = dict[int, int]
terms = st.lists(
    st.sets(st.integers(0, 3), min_size=1).flatmap(
        lambda signals: st.tuples(*(st.tuples(st.just(s), st.booleans()) for s in sorted(signals)))
    ),
    min_size=1,
    max_size=3,
)


def value(row: Row, held: dict[Key, float]) -> float:
    return sum(weight * held[at] for at, weight in row.items())


def after(rows: LayerRows, held: dict[Key, float], target: Register) -> float:
    """What the feed-forward adds to a coordinate."""
    total = rows.out_bias.get(target, 0.0)
    for unit in rows.hidden:
        total += unit.out.get(target, 0.0) * max(0.0, value(unit.row, held) + unit.bias)
    return total


@given(terms, st.booleans(), st.lists(st.floats(0, 1 / 8), min_size=4, max_size=4))
def test_a_stored_bit_is_exact(
    drawn: list[tuple[tuple[int, bool], ...]], complement: bool, errors: list[float]
) -> None:
    """Two bits are stored, two are head outputs, off by up to 1/8 in all."""
    conjunctions = [tuple(Literal(s, positive) for s, positive in term) for term in drawn]
    cover = Cover(tuple(conjunctions), complement)
    stored: Stored = {0: 0, 1: 0}
    rows = LayerRows()
    write_gates(rows, (GateStep(cover.terms, cover.complement, 9),), stored, 1)
    target = Register(9, False)
    off = [e / 2 for e in errors]
    for bits in product((0, 1), repeat=4):
        reached = [all(bits[x.signal] == x.positive for x in term) for term in conjunctions]
        if sum(reached) > 1:
            continue  # covers are disjoint
        held: dict[Key, float] = {ONE: 1.0, ORDINARY: 1.0}
        for signal, bit in enumerate(bits):
            raw = signal >= 2
            error = off[signal] if raw else 0.0
            held[Register(signal, raw)] = bit - error if bit else bit + error
        assert after(rows, held, target) == float(any(reached) != complement)
    sink: dict[Key, float] = {ONE: 1.0, ORDINARY: 0.0}
    for raw_value in (0.0, 0.5, 1.0):
        sink |= {Register(s, s >= 2): raw_value if s >= 2 else 0.0 for s in range(4)}
        assert after(rows, sink, target) == 0.0


@given(st.sets(st.integers(0, 3), min_size=1), st.lists(st.booleans(), min_size=4, max_size=4))
def test_a_read_out_is_a_threshold(signals: set[int], signs: list[bool]) -> None:
    term = tuple(Literal(s, signs[s]) for s in sorted(signals))
    for complement in (False, True):
        row, bias = read_out(Cover((term,), complement), dict.fromkeys(range(4), 0))
        for bits in product((0, 1), repeat=4):
            held: dict[Key, float] = {Register(s, False): float(bits[s]) for s in range(4)}
            holds = all(bits[x.signal] == x.positive for x in term)
            margin = value(row, held) + bias
            assert (margin > 0) == (holds != complement) and abs(margin) >= 0.5


def test_cleared_coordinates_are_zero_again() -> None:
    draft = Draft("ab")
    a = draft.token(["a"])
    before = draft.add(Previous(a, "past"), "Y a")
    mean = draft.add(Average(((1, a.signal), (-2, -1)), "past"), "mean").signal
    number = Number(((Fraction(1), mean),), Fraction(0))
    program = draft.finish({"out": before}, {"mean": number})
    registers = (Register(before.signal, True), Register(mean, True), Register(a.signal, False))
    rows = LayerRows()
    write_clears(rows, program, registers)
    for register, values in zip(registers, ((0.0, 0.9), (-0.75, 0.5), (0.0, 1.0)), strict=True):
        for held in values:
            assert held + after(rows, dict.fromkeys(registers, held), register) == 0.0


def test_numbers_are_read_in_their_own_units() -> None:
    draft = Draft("ab")
    a = draft.token(["a"])
    mean = draft.add(Average(((5, a.signal), (-2, -1)), "past"), "mean").signal
    number = Number(((Fraction(3, 2), mean),), Fraction(7))
    program = draft.finish({}, {"x": number})
    row, bias = read_number(number, Wiring(program, PositionUnits(False)))
    # The head writes the mean of 5a - 2, from -2 to 3, divided by 4.
    assert row == {Register(mean, True): 6.0} and bias == 7.0
    width = draft.add(Width(Selector((a,), (a,), ((0, 0),), "<=", 4)), "width").signal
    program = draft.finish({"some": draft.add(Steps(width, (1,)), "some")})
    at = next(k for k, signal in enumerate(program.signals) if isinstance(signal, Width))
    with pytest.raises(SofthatError, match="decoded by Steps or Total"):
        read_number(
            Number(((Fraction(1), at),), Fraction(0)), Wiring(program, PositionUnits(False))
        )
    assert np.isfinite(bias)
