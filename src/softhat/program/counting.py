"""Comparisons of counts as one `Average` a range of positions and a `Sign`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import gcd

from softhat.io.errors import SofthatError
from softhat.program.draft import LABEL_LIMIT, Draft
from softhat.program.heads import Average, Range, Sign
from softhat.program.inputs import TokenIn
from softhat.program.literals import FALSE, TRUE, Literal
from softhat.program.signals import Program

LARGEST_COEFFICIENT = 2**40
LARGEST_THRESHOLD = 2**51
"""Thresholds are weights c - 1/2, exact in float64 up to here."""
LARGEST_LENGTH = 2**40
"""No word is longer: a larger threshold that only longer words reach is cut to the largest."""

Counts = dict[tuple[Range, int], int]
"""(range, signal) -> coefficient; signal -1 is the constant true."""


@dataclass(frozen=True, slots=True)
class CountingTerm:
    """A counting term: Σ a·#(signal) for each range + position·i + length·n + constant."""

    counts: Counts = field(default_factory=dict)
    position: int = 0
    length: int = 0
    constant: int = 0

    def plus(self, other: CountingTerm, factor: int = 1) -> CountingTerm:
        counts = dict(self.counts)
        for key, coefficient in other.counts.items():
            counts[key] = counts.get(key, 0) + factor * coefficient
        return CountingTerm(
            {key: a for key, a in counts.items() if a},
            self.position + factor * other.position,
            self.length + factor * other.length,
            self.constant + factor * other.constant,
        )

    @property
    def coefficients(self) -> list[int]:
        return [*self.counts.values(), self.position, self.length]

    def terms(self, over: Range) -> tuple[tuple[int, int], ...]:
        """What is counted over a range."""
        return tuple((a, signal) for (r, signal), a in sorted(self.counts.items()) if r == over)

    def with_true(self, over: Range, a: int) -> CountingTerm:
        """a·#(true) more over that range, which position, length and constant take back."""
        return self.plus(CountingTerm({(over, -1): 1}), a).plus(SIZES[over], -a)


SIZES: dict[Range, CountingTerm] = {
    "past": CountingTerm(position=1),
    "future": CountingTerm(position=-1, length=1, constant=1),
    "total": CountingTerm(length=1),
}
"""How many positions a range has."""


def counted(literal: Literal, over: Range) -> CountingTerm:
    """`#(literal)` with positive literals only: #(¬x) = (size of the range) - #(x)."""
    size = SIZES[over]
    if literal.signal < 0:
        return size if literal.positive else CountingTerm()
    plain = CountingTerm({(over, literal.signal): 1})
    return plain if literal.positive else size.plus(plain, -1)


