"""Sign: whether Σ counts reach a threshold, by ordinary positions against the sink.

    score = Σ κ·mean_i·key_j + A_i·i + A_r·r_i + A_0 + D(j - i) on ordinary j, 0 at the sink

where key_j is the number of positions that the mean is over, so that at j = i the logit is
Σ κ·count + A_i·i + A_r·r + A_0 (`comparison`), an integer multiple of `unit` away from `up` > 0 and
`down` < 0.

**Theorem 6** (`sign_positive`, `sign_negative` of proofs/Sign.v). If the logit is positive, all but
e^-up of the attention is on ordinary positions; if it is negative at most e^-down/(1 - e^-slope),
for every n, where scores fall by at least `slope` a step. The value is 1 on ordinary positions.

**In floats** (`rounding`). Means are rounded once at their
division and once to storage; keys must be exact; what rounding takes off the logit at j = i, and at
other j, must leave some of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, inf

from softhat.io.errors import VoidError
from softhat.numbers.rationals import common_divisor
from softhat.numerics.formats import Format
from softhat.proof.atoms import CountSum, Range
from softhat.proof.cells import Cell, Mean, Raw
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.reading import NO_KIND, Reading, Terms
from softhat.proof.heads.sign.comparison import CountComparison, Slope
from softhat.proof.heads.sign.rounding import rounding_of
from softhat.proof.scores import Scores, scale
from softhat.proof.softmax import EXACT, Bound, RowFact

NAMES = {"Sign": "compares counts with a threshold by attending to the word or to the sink"}

UNBOUNDED = Bound(inf, inf, inf)


@dataclass(frozen=True, slots=True)
class SignKind(Kind):
    """Ordinary positions against the sink."""

    CALLED = tuple(NAMES)
    NUMBERS = ("steep", "at_i", "at_r", "constant", "unit")
    bounds_weights = True

    scores: Scores
    comparison: CountComparison
    seen_by_sink: bool
    """Whether the other sink's query, where i = r = 0, sees all keys."""

    @property
    def numbers(self) -> dict[str, float]:
        return {name: getattr(self.comparison, name) for name in self.NUMBERS}

    @property
    def min_gap(self) -> float:
        return min(self.comparison.up, self.comparison.down)

    @property
    def leak(self) -> float:
        """`sign_positive`, `sign_negative`."""
        if self.scores.attention == "hard":
            return 0.0
        compared = self.comparison
        down = min(compared.down, -compared.constant) if compared.one_sided else compared.down
        return max(exp(-compared.up), exp(-down) / -expm1(-compared.slope))

    def row_of_lengths(self, start: int, n: int, form: Format) -> RowFact:
        """In words of `start` to n symbols, of one scale."""
        scaled = scale(self.scores.attention, n)
        return rounding_of(self.comparison, self.scores, scaled, form).row(
            start, n, self.seen_by_sink
        )

    def bound(self, n: int, form: Format) -> Bound:
        """Longer words may be far from the threshold where shorter ones are next to it: so lengths
        are asked in blocks. Those before the last power of 16 are asked once for all n."""
        first = self._first(n)
        try:
            if first == n or self.comparison.is_near(n):
                return self.row_of_lengths(first, n, form).bound(form)
        except VoidError:
            if first == n:
                raise
        worst = self.row_of_lengths(n, n, form).bound(form)
        if first == 1 < n:
            first = 1 << (n.bit_length() - 1) // 4 * 4
            worst = worst.or_worse(_bound_below(self, first, form))
        return self._blocks(first, n - 1, worst, form)

    def _blocks(self, first: int, last: int, worst: Bound, form: Format) -> Bound:
        """The worst of all these lengths, and of what is known to be as bad: at once, or from the
        last one on in blocks that grow while none is worse than what is known. Of one that may be
        the shortest length is asked alone: where words come nearer to the threshold as they get
        shorter, it is the worst. If it is not, the block was too long."""
        size, growth = last + 1 - first, 0
        asked = set[int]()
        while first <= last:
            start = max(first, last + 1 - size)
            try:
                block = self.row_of_lengths(start, last, form).bound(form)
            except VoidError:
                if start == last:
                    raise
                block = None
            if start == last and block:
                worst = worst.or_worse(block)
            elif worst.or_worse(block or UNBOUNDED) != worst and start not in asked:
                asked.add(start)
                worst = worst.or_worse(self.row_of_lengths(start, start, form).bound(form))
            if block and worst.or_worse(block) == worst:
                last, size = start - 1, size * growth
            else:
                size = (last - start) // 4 + 1 if growth else 1
                growth = max(2, growth // 4) if growth else 256
        return worst

    def _first(self, n: int) -> int:
        """Of the words of at most n symbols that are divided by the same scale the shortest. Where
        positions add nothing, no shorter word is nearer to the threshold than one of n symbols."""
        if not (self.comparison.at_i or self.comparison.at_r):
            return n
        if self.scores.attention != "temperature":
            return 1
        return max(1, int(scale(self.scores.attention, n)) // 2 - 1)


@lru_cache(maxsize=1 << 12)
def _bound_below(kind: SignKind, power: int, form: Format) -> Bound:
    """In words that are shorter than a power of 16."""
    if power == 1:
        return EXACT
    return kind.bound(power - 1, form)


def fits(reading: Reading) -> bool:
    return bool(reading.terms)


def recognise(reading: Reading) -> tuple[Kind, list[Cell]]:
    atoms, terms, here = reading.atoms, dict(reading.terms), reading.here
    _averages_stand_alone(reading)
    if any(value != atoms.space.true for value in reading.values()):
        raise VoidError("it compares, but its value is not 1 on the word's own positions")
    steep = terms.pop(("1", here, 0), Fraction(0))
    at: dict[str, Fraction] = {
        base: terms.pop((base, "ordinary", 0), Fraction(0)) for base in ("i", "r", "ordinary")
    }
    at[here] += steep
    slopes, counts = _taken_counts(reading, terms)
    if terms:
        raise VoidError(NO_KIND)
    unit = common_divisor([*counts.values(), at["i"], at["r"]]) or 2 * abs(at["ordinary"])
    if not unit:
        raise VoidError("it compares nothing")
    # Σ + … >= -A_0/unit, of integers: the least that counts is
    threshold = ceil(-at["ordinary"] / unit)
    up = unit * threshold + at["ordinary"]
    if up <= 0:
        raise VoidError("its threshold is an integer, so that the sign of 0 would decide")
    i, r = int(at["i"] / unit), int(at["r"] / unit)
    summed = {key: int(a / unit) for key, a in counts.items() if a}
    function = atoms.at_least(CountSum(summed, i - r, r, r), threshold, reading.level)  # r = n+1-i
    comparison = CountComparison(
        direction=reading.direction,
        means=tuple(slopes),
        at_i=float(at["i"]),
        at_r=float(at["r"]),
        constant=float(at["ordinary"]),
        up=float(up),
        down=float(unit) - float(up),
        unit=float(unit),
        steep=float(steep),
    )
    if comparison.slope <= 0:
        raise VoidError("its scores do not fall with the distance")
    kind = SignKind(reading.scores, comparison, seen_by_sink=reading.head.sinks > 1)
    return kind, [Raw(function, reading.number) for _ in reading.head.value]


def _taken_counts(
    reading: Reading, terms: Terms
) -> tuple[list[Slope], dict[tuple[Range, int], Fraction]]:
    """The means that are compared, and what a position adds for each function that they count;
    their terms are taken out."""
    slopes: list[Slope] = []
    counts: dict[tuple[Range, int], Fraction] = {}
    for query in [q for q in dict.fromkeys(q for q, _, _ in terms) if isinstance(q, int)]:
        mean = reading.cells[query]
        if not isinstance(mean, Mean):
            raise VoidError(f"it compares coordinate {query}, which is not an average")
        needed = {"past": ("i",), "future": ("r",), "total": ("i", "r")}[mean.over]
        factors = {terms.pop((query, base, 0), Fraction(0)) for base in (*needed, "ordinary")}
        if len(factors) != 1:
            raise VoidError("an average is not multiplied by the number of positions it is over")
        (factor,) = factors
        ends = reading.atoms.space.range_of_sum(mean.terms)
        low, high = sorted(float(factor * end) for end in ends)
        (weight,) = (row[query] for row in reading.head.query if query in row)
        held = float(max(map(abs, ends)))
        slopes.append(Slope(mean.over, low, high, held, held * abs(weight)))
        for a, f in mean.terms:
            counts[mean.over, f] = counts.get((mean.over, f), Fraction(0)) + factor * a
    return slopes, counts


def _averages_stand_alone(reading: Reading) -> None:
    """Each average is the whole query of one row: then nothing that it adds can cancel."""
    cells = reading.cells
    read = [at for query in reading.head.query for at in query if isinstance(cells[at], Mean)]
    alone = [at for query in reading.head.query for at in query if len(query) == 1]
    if len(set(read)) != len(read) or not set(read) <= set(alone):
        raise VoidError("an average is read by several rows, or beside something else")
    if any(isinstance(cells[at], Mean) for key in reading.head.key for at in key):
        raise VoidError("a key reads an average")
