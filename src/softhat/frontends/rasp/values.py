"""What the compiler knows of an s-op: which values it can have, and the bits that tell them.

- `Categories`: one bit for each value, None where none holds. Tokens, comparisons, maps by table.
- `Quantity`: by cases a linear form of counts, or the ratio of two. Indices, sums, means.
- `Counted`: a function of how many positions a selector selects. Widths and maps of widths.
- `Placed`: a function of the position and the length.
- `Joint`: a function of a category (or count) and the position, not tabulated until it must be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from softhat.frontends.rasp.operations import Value
from softhat.program.counting import CountingTerm, counted
from softhat.program.heads import Range, Selector
from softhat.program.literals import Literal


@dataclass(frozen=True, slots=True)
class CountForm:
    """Σ a·#(signal) over ranges + position·i + length·n + constant, i from 1."""

    counts: Mapping[tuple[Range, int], Fraction]
    position: Fraction = Fraction(0)
    length: Fraction = Fraction(0)
    constant: Fraction = Fraction(0)

    @classmethod
    def of_constant(cls, value: Fraction | int) -> CountForm:
        return cls({}, constant=Fraction(value))

    @classmethod
    def of_count(cls, literal: Literal, over: Range) -> CountForm:
        """How many positions of the range satisfy a literal."""
        plain = counted(literal, over)
        return cls(
            {key: Fraction(a) for key, a in plain.counts.items()},
            Fraction(plain.position),
            Fraction(plain.length),
            Fraction(plain.constant),
        )

    def plus(self, other: CountForm, factor: Fraction | int = 1) -> CountForm:
        counts = dict(self.counts)
        for key, a in other.counts.items():
            counts[key] = counts.get(key, Fraction(0)) + factor * a
        return CountForm(
            {key: a for key, a in counts.items() if a},
            self.position + factor * other.position,
            self.length + factor * other.length,
            self.constant + factor * other.constant,
        )

    def times(self, factor: Fraction | int) -> CountForm:
        return CountForm({}).plus(self, factor)

    @property
    def is_affine(self) -> bool:
        return not self.counts

    @property
    def is_constant(self) -> bool:
        return self.is_affine and not self.position and not self.length

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal forms."""
        return (tuple(sorted(self.counts.items())), self.position, self.length, self.constant)

    @property
    def scale(self) -> int:
        """The least factor that makes every coefficient an integer."""
        every = [*self.counts.values(), self.position, self.length, self.constant]
        return lcm(*(a.denominator for a in every))

    def integral(self, factor: int) -> CountingTerm:
        """`factor` times the form, all of whose coefficients it makes integers."""
        return CountingTerm(
            {key: int(a * factor) for key, a in self.counts.items()},
            int(self.position * factor),
            int(self.length * factor),
            int(self.constant * factor),
        )

    def bounds(self, longest: int) -> tuple[Fraction, Fraction]:
        """Least and greatest value on words up to `longest`."""
        sides = [
            *((Fraction(0), a * longest) for a in self.counts.values()),
            *((a, a * longest) for a in (self.position, self.length)),
        ]
        low = self.constant + sum((min(side) for side in sides), Fraction(0))
        high = self.constant + sum((max(side) for side in sides), Fraction(0))
        return low, high


ONE = CountForm.of_constant(1)


@dataclass(frozen=True, slots=True)
class SelectedMean:
    """The mean over what a selector selects of Σ a·signal + constant, as one head returns it."""

    selector: Selector
    terms: Mapping[int, Fraction]
    constant: Fraction = Fraction(0)

    def plus(self, other: SelectedMean, factor: Fraction | int = 1) -> SelectedMean | None:
        """The sum, if both are over the same selection."""
        if self.selector != other.selector:
            return None
        terms = dict(self.terms)
        for signal, a in other.terms.items():
            terms[signal] = terms.get(signal, Fraction(0)) + factor * a
        nonzero = {signal: a for signal, a in terms.items() if a}
        return SelectedMean(self.selector, nonzero, self.constant + factor * other.constant)

    def line(self, factor: Fraction | int, constant: Fraction | int) -> SelectedMean:
        terms = {signal: factor * a for signal, a in self.terms.items()}
        return SelectedMean(self.selector, terms, factor * self.constant + constant)


@dataclass(frozen=True, slots=True)
class QuotientCase:
    """Where `when` holds, the number is above/below, with below >= 1."""

    when: Literal
    above: CountForm
    below: CountForm = ONE
    mean: SelectedMean | None = None
    """Of a ratio: how one head computes it."""

    def line(self, factor: Fraction | int, constant: Fraction | int) -> QuotientCase:
        """factor·x + constant."""
        above = self.above.times(factor).plus(self.below, constant)
        mean = None if self.mean is None else self.mean.line(factor, constant)
        return QuotientCase(self.when, above, self.below, mean)

    def where(self, when: Literal) -> QuotientCase:
        return QuotientCase(when, self.above, self.below, self.mean)

    @property
    def is_ratio(self) -> bool:
        return not self.below.is_constant


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number by cases, of which at most one holds; None where none does."""

    cases: tuple[QuotientCase, ...]

    @property
    def affine(self) -> CountForm | None:
        """The form, where the number depends on position and length alone."""
        match self.cases:
            case [QuotientCase(Literal(-1, True), above, below)] if (
                above.is_affine and below.is_constant
            ):
                return above.times(1 / below.constant)
        return None


