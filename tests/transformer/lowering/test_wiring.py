"""How weights read signals: bits and their negations, and sums scaled into [-1, 1]."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.numbers.positions import Mod
from softhat.program.draft import Draft
from softhat.program.heads import Average, Shift
from softhat.program.literals import FALSE, TRUE
from softhat.program.registers import Register
from softhat.transformer.lowering.rows import ORDINARY, Key, PositionUnits
from softhat.transformer.lowering.wiring import Wiring


def wired(scaled: bool = False) -> Wiring:
    draft = Draft("abc")
    bits = {s: draft.token([s]) for s in "abc"}
    return Wiring(draft.finish(bits), PositionUnits(scaled))


def test_a_bit_is_zero_at_the_sinks_negated_or_not() -> None:
    """At a sink `ordinary` and every stored bit are 0; on the word `ordinary` is 1."""
    wiring = wired()
    for _, literal in wiring.program.outputs:
        for asked in (literal, ~literal):
            row = wiring.bit(asked)
            for bit in (0.0, 1.0):
                held: dict[Key, float] = {Register(literal.signal, False): bit, ORDINARY: 1.0}
                wanted = bit if asked == literal else 1 - bit
                assert sum(w * held[at] for at, w in row.items()) == wanted
    assert wiring.bit(TRUE) == {ORDINARY: 1.0} and wiring.bit(FALSE) == {}


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=3), st.integers(-9, 9))
def test_sums_are_scaled_by_a_power_of_two(weights: list[int], constant: int) -> None:
    wiring = wired()
    terms = (*((a, at) for at, a in enumerate(weights)), (constant, -1))
    values = [a + constant for a in weights]  # one symbol stands at a position
    assert wiring.range(terms) == (min(values), max(values))
    scale = wiring.scale(terms)
    row = wiring.weighted(terms)
    assert max(map(abs, values)) <= scale and (scale == 1 or max(map(abs, values)) > scale / 2)
    for at, wanted in enumerate(values):
        held: dict[Key, float] = {Register(k, False): float(k == at) for k in range(3)}
        held[ORDINARY] = 1.0
        found = sum(w * held[key] for key, w in row.items())
        assert found * scale == pytest.approx(wanted) and abs(found) <= 1


def test_shifts_share_one_modulus() -> None:
    draft = Draft("ab")
    a = draft.token(["a"])
    bits = {str(d): draft.add(Shift(a, d, "past"), str(d)) for d in (2, 5, 3)}
    wiring = Wiring(draft.finish(bits), PositionUnits(False))
    assert wiring.modulus == 6
    assert wiring.residues == [Mod(6, k, sinks=False) for k in range(6)]
    for residue, row in zip(wiring.residues, wiring.elsewhere, strict=True):
        assert row == {ORDINARY: 1.0, residue: -1.0}


def test_an_average_is_read_in_its_own_units() -> None:
    from fractions import Fraction

    from softhat.program.signals import Number

    draft = Draft("ab")
    mean = draft.add(Average(((6, draft.token(["a"]).signal),), "past"), "mean").signal
    program = draft.finish({}, {"x": Number(((Fraction(1), mean),), Fraction(0))})
    wiring = Wiring(program, PositionUnits(True))
    assert wiring.average(mean) == {Register(mean, True): 8.0}
