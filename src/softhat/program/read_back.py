"""An attention program as formulas: what its heads and gates say, read straight from their meaning.

So that the question whether a program computes a formula is one about two formulas, which
`softhat.logic.decide` answers for every length. Nothing of `build` is used.
"""

from __future__ import annotations

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula, Term
from softhat.program.gates import And, Table, Xor
from softhat.program.heads import Average, Latest, Previous, Recall, Shift, Sign, StrictLatest
from softhat.program.inputs import (
    FirstPosition,
    LastPosition,
    PositionAtLeast,
    PositionIn,
    PositionMod,
    TokenIn,
)
from softhat.program.literals import Literal
from softhat.program.signals import Program, Signal


def read_back(program: Program) -> dict[str, Formula] | None:
    """A formula for each output; None where a head says what no formula does."""
    made: list[Formula | None] = []
    for signal in program.signals:
        if isinstance(signal, Average):
            made.append(None)  # its Sign reads it
            continue
        formula = _formula(program, signal, made)
        if formula is None:
            return None
        made.append(formula)
    return {name: _literal(literal, made) for name, literal in program.outputs}


def _literal(literal: Literal, made: list[Formula | None]) -> Formula:
    if literal.signal < 0:
        return TRUE if literal.positive else FALSE
    formula = made[literal.signal]
    assert formula is not None, "an average is no literal"
    return formula if literal.positive else nodes.Not(formula)


def _formula(program: Program, signal: Signal, made: list[Formula | None]) -> Formula | None:
    match signal:
        case TokenIn(symbols):
            one: Formula = FALSE
            for symbol in symbols:
                one = nodes.Or(one, nodes.Symbol(symbol))
            return one
        case FirstPosition():
            return nodes.FIRST
        case LastPosition():
            return nodes.LAST
        case PositionMod(modulus, remainder):
            return nodes.Mod(modulus, remainder)
        case PositionIn(predicate):
            return nodes.At(predicate)
        case PositionAtLeast(coefficient, threshold):
            return coefficient * nodes.position >= threshold
        case And(literals):
            every: Formula = TRUE
            for literal in literals:
                every = nodes.And(every, _literal(literal, made))
            return every
        case Table(terms):
            some: Formula = FALSE
            for term in terms:
                row: Formula = TRUE
                for literal in term:
                    row = nodes.And(row, _literal(literal, made))
                some = nodes.Or(some, row)
            return some
        case Xor(left, right):
            return nodes.Xor(
                _literal(Literal(left, True), made), _literal(Literal(right, True), made)
            )
        case Latest(bad, value, direction):
            return _latest(_literal(bad, made), _literal(value, made), direction)
        case StrictLatest(bad, value, direction):
            return _beside(
                _latest(_literal(bad, made), _literal(value, made), direction), direction
            )
        case Previous(value, direction):
            return _beside(_literal(value, made), direction)
        case Shift(value, distance, direction):
            shifted = _literal(value, made)
            for _ in range(distance):
                shifted = _beside(shifted, direction)
            return shifted
        case Recall(bad, queries, keys, value):
            digits = [
                (_literal(key, made), _literal(query, made))
                for key, query in zip(keys, queries, strict=True)
            ]
            return nodes.recall(_literal(value, made), (_literal(bad, made), FALSE), *digits)
        case Sign():
            return _sign(program, signal, made)
    return None


def _latest(bad: Formula, value: Formula, direction: str) -> Formula:
    """Back over positions with `bad` to the first without, and its value."""
    here = nodes.And(nodes.Not(bad), value)
    return nodes.Since(bad, here) if direction == "past" else nodes.Until(bad, here)


def _beside(formula: Formula, direction: str) -> Formula:
    return nodes.Yesterday(formula) if direction == "past" else nodes.Tomorrow(formula)


_COUNTS = {"past": nodes.Count, "future": nodes.CountFuture, "total": nodes.CountAll}


def _sign(program: Program, sign: Sign, made: list[Formula | None]) -> Formula:
    total: Term = nodes.Sum(sign.position * nodes.position, sign.length * nodes.length)
    for at in sign.averages:
        average = program.signals[at]
        assert isinstance(average, Average)
        for a, read in average.terms:
            counted = _literal(Literal(read, True), made)
            total = nodes.Sum(total, a * _COUNTS[average.range](counted))
    return total >= sign.threshold
