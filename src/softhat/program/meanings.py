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

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula, Term
from softhat.program import heads
from softhat.program.gates import And, Table, Xor
from softhat.program.inputs import Input, PositionAtLeast
from softhat.program.literals import Literal
from softhat.program.read_back import COUNTS, beside, of_input
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
        counts = _counted("past", ((a, self.formula(Literal(at, True))) for a, at in terms))
        return None if counts is None else added(counts, constant)

    def conjunction(self, literals: Iterable[Literal]) -> Formula | None:
        """That all literals hold."""
        return _conjunction(map(self.formula, literals))


def meanings(program: Program) -> Meanings:
    """What each signal says."""
    return _MeaningReading(program).run()


def negation(formula: Formula) -> Formula:
    """`!f` without a double negation, and pushed into a comparison."""
    match formula:
        case nodes.Not(operand):
            return operand
        case nodes.Comparison(left, ">=", right):
            return nodes.Comparison(left, "<", right)
        case nodes.Comparison(left, "<", right):
            return nodes.Comparison(left, ">=", right)
        case nodes.Once(operand):
            return nodes.Historically(negation(operand))
        case nodes.Eventually(operand):
            return nodes.Always(negation(operand))
        case nodes.Constant(value):
            return FALSE if value else TRUE
    return nodes.Not(formula)


