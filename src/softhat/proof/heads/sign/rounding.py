"""A comparison in floats: how far its scores are off, and what that leaves of the logit.

At j = i the logit is at least `up` above 0 or `down` below; it falls with the distance. What
depends on the length is linear in it, or largest at n: so words of many lengths are asked about at
once.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, expm1, inf

from softhat.io.errors import VoidError
from softhat.numbers.rationals import power_of_two
from softhat.numerics.formats import Format
from softhat.proof.heads.sign.comparison import CountComparison
from softhat.proof.scores import (
    BETA,
    CARE,
    Row,
    ScoreRow,
    Scores,
    StoredSide,
    temperature_fits,
)
from softhat.proof.softmax import RowFact

NEAR = "counts next to the threshold are not told from it"


class SignRounding:
    """How a comparison is rounded in words of one scale, before anything is known of the length."""

    def __init__(
        self, comparison: CountComparison, scores: Scores, scaled: float, form: Format
    ) -> None:
        self.comparison, self.form = comparison, form
        self.attention, self.sharpness = scores.attention, scores.sharpness
        self.fits = temperature_fits(scores.sharpness, scaled, form)
        self.means: list[tuple[float, StoredSide]] = []
        self.products: list[ScoreRow] = []
        for query, key in scores.rows:
            if any(entry.base == "mean" for entry in query):
                (entry,) = query
                self.means.append((entry.weight, StoredSide(key, scaled, form)))
            else:
                self.products.append(ScoreRow(query, key, scaled, form))
        self.beta = scaled * scores.sharpness
        self.terms = len(scores.rows)
        sizes = comparison.sizes
        self.past, self.future, self.total = sizes["past"], sizes["future"], sizes["total"]
        self.kept = 1 - 3 * form.u_sum - form.u_score
        """What the rounding of a score itself leaves of it."""
        self.slope = comparison.slope * self.kept
        own = form.kernel.divisions * form.u_sum + form.u
        self.relative = own * (1 + own)
        """The error of an average, as a share of it."""
        self.spacings = _spacings_of_means(comparison, form)
        self.alone = len(comparison.means) == 1 and comparison.means[0].over in (
            "total",
            comparison.direction,
        )
        """One average that is over what the head sees."""

    def row(self, start: int, n: int, seen_by_sink: bool) -> RowFact:
        """The fact of words of `start` to n symbols."""
        form, compared = self.form, self.comparison
        if not self.fits:
            raise VoidError(BETA)
        if any(mean.query > form.largest for mean in compared.means):
            raise VoidError("an average times its weight overflows")
        absolute = sum(self._lost(weight, key, n) for weight, key in self.means)
        rows = [product.row(n) for product in self.products]
        least, most = compared.logits(start, n)
        self._check_range(n, rows, absolute, most, seen_by_sink)
        yes, no = compared.gaps(least, most)
        if compared.one_sided:
            no = min(no, -compared.constant)
        errors = ScoreErrors(self, start, n, rows)
        low = high = 0.0
        here, there = errors.left(yes if most >= 0 else no, absolute)
        if most >= 0:
            if here <= 0:
                raise VoidError(NEAR)
            low = exp(-here)
        if least <= 0:
            if most >= 0 and no != yes:
                here, there = errors.left(no, absolute)
            if here <= 0 or there + self.slope <= 0:
                raise VoidError(NEAR)
            high = exp(-here) + exp(-there - self.slope) / -expm1(-self.slope)
        if self.attention == "hard":
            return RowFact("sign")
        # Errors are largest of the scores that are furthest from the threshold. There a weight is
        # seen where two scores, that at j = i and its own, may be off by what lies between them.
        furthest = max(most, -least, yes, no)
        off = furthest * (3 * form.u_sum + form.u_score) + absolute
        off += max(errors.at(furthest, 1)) * CARE
        terms = min(n + 2.0, 4 + (form.visible + 2 * off) / self.slope)
        tail = 2 * form.held.normal / -expm1(-self.slope)
        return RowFact("sign", low, high, terms, tail)

    def _lost(self, weight: float, key: StoredSide, n: int) -> float:
        """What means below the normal numbers cost a logit. Their weight and keys are exact."""
        keys, inexact = key.of_length(n)
        if inexact:
            raise VoidError("positions are not representable")
        if self.form.stored(weight) != weight:
            raise VoidError("the weight of an average is not representable")
        if not power_of_two(abs(weight)):
            raise VoidError("an average is multiplied by a weight that is not a power of two")
        # A query of at least the mean's size is a power of two times it, and is stored exactly.
        off = abs(weight) + (abs(weight) < 1)
        return off * self.form.smallest * keys.size * self.beta

    def _check_range(
        self, n: int, rows: list[Row], absolute: float, most: float, seen_by_sink: bool
    ) -> None:
        """That no part of a score, no sum of them and no score overflows."""
        form, means = self.form, self.comparison.means
        parts = sum(max(-row.low, row.high) + row.error for row in rows)
        parts += (n + 2) * sum(max(-mean.low, mean.high) for mean in means) / self.sharpness
        if parts > form.summed.largest:
            raise VoidError("the parts of scores overflow")
        summed = sum(row.error for row in rows)
        summed += self.terms * form.grid_of_score(parts, self.terms)
        rising = sum(
            n
            * max(0.0, mean.high)
            * (form.roundoff(mean.query) + (1 + form.kernel.divisions) * form.u_sum)
            for mean in means
        )
        # The other sink's query, where only averages and D·j are not 0, sees every key. Were its
        # score infinite, its row would not be a number, and no gate makes that 0.
        at_sink = sum((n + 1) * max(0.0, mean.high) for mean in means) + self.comparison.steep * n
        # What rounds to the largest number is stored as such.
        room = form.held.largest * (1 + 2.0 ** -(form.held.digits + 1))
        room -= self.sharpness * summed + absolute
        if max(most + rising * CARE, at_sink if seen_by_sink else 0.0) >= room:
            raise VoidError("scores overflow")


@lru_cache(maxsize=1 << 11)
def rounding_of(
    comparison: CountComparison, scores: Scores, scaled: float, form: Format
) -> SignRounding:
    return SignRounding(comparison, scores, scaled, form)


def _spacings_of_means(comparison: CountComparison, form: Format) -> tuple[float, float, float]:
    """How far the means over each range are off together, times a position: past ones, future ones
    and totals.

    Means lie in a fixed range, so one is off by at most half of the spacing of the largest,
    wherever its query is. A mean that is not stored in a narrower format is rounded by its last
    division.
    """
    off = dict.fromkeys(("past", "future", "total"), 0.0)
    before = form.kernel.divisions - (0 if form.u else 1)
    for mean in comparison.means:
        share = form.roundoff(mean.query) + before * form.u_sum
        off[mean.over] += mean.largest * share * (1 + before * form.u_sum)
    return off["past"], off["future"], off["total"]


class ScoreErrors:
    """The errors of a comparison's scores in words of `start` to n symbols, for logits of any size.

    Past and future averages share the n positions. At j = i the averages' terms and the rest add
    up to ± the logit, which bounds the positive and the negative terms. There the last addition
    has a small result and is nearly exact: of m terms, m - 2 additions can be off, and no more
    than there are inexact terms (`coarse`) at each spacing.
    """

    def __init__(self, of: SignRounding, start: int, n: int, rows: list[Row]) -> None:
        self.of, self.n = of, n
        past, future, total = of.past, of.future, of.total
        self.grids = [row.grid for row in rows]
        self.operands = sum(row.error for row in rows)
        self.above, self.below = sum(row.high for row in rows), -sum(row.low for row in rows)
        self.near = (n + 1) * (max(past, future) + total)
        """The terms of all averages at j = i, at most …"""
        self.far = (n + 1) * (past + future + total)
        """… and at other j."""
        rests = of.comparison.rests(start, n)
        self.rest = min(rests), max(rests)
        """What positions and the constant add, at least and at most."""
        self.alone = max(map(abs, rests)) if of.alone else inf
        off_past, off_future, off_total = of.spacings
        more, less = max(off_past, off_future), min(off_past, off_future)
        self.shared = ((n + 1) * more + 2 * less + (n + 2) * off_total) * CARE
        """What the rounding of means adds to a logit. Keys, the numbers of positions up to (from)
        j, multiply it: those of past and future averages share the n+3 positions, sinks included,
        at every j, and each has at least 2."""
        sizes = [x.magnitudes(start, n, row) for x, row in zip(of.products, rows, strict=True)]
        lengths = [(1, start), (1, n)], [(start, 1), (n, 1)]
        self.most = [
            sum(size[end] for size in sizes) * of.sharpness
            + max((i + 1) * past + (r + 1) * future + (i + r) * total for i, r in lengths[end])
            for end in (0, 1)
        ]
        """The magnitudes of all terms at j = i, at most, where i = 1 and where i is the last."""

    def left(self, logit: float, absolute: float) -> tuple[float, float]:
        """What errors leave of a logit of at least this size: at j = i, and at other j."""
        left_here = left_there = inf
        next_binade = logit + self.of.comparison.unit  # at the earliest
        for size, coarser in ((logit, 1), (next_binade, 2)):
            here, there = self.at(size, coarser)
            reduced = size * self.of.kept - absolute
            left_here = min(left_here, reduced - here * CARE)
            left_there = min(left_there, reduced - there * CARE)
        return left_here, left_there

    def at(self, logit: float, coarser: int) -> tuple[float, float]:
        """The error where the logit is `logit`: at j = i, and at other j. `coarser` multiplies the
        spacing of sums."""
        of, terms, grid_of = self.of, self.of.terms, self.of.form.grid_of_score
        sharpness, near, far = of.sharpness, self.near, self.far
        if self.alone < inf:
            near = far = min(near, logit + self.alone)
        spacing = coarser * grid_of(self.largest_sum(near, logit), terms)
        coarse = len(of.means) + sum(grid < spacing for grid in self.grids)
        additions = 0.0
        if coarse:
            additions = sum(spacing / 2 / 2 ** (at // coarse) for at in range(terms - 2))
        products = sum(
            grid_of(min(near, (self.n + 1) * mean.largest) / sharpness, terms)
            for mean in of.comparison.means
        )
        products = (products + grid_of(2 * logit / sharpness, terms)) / 2
        here = sharpness * (self.operands + additions + products)
        here += min(near * of.relative, self.shared)
        largest = max(self.above, self.below) + far / sharpness
        spacing = coarser * grid_of(largest, terms)
        coarse = len(of.means) + sum(grid < spacing for grid in self.grids)
        there = sharpness * (self.operands + coarse * spacing)
        return here, there + min(far * of.relative, self.shared)

    def largest_sum(self, near: float, logit: float) -> float:
        """The largest partial sum at j = i, in any order: of positive terms, or of negative ones.

        The two differ by the logit and add up to all magnitudes, so the larger is half of both
        together. Magnitudes are convex in i, and largest where i is 1 or the last. The same holds
        of the averages' terms alone, which differ by the logit less the rest.
        """
        sharpness, (low, high) = self.of.sharpness, self.rest
        care = 1 + (self.of.terms + 8) * 2.0**-53  # a rounding a row, and a few, of these sums
        together = (max(self.most) + logit) / 2 / sharpness * care
        apart = [
            rows + max(0.0, min(near, (near + rest + logit) / 2)) / sharpness
            for rows, rest in ((self.above, -low), (self.below, high))
        ]
        return min(together, max(apart))
