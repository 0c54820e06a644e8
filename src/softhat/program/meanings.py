"""What every signal of a program says, as formulas that can be printed, parsed and evaluated.

Like `read_back`, from the signals alone, but in the shortest form that says it: `O g` and `f S g`
instead of walks over bad positions, comparisons instead of signs. A signal that no formula
expresses (selectors of RASP programs) has none.

Formulas share subformulas, and a large program's would repeat them without end. So a formula of
more than `LONG` nodes is named, and those that use it use its name; `definitions` spells the names
in the language's own syntax (`x1 := a S b`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from softhat.logic.connectives import negation as plain_negation
from softhat.logic.linear import measure, plus
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula, Term
from softhat.program import heads
from softhat.program.gates import And
from softhat.program.inputs import PositionAtLeast
from softhat.program.literals import Literal
from softhat.program.read_back import COUNTS, SignalReading, UnsaidError
from softhat.program.signals import Program, Signal, reads

LONG = 1_000
"""Nodes of a formula that is spelled out wherever it is used."""
_SIZES: dict[heads.Range, Term] = {
    "past": nodes.Sum(nodes.position, nodes.Integer(1)),
    "future": nodes.Difference(nodes.Sum(nodes.length, nodes.Integer(2)), nodes.position),
    "total": nodes.Sum(nodes.length, nodes.Integer(2)),
}


@dataclass(frozen=True, slots=True)
class SignalMeaning:
    """A bit is where `formula` holds. A mean is `term` divided by `over`, and has no formula."""

    formula: Formula | None = None
    term: Term | None = None
    over: Term | None = None


@dataclass(frozen=True, slots=True)
class Meanings:
    """What the signals of a program say, in their order, and the definitions of long formulas."""

    of: tuple[SignalMeaning, ...]
    definitions: tuple[str, ...]

    def formula(self, literal: Literal) -> Formula | None:
        """What a signal or its negation says; None if no formula does."""
        if literal.signal < 0:
            return TRUE if literal.positive else FALSE
        formula = self.of[literal.signal].formula
        return formula if formula is None or literal.positive else negation(formula)

    def total(self, terms: Iterable[tuple[int, int]], constant: int) -> Term | None:
        """Σ a·(how often signal a held so far) + constant; signal -1 is true."""
        counts = []
        for a, at in terms:
            formula = self.formula(Literal(at, True))
            if formula is None:
                return None
            counts.append((a, measure(nodes.Count, formula)))
        return added(counts, constant)

    def conjunction(self, literals: Iterable[Literal]) -> Formula | None:
        """That all literals hold."""
        formulas = [self.formula(literal) for literal in literals]
        known = [formula for formula in formulas if formula is not None]
        return nodes.all_of(known) if len(known) == len(formulas) else None


def meanings(program: Program) -> Meanings:
    """What each signal says."""
    return _MeaningReading(program).run()


def negation(formula: Formula) -> Formula:
    """`!f` without a double negation, and pushed into a comparison."""
    match formula:
        case nodes.Comparison(left, ">=", right):
            return nodes.Comparison(left, "<", right)
        case nodes.Comparison(left, "<", right):
            return nodes.Comparison(left, ">=", right)
        case nodes.Once(operand):
            return nodes.Historically(negation(operand))
        case nodes.Eventually(operand):
            return nodes.Always(negation(operand))
    return plain_negation(formula)


class _MeaningReading(SignalReading):
    """Reads the signals in order, each in the shortest form that says it."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.read: list[SignalMeaning] = []
        self.size: list[int] = []
        self.definitions: list[str] = []
        self.short: dict[int, Formula] = {}
        """Signals with long formulas, by the names that stand for them."""
        self.taken = set(program.symbols)

    def run(self) -> Meanings:
        for at, signal in enumerate(self.program.signals):
            self.read.append(self.meaning(signal))
            self.size.append(1 + sum(self.used_size(source) for source in reads(signal)))
            self.name(at)
        return Meanings(tuple(self.read), tuple(self.definitions))

    def meaning(self, signal: Signal) -> SignalMeaning:
        try:
            if isinstance(signal, heads.Average):
                return SignalMeaning(term=added(self.counted(signal)), over=_SIZES[signal.range])
            return SignalMeaning(formula=self.formula(signal))
        except UnsaidError:
            return SignalMeaning()

    def used_size(self, at: int) -> int:
        return 1 if at in self.short else self.size[at]

    def name(self, at: int) -> None:
        """Give a long formula a name for those that follow."""
        formula = self.read[at].formula
        if formula is None or self.size[at] <= LONG:
            return
        number = len(self.definitions) + 1
        while f"x{number}" in self.taken:
            number += 1
        self.taken.add(f"x{number}")
        self.definitions.append(f"x{number} := {formula}")
        self.short[at] = nodes.Symbol(f"x{number}")

    def literal(self, literal: Literal) -> Formula:
        if literal.signal < 0:
            return TRUE if literal.positive else FALSE
        formula = self.short.get(literal.signal, self.read[literal.signal].formula)
        if formula is None:
            raise UnsaidError
        if literal.positive:
            return formula
        signal = self.program.signals[literal.signal]
        match signal:
            case And(literals) if literal.signal not in self.short:
                if not any(inner.positive for inner in literals):
                    return nodes.any_of([self.literal(~inner) for inner in literals])
        return negation(formula)

    def formula(self, signal: Signal) -> Formula:
        match signal:
            case PositionAtLeast(coefficient, threshold):
                return _at_least([(coefficient, nodes.position)], threshold)
        return super().formula(signal)

    def latest(self, bad: Literal, value: Literal, direction: str) -> Formula:
        """`bad S value`: value implies not bad, so "and not value" is left out of bad."""
        past = direction == "past"
        right = self.literal(value)
        if bad == ~value:
            return nodes.Once(right) if past else nodes.Eventually(right)
        signal = self.program.signals[bad.signal] if bad.signal >= 0 and bad.positive else None
        if isinstance(signal, And) and ~value in signal.literals:
            left = self.conjunction(literal for literal in signal.literals if literal != ~value)
        else:
            left = self.literal(bad)
        return nodes.Since(left, right) if past else nodes.Until(left, right)

    def counted(self, average: heads.Average) -> list[tuple[int, Term]]:
        """What is averaged: coefficients, and how often formulas hold in the range."""
        return [
            (a, measure(COUNTS[average.range], self.literal(Literal(source, True))))
            for a, source in average.terms
        ]

    def comparison(self, sign: heads.Sign) -> Formula:
        terms = [term for average in self.averages(sign) for term in self.counted(average)]
        terms += [(sign.position, nodes.position), (sign.length, nodes.length)]
        return _at_least(terms, sign.threshold)


def added(terms: Iterable[tuple[int, Term]], constant: int = 0) -> Term:
    """Σ a·t + constant, without what is 0."""
    result: Term | None = None
    for a, term in terms:
        result = plus(result, a, term) if a else result
    if result is None:
        return nodes.Integer(constant)
    if not constant:
        return result
    return plus(result, 1 if constant > 0 else -1, nodes.Integer(abs(constant)))


def _at_least(terms: Iterable[tuple[int, Term]], threshold: int) -> Formula:
    """Σ a·t >= threshold, with what is subtracted on the right."""
    terms = list(terms)
    left = added([(a, t) for a, t in terms if a > 0], max(0, -threshold))
    right = added([(-a, t) for a, t in terms if a < 0], max(0, threshold))
    return nodes.Comparison(left, ">=", right)