class _MeaningReading:
    """Reads the signals in order: what a signal says is made of what earlier ones say."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.read: list[SignalMeaning] = []
        self.size: list[int] = []
        self.definitions: list[str] = []
        self.short: dict[int, Formula] = {}
        """Signals with long formulas, by the names that stand for them."""
        self.taken = set(program.symbols)

    def run(self) -> Meanings:
        for at, signal in enumerate(self.program.signals):
            if isinstance(signal, heads.Average):
                term = self.sum(signal)
                self.read.append(SignalMeaning(term=term, over=_SIZES[signal.range]))
            else:
                self.read.append(SignalMeaning(formula=self.formula(signal)))
            self.size.append(1 + sum(self.used_size(source) for source in reads(signal)))
            self.name(at)
        return Meanings(tuple(self.read), tuple(self.definitions))

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

    def literal(self, literal: Literal) -> Formula | None:
        if literal.signal < 0:
            return TRUE if literal.positive else FALSE
        formula = self.short.get(literal.signal, self.read[literal.signal].formula)
        if formula is None or literal.positive:
            return formula
        signal = self.program.signals[literal.signal]
        match signal:
            case And(literals) if literal.signal not in self.short:
                if not any(inner.positive for inner in literals):
                    return _disjunction(self.literal(~inner) for inner in literals)
        return negation(formula)

    def conjunction(self, literals: Iterable[Literal]) -> Formula | None:
        return _conjunction(map(self.literal, literals))

    def formula(self, signal: Signal) -> Formula | None:
        match signal:
            case PositionAtLeast(coefficient, threshold):
                return _at_least([(coefficient, nodes.position)], threshold)
            case _ if isinstance(signal, Input):
                return of_input(signal)
            case And(literals):
                return self.conjunction(literals)
            case Table(terms):
                return _disjunction(self.conjunction(term) for term in terms)
            case Xor(left, right):
                f, g = self.literal(Literal(left, True)), self.literal(Literal(right, True))
                return None if f is None or g is None else nodes.Xor(f, g)
            case heads.Latest(bad, value, direction):
                return self.latest(bad, value, direction)
            case heads.StrictLatest(bad, value, direction):
                return _beside(self.latest(bad, value, direction), direction)
            case heads.Previous(value, direction):
                return _beside(self.literal(value), direction)
            case heads.Shift(value, distance, direction):
                shifted = self.literal(value)
                for _ in range(distance):
                    shifted = _beside(shifted, direction)
                return shifted
            case heads.Recall(bad, queries, keys, value):
                return self.recall(bad, queries, keys, value)
            case heads.Sign():
                return self.comparison(signal)
        return None

    def latest(self, bad: Literal, value: Literal, direction: str) -> Formula | None:
        """`bad S value`: value implies not bad, so "and not value" is left out of bad."""
        past = direction == "past"
        right = self.literal(value)
        if right is None:
            return None
        if bad == ~value:
            return nodes.Once(right) if past else nodes.Eventually(right)
        signal = self.program.signals[bad.signal] if bad.signal >= 0 and bad.positive else None
        if isinstance(signal, And) and ~value in signal.literals:
            left = self.conjunction(literal for literal in signal.literals if literal != ~value)
        else:
            left = self.literal(bad)
        if left is None:
            return None
        return nodes.Since(left, right) if past else nodes.Until(left, right)

    def recall(
        self,
        bad: Literal,
        queries: tuple[Literal, ...],
        keys: tuple[Literal, ...],
        value: Literal,
    ) -> Formula | None:
        """`last[value | bad = false, key = query, …]`: value at the last j without bad whose keys
        are the queries here."""
        parts = _known(map(self.literal, (value, bad, *keys, *queries)))
        if parts is None:
            return None
        answer, ruled, *codes = parts
        digits = list(zip(codes[: len(keys)], codes[len(keys) :], strict=True))
        return nodes.recall(answer, *([] if ruled == FALSE else [(ruled, FALSE)]), *digits)

    def counted(self, average: heads.Average) -> list[tuple[int, Term]] | None:
        terms = ((a, self.literal(Literal(source, True))) for a, source in average.terms)
        return _counted(average.range, terms)

    def sum(self, average: heads.Average) -> Term | None:
        terms = self.counted(average)
        return None if terms is None else added(terms)

    def comparison(self, sign: heads.Sign) -> Formula | None:
        terms: list[tuple[int, Term]] = []
        for at in sign.averages:
            average = self.program.signals[at]
            assert isinstance(average, heads.Average)
            counted = self.counted(average)
            if counted is None:
                return None
            terms += counted
        terms += [(sign.position, nodes.position), (sign.length, nodes.length)]
        return _at_least(terms, sign.threshold)


def added(terms: Iterable[tuple[int, Term]], constant: int = 0) -> Term:
    """Σ a·t + constant, without what is 0."""
    result: Term | None = None
    for a, term in terms:
        size = term if abs(a) == 1 else nodes.Scale(abs(a), term)
        if not a:
            continue
        if result is None:
            result = size if a > 0 else nodes.Scale(a, term)
        else:
            result = nodes.Sum(result, size) if a > 0 else nodes.Difference(result, size)
    if result is None:
        return nodes.Integer(constant)
    if not constant:
        return result
    last = nodes.Integer(abs(constant))
    return nodes.Sum(result, last) if constant > 0 else nodes.Difference(result, last)


def _at_least(terms: Iterable[tuple[int, Term]], threshold: int) -> Formula:
    """Σ a·t >= threshold, with what is subtracted on the right."""
    terms = list(terms)
    left = added([(a, t) for a, t in terms if a > 0], max(0, -threshold))
    right = added([(-a, t) for a, t in terms if a < 0], max(0, threshold))
    return nodes.Comparison(left, ">=", right)


def _known(formulas: Iterable[Formula | None]) -> list[Formula] | None:
    """The formulas, if none is missing: what is made of a signal that no formula expresses has no
    formula either."""
    known = []
    for formula in formulas:
        if formula is None:
            return None
        known.append(formula)
    return known


def _conjunction(formulas: Iterable[Formula | None]) -> Formula | None:
    known = _known(formulas)
    return None if known is None else nodes.all_of(known)


def _disjunction(formulas: Iterable[Formula | None]) -> Formula | None:
    known = _known(formulas)
    return None if known is None else nodes.any_of(known)


def _counted(
    over: heads.Range, terms: Iterable[tuple[int, Formula | None]]
) -> list[tuple[int, Term]] | None:
    """Coefficients and how often formulas hold in a range, if all are known."""
    counts: list[tuple[int, Term]] = []
    for a, formula in terms:
        if formula is None:
            return None
        counts.append((a, _count(over, formula)))
    return counts


def _count(over: heads.Range, formula: Formula) -> Term:
    if formula is TRUE and over == "past":
        return nodes.position
    if formula is TRUE and over == "total":
        return nodes.length
    return COUNTS[over](formula)


def _beside(formula: Formula | None, direction: str) -> Formula | None:
    return None if formula is None else beside(formula, direction)
