"""An attention program as formulas: what its heads and gates say, read straight from their meaning.

So that the question whether a program computes a formula is one about two formulas, which
`softhat.logic.decide` answers for every length. Nothing of `build` is used.
"""

from __future__ import annotations

from collections.abc import Iterable

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula, Term
from softhat.program import inputs
from softhat.program.gates import And, Table, Xor
from softhat.program.heads import Average, Latest, Previous, Recall, Shift, Sign, StrictLatest
from softhat.program.inputs import Input
from softhat.program.literals import Literal
from softhat.program.signals import Program, Signal

COUNTS = {"past": nodes.Count, "future": nodes.CountFuture, "total": nodes.CountAll}


def read_back(program: Program) -> dict[str, Formula] | None:
    """A formula for each output; None where a head says what no formula does."""
    formulas: list[Formula | None] = []
    for signal in program.signals:
        if isinstance(signal, Average):
            formulas.append(None)  # its Sign reads it
            continue
        formula = _formula(program, signal, formulas)
        if formula is None:
            return None
        formulas.append(formula)
    return {name: _literal(literal, formulas) for name, literal in program.outputs}


def of_input(signal: Input) -> Formula | None:
    """What a position knows of itself; None for a binary digit of its number."""
    match signal:
        case inputs.TokenIn(symbols):
            return nodes.any_of(map(nodes.Symbol, symbols))
        case inputs.FirstPosition():
            return nodes.FIRST
        case inputs.LastPosition():
            return nodes.LAST
        case inputs.PositionMod(modulus, remainder):
            return nodes.Mod(modulus, remainder)
        case inputs.PositionIn(predicate):
            return nodes.At(predicate)
        case inputs.PositionAtLeast(coefficient, threshold):
            return nodes.Comparison(coefficient * nodes.position, ">=", nodes.Integer(threshold))
        case inputs.PositionBit():
            return None


def _literal(literal: Literal, formulas: list[Formula | None]) -> Formula:
    if literal.signal < 0:
        return TRUE if literal.positive else FALSE
    formula = formulas[literal.signal]
    assert formula is not None, "an average is no literal"
    return formula if literal.positive else nodes.Not(formula)


def _formula(program: Program, signal: Signal, formulas: list[Formula | None]) -> Formula | None:
    if isinstance(signal, Input):
        return of_input(signal)
    match signal:
        case And(literals):
            return _conjunction(literals, formulas)
        case Table(terms):
            rows = (_conjunction(term, formulas) for term in terms)
            return nodes.any_of(rows)
        case Xor(left, right):
            return nodes.Xor(
                _literal(Literal(left, True), formulas), _literal(Literal(right, True), formulas)
            )
        case Latest(bad, value, direction):
            return _latest(_literal(bad, formulas), _literal(value, formulas), direction)
        case StrictLatest(bad, value, direction):
            return beside(
                _latest(_literal(bad, formulas), _literal(value, formulas), direction), direction
            )
        case Previous(value, direction):
            return beside(_literal(value, formulas), direction)
        case Shift(value, distance, direction):
            shifted = _literal(value, formulas)
            for _ in range(distance):
                shifted = beside(shifted, direction)
            return shifted
        case Recall(bad, queries, keys, value):
            digits = [
                (_literal(key, formulas), _literal(query, formulas))
                for key, query in zip(keys, queries, strict=True)
            ]
            return nodes.recall(
                _literal(value, formulas), (_literal(bad, formulas), FALSE), *digits
            )
        case Sign():
            return _sign(program, signal, formulas)
    return None


def _conjunction(literals: Iterable[Literal], formulas: list[Formula | None]) -> Formula:
    return nodes.all_of(_literal(literal, formulas) for literal in literals)


def _latest(bad: Formula, value: Formula, direction: str) -> Formula:
    """Back over positions with `bad` to the first without, and its value."""
    here = nodes.And(nodes.Not(bad), value)
    return nodes.Since(bad, here) if direction == "past" else nodes.Until(bad, here)


def beside(formula: Formula, direction: str) -> Formula:
    """That the formula holds one position before (after, for the future)."""
    return nodes.Yesterday(formula) if direction == "past" else nodes.Tomorrow(formula)


def _sign(program: Program, sign: Sign, formulas: list[Formula | None]) -> Formula:
    total: Term = nodes.Sum(sign.position * nodes.position, sign.length * nodes.length)
    for at in sign.averages:
        average = program.signals[at]
        assert isinstance(average, Average)
        for a, read in average.terms:
            counted = _literal(Literal(read, True), formulas)
            total = nodes.Sum(total, a * COUNTS[average.range](counted))
    return total >= sign.threshold
