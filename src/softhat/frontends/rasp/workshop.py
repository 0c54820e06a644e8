"""What every step of the RASP compiler needs: the program being drafted, and comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from softhat.frontends.rasp.expressions import RASPExpr
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.values import (
    Categories,
    Counted,
    CountForm,
    Quantity,
    QuotientCase,
    tagged,
)
from softhat.io.errors import RaspError, SofthatError
from softhat.program.counting import at_least_zero
from softhat.program.draft import Draft
from softhat.program.gates import And, Steps, Total
from softhat.program.heads import Width
from softhat.program.inputs import PositionBit
from softhat.program.literals import FALSE, TRUE, Literal

MOST_ENTRIES = 100_000
"""Entries of a table, values of a category."""
MOST_CHANGES = 64
"""Places where a function of a ratio or a sum of counts may change its value."""
MOST_CASES = 256


class RaisesError(RaspError):
    """A program that raises on values that may occur: shown with a sequence on which it does."""


class ChangesOftenError(RaspError):
    """A function that changes its value at too many places to compare with each."""


class Workshop:
    """The draft of the program, for sequences up to `longest`."""

    def __init__(self, draft: Draft, longest: int, causal: bool) -> None:
        self.draft = draft
        self.longest = longest
        self.causal = causal
        self.at: RASPExpr | None = None
        """The expression that is being compiled, for messages and labels."""
        self.doubts: list[str] = []
        """Why the expression may raise, on values that may or may not occur."""
        self._known: list[set[Literal]] = []
        self._groups: dict[Literal, frozenset[int]] = {}
        self._whole: dict[int, int] = {}

    @property
    def name(self) -> str:
        return "program" if self.at is None else self.at.name

    def fault(self, message: str) -> RaspError:
        return RaspError(f"{self.name}: {message}")

    # Gates

    def both(self, *literals: Literal) -> Literal:
        joined = self.draft.conjunction(literals, f"{self.name}: and")
        if self._clash(dict.fromkeys(literals)) or self._clash(self._parts(joined)):
            return FALSE
        return joined

    def _clash(self, literals: Iterable[Literal]) -> bool:
        """Are two of them known never to hold together?"""
        seen: set[int] = set()
        for literal in literals:
            groups = self._groups.get(literal, frozenset())
            if seen & groups:
                return True
            seen |= groups
        return False

    def either(self, literals: Iterable[Literal]) -> Literal:
        wanted = list(dict.fromkeys(literals))
        counts: dict[int, int] = {}
        for literal in wanted:
            for group in self._groups.get(literal, frozenset()):
                counts[group] = counts.get(group, 0) + 1
                if counts[group] == self._whole.get(group):
                    return TRUE
        return self.draft.disjunction(wanted, f"{self.name}: or")

    def _parts(self, literal: Literal) -> tuple[Literal, ...]:
        """The literals of a conjunction."""
        signal = self.draft.signal(literal)
        return signal.literals if isinstance(signal, And) and literal.positive else (literal,)

    def _one_of(self, bits: Sequence[Literal], total: bool) -> None:
        """Remember that at most one of these holds (and with `total` always one)."""
        distinct = set(bits)
        if len(distinct) < 2 or len(distinct) < len(bits):
            return
        group = len(self._known)
        self._known.append(distinct)
        if total:
            self._whole[group] = len(distinct)
        for bit in distinct:
            self._groups[bit] = self._groups.get(bit, frozenset()) | {group}

    def draft_label(self, literal: Literal) -> str:
        if literal.signal < 0:
            return "true" if literal.positive else "false"
        text = self.draft.labels[literal.signal]
        return text if literal.positive else f"!({text})"

    def exclude(self, left: Literal, right: Literal, deep: int = 3) -> bool:
        """Is it plain that two literals never hold together?"""
        if self.both(left, right) == FALSE:
            return True
        for one, other in ((left, right), (right, left)):
            parts = self._parts(~one)
            if deep and len(parts) > 1:  # a disjunction: each of its parts must exclude
                return all(self.exclude(~part, other, deep - 1) for part in parts)
        return False

    # Values

    def categories(self, pairs: Iterable[tuple[Value, Literal]], total: bool) -> Categories:
        """One bit a value; None and what never holds is left out."""
        together: dict[object, tuple[Value, list[Literal]]] = {}
        missing = False
        for value, bit in pairs:
            if value is None:
                missing = missing or bit != FALSE
            elif bit != FALSE:
                together.setdefault(tagged(value), (value, []))[1].append(bit)
        entries = [(value, self.either(bits)) for value, bits in together.values()]
        if len(entries) > MOST_ENTRIES:
            raise self.fault(
                f"{len(entries):,} values; {MOST_ENTRIES:,} are the most: map it to fewer values"
            )
        bits = tuple(bit for _, bit in entries)
        self._one_of(bits, total and not missing)
        return Categories(tuple(value for value, _ in entries), bits, total and not missing)

    def holds(self, known: Categories) -> Literal:
        """Some value is there."""
        return TRUE if known.total else self.either(known.bits)

    def apply(self, f: Callable[..., Value], *values: Value) -> Value:
        """A function of the user's on values that occur."""
        try:
            return f(*values)
        except Exception as error:  # whatever a user's function may raise
            shown = ", ".join(map(repr, values))
            raise RaisesError(
                f"{self.name}: its function raises {type(error).__name__} on {shown}, which can "
                f"occur: {error}. Let it return None there, or leave such tokens out of the "
                "alphabet"
            ) from None

    # Numbers

    def at_least(self, form: CountForm, label: str = "") -> Literal:
        """The form is at least 0."""
        try:
            return at_least_zero(self.draft, form.integral(form.scale), label or self.name)
        except SofthatError as error:
            raise self.fault(str(error)) from None

    def case_at_least(self, case: QuotientCase, bound: Fraction) -> Literal:
        """The number of a case is at least `bound`."""
        return self.at_least(case.above.plus(case.below, -bound), f"{self.name} >= {bound}")

    def threshold(self, case: QuotientCase, constant: float | Fraction) -> Fraction:
        """The least value of the case that is not below `constant` as Python's floats compare.

        A ratio of numbers up to N is off every other such ratio by more than rounding, so a float
        that is the rounded value of one stands for it.
        """
        wanted = Fraction(constant)
        if not case.is_ratio:
            return wanted
        most = self.longest * case.above.scale * case.below.scale
        near = wanted.limit_denominator(most)
        if isinstance(constant, float) and float(near) == constant:
            return near
        if wanted.denominator <= most:
            return wanted
        return min(Fraction(math.ceil(wanted * w), w) for w in range(1, most + 1))

    def compared(self, case: QuotientCase, sign: str, constant: Value) -> Literal:
        """The number of a case ∘ constant."""
        at_least = self.case_at_least(case, self.threshold(case, constant))
        match sign:
            case ">=":
                return at_least
            case "<":
                return ~at_least
        more = ~self.compared(
            QuotientCase(case.when, case.above.times(-1), case.below), ">=", -constant
        )
        match sign:
            case ">":
                return more
            case "<=":
                return ~more
            case "==":
                return self.both(at_least, ~more)
            case _:
                return ~self.both(at_least, ~more)

    def constant(self, value: Value, when: Literal = TRUE) -> Categories:
        return self.categories([(value, when)], when == TRUE)

    def number(self, form: CountForm) -> Quantity:
        return Quantity((QuotientCase(TRUE, form),))

    # Counts

    def count_signal(self, known: Counted) -> int:
        """The signal that `Steps` read: a Width, or the Total of several."""
        widths = [
            self.draft.add(Width(part), f"{self.name}: 1/(1 + width)").signal
            for part in known.parts
        ]
        if len(widths) == 1:
            return widths[0]
        total = Total(tuple((1, width) for width in widths), self.longest)
        return self.draft.add(total, f"{self.name}: width").signal

    def where(self, known: Counted, wanted: Callable[[Value], bool]) -> Literal:
        """The value is one of the wanted."""
        cases = []
        for when, table in known.tables:
            answers = [wanted(value) for value in table]
            first = [False, *answers]
            turns = tuple(w for w in range(len(table)) if answers[w] != first[w])
            cases.append(self.both(when, self.steps(known, turns)))
        return self.either(cases)

    def steps(self, known: Counted, turns: Sequence[int]) -> Literal:
        """Turning at each of `turns`; a turn at 0 is a negation."""
        if turns and turns[0] == 0:
            return ~self.steps(known, turns[1:])
        if not turns:
            return FALSE
        shown = ", ".join(map(str, turns[:4])) + ("…" if len(turns) > 4 else "")
        signal = self.count_signal(known)
        return self.draft.add(Steps(signal, tuple(turns)), f"{self.name}: turns at {shown}")

    def position_digit(self, form: CountForm, bit: int) -> Literal:
        """A binary digit of an affine number with integer coefficients, 0 if it is negative."""
        a, b, c = (int(x) for x in (form.position, form.length, form.constant))
        label = f"bit {bit} of {a}*i + {b}*n + {c}"
        return self.draft.add(PositionBit(bit, a, b, c), label)
