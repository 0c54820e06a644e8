"""Sign: whether Σ counts reach a threshold, by ordinary positions against the sink.

    score = Σ κ·mean_i·key_j + A_i·i + A_r·r_i + A_0 + D(j - i) on ordinary j, 0 at the sink

where key_j is the number of positions that the mean is over, so that at j = i the logit is
Σ κ·count + A_i·i + A_r·r + A_0, an integer multiple of `unit` away from `up` > 0 and `down` < 0.

**Theorem 6** (`sign_positive`, `sign_negative` of proofs/Sign.v). If the logit is positive, all but
e^-up of the attention is on ordinary positions; if it is negative at most e^-down/(1 - e^-slope),
for every n, where scores fall by at least `slope` a step. The value is 1 on ordinary positions.

**In floats** (docs/certificates.md, "Comparisons"). Means are rounded once at their division and
once to storage; keys must be exact; what rounding takes off the logit at j = i, and at other j,
must leave some of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import exp, expm1, inf

from softhat.io.errors import VoidError
from softhat.numbers.rationals import common_divisor, power_of_two
from softhat.numerics.formats import Format
from softhat.proof.atoms import CountSum, Direction, Range
from softhat.proof.cells import Cell, Mean, Raw
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.reading import NO_KIND, Reading
from softhat.proof.scores import (
    BETA,
    CARE,
    Line,
    Row,
    Scores,
    Side,
    line_of,
    row_of,
    scale,
    stored,
    temperature_fits,
)
from softhat.proof.softmax import EXACT, Bound, RowFact

NAMES = {"Sign": "compares counts with a threshold by attending to the word or to the sink"}

UNBOUNDED = Bound(inf, inf, inf)
_NEAR = "counts next to the threshold are not told from it"


@dataclass(frozen=True, slots=True)
class Slope:
    """A mean that Sign reads: κ·Σ a·bit lies in [low, high] at a position."""

    over: Range
    low: float
    high: float
    size: float
    """How large the mean can be, and its query."""
    query: float


@dataclass(frozen=True, slots=True)
class SignKind(Kind):
    """Ordinary positions against the sink: at j = i the logit is Σ κ·count + A_i·i + A_r·r + A_0.

    It is never nearer to 0 than `up` above and `down` below, and is a multiple of `unit` away
    from these. `steep` is D.
    """

    CALLED = tuple(NAMES)
    NUMBERS = ("steep", "at_i", "at_r", "constant", "unit")
    bounds_weights = True

    direction: Direction
    scores: Scores
    means: tuple[Slope, ...]
    at_i: float
    at_r: float
    constant: float
    up: float
    down: float
    unit: float
    steep: float
    seen_by_sink: bool
    """Whether the other sink's query, where i = r = 0, sees all keys."""

    @property
    def min_gap(self) -> float:
        return min(self.up, self.down)

    @property
    def leak(self) -> float:
        """`sign_positive`, `sign_negative`."""
        if self.scores.attention == "hard":
            return 0.0
        down = min(self.down, -self.constant) if self.one_sided else self.down
        return max(exp(-self.up), exp(-down) / -expm1(-self.slope))

    @property
    def one_sided(self) -> bool:
        """A comparison of counts in the head's own direction with a positive constant."""
        alone = len(self.means) == 1 and self.means[0].over == self.direction
        return alone and not self.at_i and not self.at_r and self.constant < 0

    @property
    def slope(self) -> float:
        """How fast scores fall with the distance, at least, where the answer is no.

        With one average over the head's own direction and a negative constant A_0 as the rest,
        the score is at most A_0 - D(i - j) where the average is negative, and falls by more than
        D a step where it is not: then D need not outweigh the average.
        """
        if self.one_sided:
            return self.steep
        past = self.direction == "past"
        rising, falling = ("future", "past") if past else ("past", "future")
        slope = self.steep
        for mean in self.means:
            if mean.over == falling:
                slope += min(0.0, mean.low)
            elif mean.over == rising:
                slope -= max(0.0, mean.high)
        return slope

    @property
    def sizes(self) -> dict[Range, float]:
        """The largest term of averages over each range, a position."""
        sizes: dict[Range, float] = {"past": 0.0, "future": 0.0, "total": 0.0}
        for mean in self.means:
            sizes[mean.over] += max(-mean.low, mean.high, 0.0)
        return sizes

    def rest(self, i: int, r: int) -> float:
        """What positions and the constant add to the logit."""
        return self.at_i * i + self.at_r * r + self.constant

    def bound(self, n: int, form: Format) -> Bound:
        """Longer words may be far from the threshold where shorter ones are next to it: so lengths
        are asked in blocks. Those before the last power of 16 are asked once for all n."""
        first = self._first(n)
        try:
            if first == n or self.is_near(n):
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

    def row(self, n: int, form: Format) -> RowFact:
        return self.row_of_lengths(self._first(n), n, form)

    def _first(self, n: int) -> int:
        """Of the words of at most n symbols that are divided by the same scale the shortest. Where
        positions add nothing, no shorter word is nearer to the threshold than one of n symbols."""
        if not (self.at_i or self.at_r):
            return n
        if self.scores.attention != "temperature":
            return 1
        return max(1, int(scale(self.scores.attention, n)) // 2 - 1)

    def logits(self, n: int) -> tuple[float, float]:
        """No logit of a word of n symbols is lower or higher."""
        rest = [self.rest(1, n), self.rest(n, 1)]
        least = sum(n * min(0.0, mean.low) for mean in self.means) + min(rest)
        return least, sum(n * max(0.0, mean.high) for mean in self.means) + max(rest)

    def is_near(self, n: int) -> bool:
        """Words of n symbols may be on either side of the threshold, next to it."""
        least, most = self.logits(n)
        return least <= 0 <= most

    def row_of_lengths(self, start: int, n: int, form: Format) -> RowFact:
        """In words of `start` to n symbols, of one scale. At j = i the logit is at least `up` above
        0 or `down` below; it falls with the distance.

        What depends on the length is linear in it, or largest at n."""
        scores = self.scores
        if not temperature_fits(scores, n, form):
            raise VoidError(BETA)
        if any(mean.query > form.largest for mean in self.means):
            raise VoidError("an average times its weight overflows")
        rows: list[Row] = []
        lines: list[Line] = []
        means = 0
        absolute = 0.0
        for query, key in scores.rows:
            if any(entry.base == "mean" for entry in query):
                absolute += _mean_error(query, key, n, scores, form)
                means += 1
                continue
            scaled = scale(scores.attention, n)
            row = row_of(query, key, n, scaled, form)
            rows.append(row)
            line = line_of(query, key, n, scaled, row)
            if start < n:
                line = _higher(line, line_of(query, key, start, scaled, row))
            lines.append(line)
        (low_start, high_start), (low_end, high_end) = self.logits(start), self.logits(n)
        least, most = min(low_start, low_end), max(high_start, high_end)
        # The other sink's query, where only averages and D·j are not 0, sees every key. Were its
        # score infinite, its row would not be a number, and no gate makes that 0.
        at_sink = sum((n + 1) * max(0.0, mean.high) for mean in self.means) + self.steep * n
        parts = sum(max(-row.low, row.high) + row.error for row in rows)
        parts += (n + 2) * sum(max(-mean.low, mean.high) for mean in self.means) / scores.sharpness
        if parts > form.summed.largest:
            raise VoidError("the parts of scores overflow")
        summed = sum(row.error for row in rows) + (means + len(rows)) * form.grid_of_score(
            parts, means + len(rows)
        )
        rising = sum(
            n
            * max(0.0, mean.high)
            * (form.roundoff(mean.query) + (1 + form.kernel.divisions) * form.u_sum)
            for mean in self.means
        )
        # What rounds to the largest number is stored as such.
        room = form.held.largest * (1 + 2.0 ** -(form.held.digits + 1))
        room -= scores.sharpness * summed + absolute
        if max(most + rising * CARE, at_sink if self.seen_by_sink else 0.0) >= room:
            raise VoidError("scores overflow")
        yes = self.up if least <= 0 else max(self.up, least)
        no = self.down if most >= 0 else max(self.down, -most)
        if self.one_sided:
            no = min(no, -self.constant)
        slope = self.slope * (1 - 3 * form.u_sum - form.u_score)

        errors = _ScoreErrors.of(self, start, n, form, rows, lines, means)

        @cache  # often the two sides are as far from the threshold
        def left(logit: float) -> tuple[float, float]:
            """What errors leave of a logit of at least this size: at j = i, and at other j."""
            left_here = left_there = inf
            next_binade = logit + self.unit  # at the earliest
            for size, coarser in ((logit, 1), (next_binade, 2)):
                here, there = errors.at(size, coarser)
                reduced = size * (1 - 3 * form.u_sum - form.u_score) - absolute
                left_here = min(left_here, reduced - here * CARE)
                left_there = min(left_there, reduced - there * CARE)
            return left_here, left_there

        low = high = 0.0
        if most >= 0:
            here, there = left(yes)
            if here <= 0:
                raise VoidError(_NEAR)
            low = exp(-here)
        if least <= 0:
            here, there = left(no)
            if here <= 0 or there + slope <= 0:
                raise VoidError(_NEAR)
            high = exp(-here) + exp(-there - slope) / -expm1(-slope)
        if scores.attention == "hard":
            return RowFact("sign")
        # Errors are largest of the scores that are furthest from the threshold. There a weight is
        # seen where two scores, that at j = i and its own, may be off by what lies between them.
        furthest = max(most, -least, yes, no)
        off = furthest * (3 * form.u_sum + form.u_score) + absolute
        off += max(errors.at(furthest, 1)) * CARE
        terms = min(n + 2.0, 4 + (form.visible + 2 * off) / slope)
        tail = 2 * form.held.normal / -expm1(-slope)
        return RowFact("sign", low, high, terms, tail)


@lru_cache(maxsize=1 << 12)
def _bound_below(kind: SignKind, power: int, form: Format) -> Bound:
    """In words that are shorter than a power of 16."""
    if power == 1:
        return EXACT
    return kind.bound(power - 1, form)


def fits(reading: Reading) -> bool:
    return bool(reading.terms)


def recognise(reading: Reading) -> tuple[Kind, list[Cell]]:
    cells, atoms, terms, here = reading.cells, reading.atoms, dict(reading.terms), reading.here
    _averages_stand_alone(reading)
    if any(value != atoms.space.true for value in reading.values()):
        raise VoidError("it compares, but its value is not 1 on the word's own positions")
    steep = terms.pop(("1", here, 0), Fraction(0))
    at: dict[str, Fraction] = {
        base: terms.pop((base, "ordinary", 0), Fraction(0)) for base in ("i", "r", "ordinary")
    }
    at[here] += steep
    slopes: list[Slope] = []
    weighted: dict[tuple[Range, int], Fraction] = {}
    for query in [q for q in dict.fromkeys(q for q, _, _ in terms) if isinstance(q, int)]:
        mean = cells[query]
        if not isinstance(mean, Mean):
            raise VoidError(f"it compares coordinate {query}, which is not an average")
        needed = {"past": ("i",), "future": ("r",), "total": ("i", "r")}[mean.over]
        factors = [terms.pop((query, base, 0), Fraction(0)) for base in (*needed, "ordinary")]
        if len(set(factors)) != 1:
            raise VoidError("an average is not multiplied by the number of positions it is over")
        scaled = [(factors[0] * a, f) for a, f in mean.terms]
        ends = atoms.space.range_of_sum(mean.terms)
        low, high = sorted(factors[0] * end for end in ends)
        (weight,) = (row[query] for row in reading.head.query if query in row)
        held = float(max(map(abs, ends)))
        slopes.append(Slope(mean.over, float(low), float(high), held, held * abs(weight)))
        for a, f in scaled:
            weighted[mean.over, f] = weighted.get((mean.over, f), Fraction(0)) + a
    if terms:
        raise VoidError(NO_KIND)
    unit = common_divisor([*weighted.values(), at["i"], at["r"]]) or 2 * abs(at["ordinary"])
    if not unit:
        raise VoidError("it compares nothing")
    whole = -at["ordinary"] / unit  # Σ + … >= whole, of integers: the least that counts is
    least = -((-whole.numerator) // whole.denominator)
    up = float(unit * least + at["ordinary"])
    down = float(unit) - up
    if up <= 0:
        raise VoidError("its threshold is an integer, so that the sign of 0 would decide")
    i, r = int(at["i"] / unit), int(at["r"] / unit)
    total = CountSum(
        {key: int(a / unit) for key, a in weighted.items() if a}, i - r, r, r
    )  # r = n + 1 - i
    function = atoms.at_least(total, least, reading.level)
    kind = SignKind(
        reading.direction, reading.scores, tuple(slopes), float(at["i"]), float(at["r"]),
        float(at["ordinary"]), up, down, float(unit), float(steep), reading.head.sinks > 1,
    )  # fmt: skip
    if kind.slope <= 0:
        raise VoidError("its scores do not fall with the distance")
    return kind, [Raw(function, reading.number) for _ in reading.head.value]


def _averages_stand_alone(reading: Reading) -> None:
    """Each average is the whole query of one row: then nothing that it adds can cancel."""
    cells = reading.cells
    read = [at for query in reading.head.query for at in query if isinstance(cells[at], Mean)]
    alone = [at for query in reading.head.query for at in query if len(query) == 1]
    if len(set(read)) != len(read) or not set(read) <= set(alone):
        raise VoidError("an average is read by several rows, or beside something else")
    if any(isinstance(cells[at], Mean) for key in reading.head.key for at in key):
        raise VoidError("a key reads an average")


def _mean_error(query: Side, key: Side, n: int, scores: Scores, form: Format) -> float:
    """The absolute error that a mean's row adds to a logit: of means below the normal numbers."""
    scaled = scale(scores.attention, n)
    keys, inexact = stored(key, n, scaled, form)
    (entry,) = query
    if inexact:
        raise VoidError("positions are not representable")
    if form.stored(entry.weight) != entry.weight:
        raise VoidError("the weight of an average is not representable")
    if not power_of_two(abs(entry.weight)):
        raise VoidError("an average is multiplied by a weight that is not a power of two")
    # A query of at least the mean's size is a power of two times it, and is stored exactly.
    off = abs(entry.weight) + (abs(entry.weight) < 1)
    return off * form.smallest * keys.size * scaled * scores.sharpness


def _higher(one: Line, other: Line) -> Line:
    """What either of two lines adds or takes off."""
    added, taken = (
        (max(x[0], y[0]), max(x[1], y[1]))
        for x, y in ((one.added, other.added), (one.taken, other.taken))
    )
    return Line(added, taken)


_Ends = tuple[tuple[float, float, float], tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class _ScoreErrors:
    """The errors of a comparison's scores in words of some lengths, for logits of any size.

    Past and future averages share the n positions. At j = i the averages' terms and the rest add
    up to ± the logit, which bounds the positive and the negative terms. There the last addition
    has a small result and is nearly exact: of m terms, m - 2 additions can be off, and no more
    than there are inexact terms (`coarse`) at each spacing.
    """

    form: Format
    sharpness: float
    grids: tuple[float, ...]
    """Of the rows without averages."""
    terms: int
    own: tuple[float, ...]
    """The term of each average, at most, on its own."""
    near: float
    """The terms of all averages at j = i, at most …"""
    far: float
    """… and at other j."""
    alone: float
    """With one average that is over what the head sees: the rest, at most; otherwise inf."""
    operands: float
    relative: float
    """The error of an average, as a share of it."""
    shared: float
    above: float
    below: float
    rest: tuple[float, float]
    """What positions and the constant add, at least and at most."""
    ends: tuple[_Ends, _Ends]
    """For positive terms and for negative ones, where i = 1 and where i = n: what rows add, what
    averages can add, and that less the rest."""

    @staticmethod
    def of(
        kind: SignKind,
        start: int,
        n: int,
        form: Format,
        rows: list[Row],
        lines: list[Line],
        means: int,
    ) -> _ScoreErrors:
        sizes = kind.sizes
        past, future, total = sizes["past"], sizes["future"], sizes["total"]
        rests = [kind.rest(i, r) for m in {start, n} for i, r in ((1, m), (m, 1))]
        alone = inf
        if len(kind.means) == 1 and kind.means[0].over in ("total", kind.direction):
            alone = max(map(abs, rests))
        rounding = form.kernel.divisions * form.u_sum + form.u
        added, taken = [], []
        for end in (0, 1):
            counted, less, more = [], [], []
            for m in {start, n}:
                i, r = ((1, m), (m, 1))[end]
                counted.append((i + 1) * past + (r + 1) * future + (m + 1) * total)
                less.append(counted[-1] - kind.rest(i, r))
                more.append(counted[-1] + kind.rest(i, r))
            placed = sum(line.added[end] for line in lines)
            away = sum(line.taken[end] for line in lines)
            added.append((placed, max(counted), max(less)))
            taken.append((away, max(counted), max(more)))
        return _ScoreErrors(
            form=form,
            sharpness=kind.scores.sharpness,
            grids=tuple(row.grid for row in rows),
            terms=means + len(rows),
            own=tuple((n + 1) * max(-mean.low, mean.high, 0.0) for mean in kind.means),
            near=(n + 1) * (max(past, future) + total),
            far=(n + 1) * (past + future + total),
            alone=alone,
            operands=sum(row.error for row in rows),
            relative=rounding * (1 + rounding),
            shared=_shared_rounding(kind, n, form),
            above=sum(row.high for row in rows),
            below=-sum(row.low for row in rows),
            rest=(min(rests), max(rests)),
            ends=((added[0], added[1]), (taken[0], taken[1])),
        )

    def at(self, logit: float, coarser: int) -> tuple[float, float]:
        """The error where the logit is `logit`: at j = i, and at other j. `coarser` multiplies the
        spacing of sums."""
        form, sharpness, terms = self.form, self.sharpness, self.terms
        means = terms - len(self.grids)
        near, far = self.near, self.far
        if self.alone < inf:
            near = far = min(near, logit + self.alone)
        spacing = coarser * form.grid_of_score(self._largest_sum(near, logit), terms)
        coarse = means + sum(grid < spacing for grid in self.grids)
        additions = 0.0
        if coarse:
            additions = sum(spacing / 2 / 2 ** (at // coarse) for at in range(max(0, terms - 2)))
        products = sum(form.grid_of_score(min(near, size) / sharpness, terms) for size in self.own)
        products = (products + form.grid_of_score(2 * logit / sharpness, terms)) / 2
        here = sharpness * (self.operands + additions + products)
        here += min(near * self.relative, self.shared)
        largest = max(self.above, self.below) + far / sharpness
        spacing = coarser * form.grid_of_score(largest, terms)
        coarse = means + sum(grid < spacing for grid in self.grids)
        there = sharpness * (self.operands + coarse * spacing)
        return here, there + min(far * self.relative, self.shared)

    def _largest_sum(self, near: float, logit: float) -> float:
        """The largest partial sum at j = i, in any order: of positive terms, or of negative ones.

        The averages' terms add up to the logit less the rest and are N(i) together, so the positive
        ones are at most min(N, (N - rest + logit)/2). All of that is linear in i: with what the
        rows add it is largest at i = 1, at i = n, or where the two are equal.
        """
        sharpness = self.sharpness
        less, more = (
            max(0.0, min(near, (near + x + logit) / 2)) / sharpness
            for x in (-min(self.rest), max(self.rest))
        )
        largest = 0.0
        for (placed, one, freed), (placed_last, other, freed_last) in self.ends:
            half, semi = (freed + logit) / 2, (freed_last + logit) / 2
            largest = max(
                largest,
                placed + max(0.0, min(near, one, half)) / sharpness,
                placed_last + max(0.0, min(near, other, semi)) / sharpness,
            )
            if (one < half) != (other < semi):
                share = (one - half) / ((one - half) - (other - semi))
                met = min(near, one + share * (other - one), half + share * (semi - half))
                between = placed + share * (placed_last - placed)
                largest = max(largest, between + max(0.0, met) / sharpness)
        return min(largest * (1 + 2.0**-49), max(self.above + less, self.below + more))


def _shared_rounding(kind: SignKind, n: int, form: Format) -> float:
    """What the rounding of means adds to a logit, by the spacing of the largest mean.

    Means lie in a fixed range, so one is off by at most half of the spacing there, wherever its
    query is; its key, the number of positions up to (from) j, multiplies that. The keys of past
    and future averages share the n+3 positions, sinks included, at every j, and each has at
    least 2. A mean that is not stored in a narrower format is rounded by its last division.
    """
    off = dict.fromkeys(("past", "future", "total"), 0.0)
    before = form.kernel.divisions - (0 if form.u else 1)
    for mean in kind.means:
        share = form.roundoff(mean.query) + before * form.u_sum
        off[mean.over] += max(-mean.low, mean.high, 0.0) * share * (1 + before * form.u_sum)
    more, less = max(off["past"], off["future"]), min(off["past"], off["future"])
    return ((n + 1) * more + 2 * less + (n + 2) * off["total"]) * CARE
