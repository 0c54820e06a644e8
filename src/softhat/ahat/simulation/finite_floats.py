"""A simulation to a given length in floats: what rounding adds to its error at each length."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from softhat.ahat.analysis.averaging import returned_scores
from softhat.ahat.analysis.gap_laws import HeadId, gap_laws
from softhat.ahat.analysis.peaks import crowd
from softhat.ahat.bounds.float_rows import Steep
from softhat.ahat.bounds.float_words import at_a_time
from softhat.ahat.bounds.floats import Temperatures, float_error
from softhat.ahat.bounds.weights import weights
from softhat.ahat.simulation.lengths import SOME_WORDS, LengthBound, Lengths
from softhat.ahat.simulation.short_floats import Short, bag_error, by_words
from softhat.numerics.formats import Format
from softhat.proof.simulations.own_score import mean_below


class FiniteFloats:
    """Bounds in floats for constant β, on top of the bounds in the reals."""

    def __init__(self, lengths: Lengths, betas: Mapping[HeadId, float]) -> None:
        self.lengths, self.betas = lengths, betas
        self.laws = gap_laws(lengths.model)
        self._weights = weights(lengths.model)
        self._returned = returned_scores(lengths.model)
        copies = self.laws.portrait.copies
        gaps = sorted(self.laws.gap.items())
        self._known = tuple((name, law, copies[name]) for name, law in gaps if law is not None)
        self._crowds = {
            name: None if law is None else crowd(self.laws.portrait.views[name])
            for name, law in self.laws.gap.items()
        }

    def bound(self, n: int, reals: LengthBound, form: Format, epsilon: float | None) -> LengthBound:
        """The bound of all words of length n in this format; where that does not hold and they
        are few, each of them is run with all that its rounding may do."""
        by_blocks = self._by_blocks(n, reals, form, epsilon is None)
        if by_blocks.holds(epsilon):
            return by_blocks
        closer = self._closely(n, reals, form, math.inf if epsilon is None else epsilon)
        return closer if closer is not None and closer.holds(epsilon) else by_blocks

    def _closely(
        self, n: int, reals: LengthBound, form: Format, enough: float
    ) -> LengthBound | None:
        model = self.lengths.model
        if len(model.alphabet) ** n <= SOME_WORDS:
            traces = self.lengths.traces(n, at_a_time(self._weights, n))
            short = by_words(model, traces, self.betas, form)
        else:
            error = bag_error(model, n, self.betas, form, enough, self._known)
            margin = self.lengths.margin_by_law(n) - error
            short = Short(error, margin, margin > 0)
        if short is None:
            return None
        return LengthBound(short.error, short.margin, short.right, reals.leaks, reals.head_errors)

    def _by_blocks(self, n: int, reals: LengthBound, form: Format, decide: bool) -> LengthBound:
        heads = self._temperatures(n, reals, form)
        error = float_error(self._weights, n, n, heads, form)
        margin = reals.margin
        if decide and self.lengths.uniform:
            margin = self.lengths.exact_margin(n)[0]
        direct = float_error(self._weights, n, n, replace(heads, steep=self._steep(n, reals)), form)
        return LengthBound(
            min(reals.error + error, direct), margin - error, margin - error > 0,
            reals.leaks, reals.head_errors,
        )  # fmt: skip

    def _steep(self, n: int, reals: LengthBound) -> dict[HeadId, Steep]:
        """βγ at this length, by the laws or by exact gaps where those are wider."""
        exact = {} if reals.method == "laws" else self.lengths.gaps(n)
        result = {}
        for name, law in self.laws.gap.items():
            if law is None:
                continue
            beta, gap, rows = self.betas[name], float(law.at(n)), self._crowds[name]
            wider = float(exact.get(name, 0))
            if math.isfinite(wider) and wider > gap * (1 + 1e-9):
                gap, rows = wider, None  # crowds are counted in the law's gaps
            result[name] = Steep(
                beta * gap * (1 - 1e-12), rows, beta, own=self._own(name, n, beta, gap)
            )
        return result

    def _own(self, name: HeadId, n: int, beta: float, gap: float) -> tuple[float, ...] | None:
        """How far each row of the value is off at most, if the head returns a score that does not
        err."""
        if name not in self._returned:
            return None
        below = mean_below(n + self.lengths.model.sinks, beta, gap) * (1 + 1e-9)
        return tuple(float(abs(x)) * below for x in self._returned[name].slopes)

    def _temperatures(self, n: int, reals: LengthBound, form: Format) -> Temperatures:
        copies = self.laws.portrait.copies
        ties = {} if reals.method == "laws" else self.lengths.ties(n)
        near: dict[HeadId, int] = {}
        leak: dict[HeadId, float] = {}
        for name, law in self.laws.gap.items():
            leak[name] = 0.0 if law is None else max(reals.leaks[name], 1e-300)
            rows = self._crowds[name]
            if law is not None and rows is not None:  # the m-th nearest key lies at m gaps
                steps = (form.lost + 2) / (self.betas[name] * float(law.at(n)))
                near[name] = rows * math.ceil(steps) + 1
        single = {
            name: one or (name in ties and not ties[name].several) for name, one in copies.items()
        }
        benign = [name for name, tie in ties.items() if not tie.varies]
        return Temperatures(self.betas, leak, single, near, benign=benign)
