"""Steps: counts from shares of attention, whole numbers from counts, for every n."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.program.draft import Draft
from softhat.program.gates import Steps, Total
from softhat.program.heads import Mask, Selector, Width
from softhat.program.registers import Register
from softhat.transformer.lowering.rows import LayerRows
from softhat.transformer.lowering.steps import step, write_steps


@given(st.integers(1, 4000), st.integers(1, 2))
def test_a_step_lies_between_two_counts(k: int, sinks: int) -> None:
    """Between the share of k and that of k-1 keys with all that leaks, a power of two wide."""
    low, high = step(k, sinks)
    assert Fraction(sinks, sinks + k) <= Fraction(low) < Fraction(high)
    assert Fraction(high) <= Fraction(sinks) / (sinks + k - 1 + Fraction(1, 8))
    assert np.log2(high - low) == int(np.log2(high - low))


@pytest.mark.parametrize("mask", ["none", "<="])
@pytest.mark.parametrize("sinks", [1, 2])
def test_bits_and_totals_of_counts(mask: Mask, sinks: int) -> None:
    most = 25
    draft = Draft("ab")
    a = draft.token(["a"])
    width = draft.add(Width(Selector((a,), (a,), ((0, 0),), mask, most)), "width").signal
    total = draft.add(Total(((-3, width),), most), "total").signal
    turns = [(1,), (2, 5, 9), tuple(range(1, most + 1)), (24, 25)]
    bits = [draft.add(Steps(width, t), str(t)) for t in turns]
    late = draft.add(Steps(total, (-6, 0)), "late")
    program = draft.finish({str(k): bit for k, bit in enumerate([*bits, late])})
    first, second = LayerRows(), LayerRows()
    write_steps(first, program, [b.signal for b in bits] + [total], sinks)
    write_steps(second, program, [late.signal], sinks)
    seen = sinks if mask == "none" else 1

    def added(rows: LayerRows, raw: int, x: Fraction, target: int) -> Fraction:
        result = Fraction(0)
        for unit in rows.hidden:
            weight = unit.out.get(Register(target, True), 0.0)
            (source,) = unit.row.items()
            assert source[0] == Register(raw, True)
            inside = Fraction(source[1]) * x + Fraction(unit.bias)
            result += Fraction(weight) * max(Fraction(0), inside)
        return result

    for w in range(most + 1):
        for epsilon in (Fraction(0), Fraction(1, 64)):
            share = Fraction(seen) / (seen + w + epsilon)
            for literal, turn in zip(bits, turns, strict=True):
                assert added(first, width, share, literal.signal) == sum(w >= k for k in turn) % 2
            whole = added(first, width, share, total)
            assert whole == -3 * w
        for error in (Fraction(-1, 4), Fraction(0), Fraction(1, 4)):
            found = added(second, total, Fraction(-3 * w) + error, late.signal)
            assert found == sum(-3 * w >= k for k in (-6, 0)) % 2