def at_least_zero(draft: Draft, t: CountingTerm, label: str) -> Literal:
    """`t >= 0`, normalised: coprime coefficients, and of t and -t the better one."""
    divisor = gcd(*t.coefficients)
    if divisor == 0:
        return TRUE if t.constant >= 0 else FALSE
    counts = {key: a // divisor for key, a in sorted(t.counts.items()) if a}
    compared = CountingTerm(
        counts, t.position // divisor, t.length // divisor, t.constant // divisor
    )
    if _turn(compared):  # t >= 0 is not (-1 - t >= 0)
        turned = CountingTerm(constant=-1).plus(compared, -1)
        return ~_sign(draft, turned, _negated(label))
    return _sign(draft, compared, label)


def _sign(draft: Draft, compared: CountingTerm, label: str) -> Literal:
    """The head that says `compared >= 0`, which is Σ of what is counted >= threshold."""
    coefficients = compared.coefficients
    threshold = -compared.constant
    # Every count is between 0 and n, and i and n are at least 1.
    ends = compared.position + compared.length
    if min(coefficients) >= 0 and threshold <= ends:
        return TRUE
    if max(coefficients) <= 0 and threshold > ends:
        return FALSE
    if max(map(abs, coefficients)) > LARGEST_COEFFICIENT:
        raise SofthatError(f"a coefficient of {label} is beyond 2^40 and cannot be an exact weight")
    if abs(threshold) > LARGEST_THRESHOLD:
        if sum(map(abs, coefficients)) * LARGEST_LENGTH >= LARGEST_THRESHOLD:
            raise SofthatError(
                f"the constant of {label} is beyond 2^51 and cannot be an exact weight"
            )
        cut = LARGEST_THRESHOLD if threshold > 0 else -LARGEST_THRESHOLD
        compared = replace(compared, constant=-cut)
    averaged, centred = _sizes_averaged(compared), _centred(draft, compared)
    mixed = len({over for over, _ in compared.counts}) > 1
    coarser = mixed and _coarseness(draft, averaged) > _coarseness(draft, centred)
    compared = centred if coarser else averaged
    averages: dict[Range, int] = {}
    ranges: tuple[Range, ...] = ("past", "future", "total")
    for over in ranges:
        terms = compared.terms(over)
        if terms:
            average = draft.add(Average(terms, over), _average_label(draft, terms, over))
            averages[over] = average.signal
    past, future, total = (averages.get(over) for over in ranges)
    sign = Sign(past, future, total, compared.position, compared.length, -compared.constant)
    return draft.add(sign, label)


def _turn(compared: CountingTerm) -> bool:
    """Whether -t is the better of t and -t: the same for both, so that they share a Sign.

    The scores of Sign must fall with the distance from i. Past counts that are subtracted and
    future ones that are added work against that (future ones subtracted, if they are alone) and
    cost precision. Else the first coefficient is positive.
    """
    counts = compared.counts
    alone = {over for over, _ in counts} == {"future"}
    falls = {"past": -1, "future": -1 if alone else 1, "total": 0}
    sides = [max(0, falls[over] * a) for (over, _), a in counts.items()]
    others = [max(0, -falls[over] * a) for (over, _), a in counts.items()]
    if sum(sides) != sum(others):
        return sum(sides) > sum(others)
    return next(a for a in compared.coefficients if a) < 0


def _sizes_averaged(compared: CountingTerm) -> CountingTerm:
    """Move p·i + q·n into the averages that are there, as counts of `true`.

    Then the average is near threshold/(i+1) wherever the answer hangs in the balance, and its
    rounding error, which is relative, is small there: 2*#(a) - i is certified as far as #(a) -
    #(b). What no average can take (n beside past counts only) stays a position feature.
    """
    present = {over for over, _ in compared.counts}
    if "total" in present:
        compared = compared.with_true("total", compared.length)
    elif "past" in present and "future" in present:  # n = i + r - 1
        compared = compared.with_true("future", compared.length)
    if "past" in present:
        compared = compared.with_true("past", compared.position)
    elif "future" in present:  # i = n + 1 - r
        compared = compared.with_true("future", -compared.position)
    return compared


def _centred(draft: Draft, compared: CountingTerm) -> CountingTerm:
    """Make the averages of several ranges small, by counts of `true` that positions take back.

    Such averages cancel where the answer hangs in the balance, and none is near 0 there: what
    counts is the spacing of numbers at the largest, and values from -1 to 1 are rounded half as
    coarsely as values from 0 to 2.
    """
    for over in sorted({over for over, _ in compared.counts}):
        low, high = extremes(draft, compared.terms(over))
        middle = abs(low + high) // 2
        compared = compared.with_true(over, middle if low + high < 0 else -middle)
    return compared


def _coarseness(draft: Draft, compared: CountingTerm) -> int:
    """What rounding the averages costs: by powers of two, and past and future share positions."""
    costs = dict.fromkeys(SIZES, 0)
    for over in {over for over, _ in compared.counts}:
        low, high = extremes(draft, compared.terms(over))
        costs[over] = 1 << (max(high, -low, 1) - 1).bit_length()
    return max(costs["past"], costs["future"]) + costs["total"]


def extremes(within: Draft | Program, terms: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Bounds of Σ a·signal at a position: exact for token bits and `true`, safe for the others."""
    by_symbol = dict.fromkeys(within.symbols, 0)
    low = high = 0
    for a, source in terms:
        origin = within.signals[source] if source >= 0 else None
        if origin is None:
            low, high = low + a, high + a
        elif isinstance(origin, TokenIn) and not within.propositional:
            for symbol in origin.symbols:
                by_symbol[symbol] += a
        else:
            low, high = low + min(a, 0), high + max(a, 0)
    values = by_symbol.values()
    return low + min(values, default=0), high + max(values, default=0)


def _average_label(draft: Draft, terms: tuple[tuple[int, int], ...], over: Range) -> str:
    mark = {"past": "#", "future": "#>", "total": "#*"}[over]
    text = " + ".join(
        f"{'' if a == 1 else f'{a}*'}{mark}({'true' if signal < 0 else draft.labels[signal]})"
        for a, signal in terms
    )
    size = {"past": "i+1", "future": "n+2-i", "total": "n+2"}[over]
    return f"({text if len(text) <= LABEL_LIMIT else text[: LABEL_LIMIT - 1] + '…'})/({size})"


def _negated(label: str) -> str:
    """The label of a negated comparison."""
    return label[2:-1] if label.startswith("!(") else f"!({label})"
