"""Signals: what reads what, and the same program with its signals renumbered."""

from __future__ import annotations

from fractions import Fraction

from softhat.program.build import build
from softhat.program.literals import FALSE, TRUE, Literal
from softhat.program.signals import Number, Program, moved, needed_by, reads
from tests.transformer.lowering.suite import formulas


def test_moving_signals_moves_what_they_read() -> None:
    """For every kind that formulas compile to: two places further, and back."""
    for formula in formulas()[::5]:
        program = build({"out": formula}, ("a", "b"), False)
        up = {-1: -1, **{at: at + 2 for at in range(len(program.signals))}}
        down = {to: at for at, to in up.items()}
        for signal in program.signals:
            further = moved(signal, up)
            assert [r for r in reads(further) if r >= 0] == [r + 2 for r in reads(signal) if r >= 0]
            assert moved(further, down) == signal


def test_needed_by_is_what_can_be_reached() -> None:
    for formula in formulas()[::7]:
        program = build({"x": formula, "y": ~formula, "z": formula}, ("a", "b"), False)
        for names in (["x"], ["y", "z"], []):
            reached: set[int] = set()
            todo = [literal.signal for name, literal in program.outputs if name in names]
            while todo:
                at = todo.pop()
                if at >= 0 and at not in reached:
                    reached.add(at)
                    todo += reads(program.signals[at])
            assert needed_by(program, names) == reached


def test_labels_of_literals() -> None:
    program = Program((), ("a", "Y b"), (), ("a", "b"), False)
    assert [program.label(x) for x in (TRUE, FALSE)] == ["true", "false"]
    assert program.label(Literal(0, True)) == "a" and program.label(Literal(0, False)) == "!a"
    assert program.label(Literal(1, False)) == "!(Y b)"
    number = Number(((Fraction(1, 2), 3),), Fraction(4))
    assert number.moved({3: 5}) == Number(((Fraction(1, 2), 5),), Fraction(4))
    assert number.reads == (3,)
