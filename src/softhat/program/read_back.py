"""An attention program as formulas: what its heads and gates say, read straight from their meaning.

So that the question whether a program computes a formula is one about two formulas, which
`softhat.logic.decide` answers for every length. Nothing of `build` is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula, Term
from softhat.program import heads, inputs
from softhat.program.gates import And, Steps, Table, Total, Xor
from softhat.program.inputs import Input
from softhat.program.literals import Literal
from softhat.program.selections import Selection, coded, digit, some, stepped
from softhat.program.signals import Program, Signal

COUNTS = {"past": nodes.Count, "future": nodes.CountFuture, "total": nodes.CountAll}


class UnsaidError(Exception):
    """No formula says what a signal does."""


class SignalReading:
    """What a signal says, made of what earlier ones say (`literal`)."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def literal(self, literal: Literal) -> Formula:
        """What an earlier signal or its negation says."""
        raise NotImplementedError

    def formula(self, signal: Signal) -> Formula:
        match signal:
            case _ if isinstance(signal, Input):
                return of_input(signal)
            case And(literals):
                return self.conjunction(literals)
            case Table(terms):
                return nodes.any_of(map(self.conjunction, terms))
            case Xor(left, right):
                return nodes.Xor(*(self.literal(Literal(at, True)) for at in (left, right)))
            case heads.Latest(bad, value, direction):
                return self.latest(bad, value, direction)
            case heads.StrictLatest(bad, value, direction):
                return beside(self.latest(bad, value, direction), direction)
            case heads.Previous(value, direction):
                return beside(self.literal(value), direction)
            case heads.Shift(value, distance, direction):
                shifted = self.literal(value)
                for _ in range(distance):
                    shifted = beside(shifted, direction)
                return shifted
            case heads.Recall(bad, queries, keys, value):
                never = Literal(-1, False)
                ruled_out = [] if bad == never else [(self.literal(bad), FALSE)]
                return nodes.recall(self.literal(value), *ruled_out, *self.digits(keys, queries))
            case heads.Sign():
                return self.comparison(signal)
        raise UnsaidError

    def conjunction(self, literals: Iterable[Literal]) -> Formula:
        return nodes.all_of(map(self.literal, literals))

    def digits(
        self, keys: tuple[Literal, ...], queries: tuple[Literal, ...]
    ) -> list[tuple[Formula, Formula]]:
        pairs = zip(keys, queries, strict=True)
        return [(self.literal(key), self.literal(query)) for key, query in pairs]

    def latest(self, bad: Literal, value: Literal, direction: str) -> Formula:
        """Back over positions with `bad` to the first without, and its value."""
        over = self.literal(bad)
        here = nodes.And(nodes.Not(over), self.literal(value))
        return nodes.Since(over, here) if direction == "past" else nodes.Until(over, here)

    def averages(self, sign: heads.Sign) -> Iterator[heads.Average]:
        """The means whose sums are compared."""
        for at in sign.averages:
            average = self.program.signals[at]
            assert isinstance(average, heads.Average)
            yield average

    def comparison(self, sign: heads.Sign) -> Formula:
        total: Term = nodes.Integer(0)
        for a, size in ((sign.position, nodes.position), (sign.length, nodes.length)):
            if a:  # who does not look at the length is a decoder
                total = nodes.Sum(total, a * size)
        for average in self.averages(sign):
            for a, read in average.terms:
                counted = self.literal(Literal(read, True))
                total = nodes.Sum(total, a * COUNTS[average.range](counted))
        return total >= sign.threshold


def read_back(program: Program) -> dict[str, Formula] | None:
    """A formula for each output; None where a head says what no formula does."""
    reading = _WholeReading(program)
    if len(reading.formulas) < len(program.signals):
        return None
    return {name: reading.literal(literal) for name, literal in program.outputs}


def unsaid(program: Program) -> str | None:
    """The first signal that no formula says, by its kind and label; None if there is none."""
    at = len(_WholeReading(program).formulas)
    if at == len(program.signals):
        return None
    return f"{type(program.signals[at]).__name__} ({program.labels[at]})"


class _WholeReading(SignalReading):
    """What each signal says, up to the first that no formula says; None for numbers, which others
    read. Digits, selections and counts of them are said too, however long that is."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.formulas: list[Formula | None] = []
        for signal in program.signals:
            is_number = isinstance(signal, heads.Average | heads.Width | Total)
            try:
                self.formulas.append(None if is_number else self.formula(signal))
            except UnsaidError:
                break

    def literal(self, literal: Literal) -> Formula:
        if literal.signal < 0:
            return TRUE if literal.positive else FALSE
        formula = self.formulas[literal.signal]
        assert formula is not None, "an average is no literal"
        return formula if literal.positive else nodes.Not(formula)

    def formula(self, signal: Signal) -> Formula:
        match signal:
            case inputs.PositionBit():
                return _said(digit(signal))
            case heads.Match(selector, value):
                return some(self.selection(selector), self.literal(value))
            case heads.At(queries, keys, value, mask):
                return _said(coded(self.digits(keys, queries), self.literal(value), mask))
            case Steps(count, turns):
                return self.steps(count, turns)
        return super().formula(signal)

    def selection(self, selector: heads.Selector) -> Selection:
        return Selection(
            tuple(map(self.literal, selector.queries)),
            tuple(map(self.literal, selector.keys)),
            selector.table,
            selector.mask,
            self.are_tokens(selector.queries),
        )

    def are_tokens(self, literals: Iterable[Literal]) -> bool:
        """Are these different symbols, of which a position has one?"""
        seen: list[str] = []
        for literal in literals:
            signal = self.program.signals[literal.signal] if literal.signal >= 0 else None
            if not isinstance(signal, inputs.TokenIn) or not literal.positive:
                return False
            seen += signal.symbols
        return len(set(seen)) == len(seen) and not self.program.propositional

    def steps(self, count: int, turns: tuple[int, ...]) -> Formula:
        """A bit of a count, or of a sum of counts."""
        signal = self.program.signals[count]
        terms = signal.terms if isinstance(signal, Total) else ((1, count),)
        counted = []
        for a, at in terms:
            width = self.program.signals[at]
            if not isinstance(width, heads.Width):
                raise UnsaidError
            counted.append((a, self.selection(width.selector)))
        return _said(stepped(counted, turns))


def of_input(signal: Input) -> Formula:
    """What a position knows of itself, unless that is a binary digit of its number."""
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
            raise UnsaidError


def beside(formula: Formula, direction: str) -> Formula:
    """That the formula holds one position before (after, for the future)."""
    return nodes.Yesterday(formula) if direction == "past" else nodes.Tomorrow(formula)


def _said(formula: Formula | None) -> Formula:
    if formula is None:
        raise UnsaidError
    return formula
