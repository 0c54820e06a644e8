"""An attention program as formulas: what its heads and gates say, read straight from their meaning.

So that the question whether a program computes a formula is one about two formulas, which
`softhat.logic.decide` answers for every length. Nothing of `build` is used.
"""

from __future__ import annotations

from collections.abc import Iterable

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula, Term
from softhat.program import heads, inputs
from softhat.program.gates import And, Steps, Table, Total, Xor
from softhat.program.inputs import Input
from softhat.program.literals import Literal
from softhat.program.selections import Selection, coded, digit, some, stepped
from softhat.program.signals import Program, Signal

COUNTS = {"past": nodes.Count, "future": nodes.CountFuture, "total": nodes.CountAll}


def read_back(program: Program) -> dict[str, Formula] | None:
    """A formula for each output; None where a head says what no formula does."""
    formulas = _formulas(program)
    if len(formulas) < len(program.signals):
        return None
    return {name: _literal(literal, formulas) for name, literal in program.outputs}


def unsaid(program: Program) -> str | None:
    """The first signal that no formula says, by its kind and label; None if there is none."""
    at = len(_formulas(program))
    if at == len(program.signals):
        return None
    return f"{type(program.signals[at]).__name__} ({program.labels[at]})"


def _formulas(program: Program) -> list[Formula | None]:
    """What each signal says, up to the first that no formula says; None for numbers, which others
    read."""
    formulas: list[Formula | None] = []
    for signal in program.signals:
        formula = None
        if not isinstance(signal, heads.Average | heads.Width | Total):
            formula = _formula(program, signal, formulas)
            if formula is None:
                break
        formulas.append(formula)
    return formulas


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
    if isinstance(signal, inputs.PositionBit):
        return digit(signal)
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
        case heads.Latest(bad, value, direction):
            return _latest(_literal(bad, formulas), _literal(value, formulas), direction)
        case heads.StrictLatest(bad, value, direction):
            return beside(
                _latest(_literal(bad, formulas), _literal(value, formulas), direction), direction
            )
        case heads.Previous(value, direction):
            return beside(_literal(value, formulas), direction)
        case heads.Shift(value, distance, direction):
            shifted = _literal(value, formulas)
            for _ in range(distance):
                shifted = beside(shifted, direction)
            return shifted
        case heads.Recall(bad, queries, keys, value):
            digits = [
                (_literal(key, formulas), _literal(query, formulas))
                for key, query in zip(keys, queries, strict=True)
            ]
            return nodes.recall(
                _literal(value, formulas), (_literal(bad, formulas), FALSE), *digits
            )
        case heads.Sign():
            return _sign(program, signal, formulas)
        case heads.Match(selector, value):
            return some(_selection(program, selector, formulas), _literal(value, formulas))
        case heads.At(queries, keys, value, mask):
            digits = [
                (_literal(key, formulas), _literal(query, formulas))
                for key, query in zip(keys, queries, strict=True)
            ]
            return coded(digits, _literal(value, formulas), mask)
        case Steps(count, turns):
            return _steps(program, count, turns, formulas)
    return None


def _selection(
    program: Program, selector: heads.Selector, formulas: list[Formula | None]
) -> Selection:
    return Selection(
        tuple(_literal(query, formulas) for query in selector.queries),
        tuple(_literal(key, formulas) for key in selector.keys),
        selector.table,
        selector.mask,
        _are_tokens(program, selector.queries),
    )


def _are_tokens(program: Program, literals: Iterable[Literal]) -> bool:
    """Are these different symbols, of which a position has one?"""
    seen: list[str] = []
    for literal in literals:
        signal = program.signals[literal.signal] if literal.signal >= 0 else None
        if not isinstance(signal, inputs.TokenIn) or not literal.positive:
            return False
        seen += signal.symbols
    return len(set(seen)) == len(seen) and not program.propositional


def _steps(
    program: Program, count: int, turns: tuple[int, ...], formulas: list[Formula | None]
) -> Formula | None:
    """A bit of a count, or of a sum of counts."""
    signal = program.signals[count]
    terms = signal.terms if isinstance(signal, Total) else ((1, count),)
    counted = []
    for a, at in terms:
        width = program.signals[at]
        if not isinstance(width, heads.Width):
            return None
        counted.append((a, _selection(program, width.selector, formulas)))
    return stepped(counted, turns)


def _conjunction(literals: Iterable[Literal], formulas: list[Formula | None]) -> Formula:
    return nodes.all_of(_literal(literal, formulas) for literal in literals)


def _latest(bad: Formula, value: Formula, direction: str) -> Formula:
    """Back over positions with `bad` to the first without, and its value."""
    here = nodes.And(nodes.Not(bad), value)
    return nodes.Since(bad, here) if direction == "past" else nodes.Until(bad, here)


def beside(formula: Formula, direction: str) -> Formula:
    """That the formula holds one position before (after, for the future)."""
    return nodes.Yesterday(formula) if direction == "past" else nodes.Tomorrow(formula)


def _sign(program: Program, sign: heads.Sign, formulas: list[Formula | None]) -> Formula:
    total: Term = nodes.Integer(0)
    for a, size in ((sign.position, nodes.position), (sign.length, nodes.length)):
        if a:  # who does not look at the length is a decoder
            total = nodes.Sum(total, a * size)
    for at in sign.averages:
        average = program.signals[at]
        assert isinstance(average, heads.Average)
        for a, read in average.terms:
            counted = _literal(Literal(read, True), formulas)
            total = nodes.Sum(total, a * COUNTS[average.range](counted))
    return total >= sign.threshold