@dataclass(frozen=True, slots=True)
class Categories:
    """The value is `values[k]` where `bits[k]` holds; None where none does."""

    values: tuple[Value, ...]
    bits: tuple[Literal, ...]
    total: bool
    """Some bit always holds."""


@dataclass(frozen=True, slots=True)
class Counted:
    """`table[w]` where its `when` holds and the selectors together select w positions."""

    parts: tuple[Selector, ...]
    """They never select the same position, so their widths add up."""
    tables: tuple[tuple[Literal, tuple[Value, ...]], ...]
    quantity: Quantity | None
    """The same as a number by cases of counts, where it still is one."""
    order: Order | None = None

    @property
    def values(self) -> dict[Any, Value]:
        """All values of the tables by their tags, None among them."""
        return {tagged(v): v for _, table in self.tables for v in table}


@dataclass(frozen=True, slots=True)
class Order:
    """Why positions with the same count agree: the count is a place in an order of positions.

    Positions with the same count are the same position if they also satisfy the same literal of
    `within`; with none, always. With `classes` they only satisfy the same one of these.
    """

    within: tuple[Literal, ...] = ()
    classes: tuple[Literal, ...] = ()


@dataclass(frozen=True, slots=True)
class Joint:
    """`f(value, number)` of `base` and of the affine number `place`."""

    f: Callable[[Value, Value], Value]
    base: Categories | Counted
    place: CountForm


@dataclass(frozen=True, slots=True)
class Placed:
    """A function of the position i and the length n, by its values wherever they occur.

    The order of `values` is that of `places.occurring`: i = 1, 2, … if only the position counts, n
    likewise, or all i <= n for n = 1, 2, …
    """

    values: tuple[Value, ...]
    position: bool
    """It depends on the position."""
    length: bool
    """It depends on the length."""


Known = Categories | Quantity | Counted | Joint | Placed


def tagged(value: Value) -> Any:
    """Tells 1, 1.0 and True apart, as Python's == does not."""
    return (type(value), value)


def is_number(value: Value) -> bool:
    return isinstance(value, int | float | Fraction)


def exact(value: Value) -> Fraction:
    """The number; a float stands for the simplest fraction that rounds to it."""
    number = Fraction(value)
    if isinstance(value, float):
        simple = number.limit_denominator(1_000_000)
        return simple if float(simple) == value else number
    return number
