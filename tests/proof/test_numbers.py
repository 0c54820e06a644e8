"""Numeric outputs: what a model returns is as near to the exact number as the proof says."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf

import numpy as np
import pytest

from softhat.models.model import Model
from softhat.numerics.formats import FORMATS
from softhat.program.draft import Draft
from softhat.program.evaluate import numbers
from softhat.program.gates import Total
from softhat.program.heads import Average, MatchMean, Selector, Width
from softhat.program.signals import Number, Program
from softhat.proof.cells import Bit, Cell, Mean
from softhat.proof.lengths import Proof
from softhat.proof.numbers import (
    Linear,
    NumericOutput,
    Use,
    is_whole,
    numbers_fail,
    numeric_error,
)
from softhat.proof.programs import certify_program
from softhat.transformer.lowering.lower import lower

PLAIN = Use(over=None, whole=False, parts=1)
LENGTH = 40


def program_of() -> Program:
    """A mean over all, a mean over what matches, and a count."""
    draft = Draft("abc")
    a, b, c = (draft.token([symbol]) for symbol in "abc")
    selector = Selector((a, b, c), (a, b, c), ((0, 1), (1, 2), (2, 0)), "<=", LENGTH)
    mean = draft.add(Average(((5, a.signal), (-3, b.signal)), "past"), "mean").signal
    chosen = draft.add(MatchMean(selector, ((2, b.signal), (7, c.signal))), "chosen").signal
    width = draft.add(Width(selector), "width").signal
    total = draft.add(Total(((1, width),), LENGTH), "total").signal
    return draft.finish(
        {},
        {
            "mean": Number(((Fraction(3), mean),), Fraction(-2)),
            "chosen": Number(((Fraction(1), chosen),), Fraction(1, 2)),
            "count": Number(((Fraction(1), total),), Fraction(0)),
        },
    )


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("dtype", FORMATS)
def test_values_are_within_the_stated_error(dtype: str, attention: str) -> None:
    program = program_of()
    t = lower(program, attention)
    certificate = certify_program(t, program, LENGTH, [(name, PLAIN) for name in t.outputs])
    assert not certificate.void
    n = certificate.max_length[dtype]
    if n == 0:
        assert certificate.errors[dtype] == inf
        return
    rng = np.random.default_rng(12)
    model = Model(t, {})
    for word in [*(rng.integers(0, 3, n) for _ in range(4)), np.zeros(n, np.int64)]:
        got = model.run_batch(word[None], dtype)[0].astype(np.float64)
        for column, (name, exact) in enumerate(numbers(program, word).items()):
            for i, (found, wanted) in enumerate(zip(got[:, column], exact, strict=True)):
                nothing = not any(k == (word[i] + 1) % 3 for k in word[: i + 1])
                if name == "chosen" and nothing:  # what is read there is assumed to be unread
                    assert abs(found - 0.5) <= 9 * n * exp(-8) + 0.01
                    continue
                assert abs(found - float(wanted)) <= certificate.errors[dtype] + 1e-12


def output(cells: tuple[Cell, ...], weights: list[float], use: Use = PLAIN) -> NumericOutput:
    return NumericOutput("x", tuple(zip(cells, weights, strict=True)), 0.0, use)


@pytest.mark.parametrize("dtype", FORMATS)
def test_a_bit_and_a_mean_by_hand(dtype: str) -> None:
    """The read-out of 3·bit - mean, all in one format: every rounding that may happen does."""
    form = stored = FORMATS[dtype]
    cells: tuple[Cell, ...] = (Bit(0), Mean("past", ((Fraction(1, 2), 0),), 0))
    error = output(cells, [3.0, -1.0]).error(100, form, Proof())
    for above, below in ((1, 3), (17, 101), (50, 101), (99, 100)):
        mean = form.stored(float(stored.accumulate(above) / stored.accumulate(2 * below)))
        found = form.stored(float(stored.accumulate(3) - stored.accumulate(mean)))
        assert abs(found - (3 - above / below / 2)) <= error < 0.1


def test_uses() -> None:
    """A sum of parts times the number of positions is off by as much more."""
    form = FORMATS["float32"]
    cells: tuple[Cell, ...] = (Mean("past", ((Fraction(1), 0),), 0),)
    one = output(cells, [1.0]).error(50, form, Proof())
    times = output(cells, [1.0], Use("past", False, 3)).error(50, form, Proof())
    assert times == pytest.approx(one * 52 * 3)
    whole = output(cells, [2.0**26], Use(None, True, 1))
    assert numbers_fail([whole], 50, form, Proof()) == "x is off by half a whole number"
    assert numbers_fail([output(cells, [1.0], Use(None, True, 1))], 50, form, Proof()) is None
    huge = output(cells, [1e38], Use(None, False, 1))
    assert numbers_fail([huge], 50, FORMATS["float16"], Proof()) == "x overflows"
    assert numeric_error([], 0, form, Proof()) == 0.0
    assert numeric_error([huge], 0, form, Proof()) == inf


@pytest.mark.parametrize(
    ("exact", "use", "whole"),
    [
        ({("average", "past", 5): Fraction(3)}, Use("past", True, 1), True),
        ({("average", "past", 5): Fraction(3)}, Use("total", True, 1), False),
        ({("average", "past", 5): Fraction(3)}, Use(None, True, 1), False),
        ({("average", "past", 5): Fraction(1, 2)}, Use("past", True, 1), False),
        ({("mean", 1, 5): Fraction(1)}, Use(None, True, 1), False),
        ({("count", 1): Fraction(2), ("1",): Fraction(3)}, Use(None, True, 1), True),
        ({("count", 1): Fraction(2), ("1",): Fraction(1, 2)}, Use(None, True, 1), False),
        ({("count", 1): Fraction(2), ("1",): Fraction(3)}, Use("past", True, 1), False),
        ({("bit", 4): Fraction(2)}, Use(None, True, 1, Fraction(1, 2)), False),
        ({("bit", 4): Fraction(2), ("mean", 1, 5): Fraction(0)}, Use(None, True, 1), True),
    ],
)
def test_what_is_rounded_is_a_whole_number(exact: Linear, use: Use, whole: bool) -> None:
    """Half a whole number would be rounded by what the format happens to do."""
    assert is_whole(exact, use) == whole


def test_every_numeric_output_is_read_once() -> None:
    """Of two uses the worse one counts: none may hide behind the other."""
    program = program_of()
    t = lower(program, "unbounded")
    once = [(name, PLAIN) for name in t.outputs]
    for uses in (once[:-1], [*once, ("mean", Use("past", True, 1))], [*once, ("x", PLAIN)]):
        (reason,) = certify_program(t, program, LENGTH, uses).void
        assert reason == "the numeric outputs are not each read once"
    rounded = [(name, Use(None, name == "chosen", 1)) for name in t.outputs]
    (reason,) = certify_program(t, program, LENGTH, rounded).void
    assert reason == "the numeric output 'chosen' is rounded, and is no whole number"


def test_no_longer_than_its_parts_are_made_for() -> None:
    """Whoever says that a program serves longer words has not made it for them."""
    program = program_of()
    t = lower(program, "unbounded")
    lengths = certify_program(t, program, 10**6, [(name, PLAIN) for name in t.outputs]).max_length
    assert lengths["float64"] == LENGTH
