"""The certified error at one length, over all its words: by running them, or by reachable sets.

Short lengths, with few words, are run word by word (tight); longer ones are bounded on the
reachable sets. Both cover every word of the length. The sets treat positions as independent, so
over several layers their bounds can be thousands of times too large: where all words of the
greatest length asked for can be run, they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.averaging import averaging
from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.analysis.gaps import gaps_of, least_gaps, may_tie
from softhat.ahat.analysis.guard import hold_against, ties_are_broken
from softhat.ahat.analysis.margins import margin_law
from softhat.ahat.analysis.reach import Reach, reach
from softhat.ahat.analysis.structure import error_free
from softhat.ahat.analysis.tally import Tally, row_tally
from softhat.ahat.bounds.along_laws import along_laws
from softhat.ahat.bounds.functionals import ErrorPlan, plan
from softhat.ahat.bounds.sets import SetBounds
from softhat.ahat.bounds.words import HeadMemory, WordErrors, word_errors
from softhat.ahat.exact import ExactTrace, run
from softhat.ahat.model import AHAT
from softhat.ahat.words import all_words
from softhat.numerics.exact import Scaled, linear, scaled
from softhat.proof.simulations.lengths import LawBounds

HeadId = tuple[int, int]
Betas = Mapping[HeadId, float]
Method = Literal["structure", "words", "sets", "laws"]
FEW_WORDS = 600  # always run rather than bounded
SOME_WORDS = 5_000  # run if the greatest length asked for has no more
MANY_WORDS = 20_000  # run if the sets are too large, or their bounds too loose
BINDING = 64  # the words with the greatest errors that a bound remembers
KEPT_SCORES = 10_000_000  # of the exact runs that are kept
KEPT_PAIRS = 40_000_000  # queries × keys of the sets that are kept
COLD_LEAK = 1e-3  # the leak at which a head's reference β is taken


@dataclass(frozen=True, slots=True)
class Ties:
    """What rows of a head may be like."""

    several: bool
    """Several keys are maximal."""
    varies: bool
    """Several are, and their values differ."""
    partial: bool
    """Several are, and not all keys."""


@dataclass(frozen=True, slots=True)
class LengthBound:
    """What is certified at one length, in one arithmetic."""

    error: float
    margin: float  # least distance of a value from the threshold, on its right side
    decisions: bool  # every decision value > 0 is the AHAT's
    leaks: Mapping[HeadId, float]
    head_errors: Mapping[HeadId, float]  # what each head adds, along what is read later
    method: Method = "structure"

    def holds(self, epsilon: float | None) -> bool:
        """Is the error within ε? (None: are the decisions right?)"""
        return self.decisions if epsilon is None else self.error <= epsilon


class Lengths:
    """Bounds at every length of one model; what does not depend on β is kept."""

    def __init__(
        self, model: AHAT, top: int = 1, most: int = SOME_WORDS, sets: bool = True
    ) -> None:
        """`top` is the greatest length asked for; to `most` words of that length are run. Without
        `sets` what has more words is bounded by laws."""
        self.source = model
        self.model = model = averaging(model)
        self.run_all = len(model.alphabet) ** top <= most
        self.most = most
        self.by_sets = sets
        self.uniform = error_free(model)
        self._sets: dict[int, Reach] = {}
        self._set_bounds: tuple[int, SetBounds] | None = None
        self._complete: dict[int, bool] = {}
        self._tallies: dict[int, Tally] = {}
        self._ties: dict[int, dict[HeadId, Ties]] = {}
        self._runs: dict[int, list[ExactTrace]] = {}
        self._latest: tuple[tuple[int, int], list[ExactTrace]] | None = None
        self._binding: dict[int, ExactTrace] = {}
        self._memories: dict[int, HeadMemory] = {}

    def method(self, n: int) -> Method:
        """How length n is certified."""
        if self.uniform:
            return "structure"
        words = len(self.model.alphabet) ** n
        if words <= (self.most if self.run_all else FEW_WORDS):
            return "words"
        if self.by_sets and self._has_sets(n):
            return "sets"
        return "words" if words <= MANY_WORDS else "laws"

    def sets(self, n: int) -> Reach:
        """The reachable sets of length n; the latest are kept, as many as memory allows."""
        if n not in self._sets:
            sets = reach(self.model, n)
            self._complete[n] = sets.complete
            while self._sets and sets.size + sum(s.size for s in self._sets.values()) > KEPT_PAIRS:
                self._sets.pop(next(iter(self._sets)))
            self._sets[n] = sets
        return self._sets[n]

    def _has_sets(self, n: int) -> bool:
        if n not in self._complete:
            self.sets(n)
        return self._complete[n]

    def _set_bounds_of(self, n: int) -> SetBounds:
        """The bounds of length n, kept until another length is asked for."""
        if self._set_bounds is None or self._set_bounds[0] != n:
            self._set_bounds = n, SetBounds(self._plan, self.sets(n))
        return self._set_bounds[1]

    def bound(self, n: int, betas: Betas) -> LengthBound:
        """The certified error over all words of length n in the reals, and decisions."""
        match self.method(n):
            case "structure":
                none = dict.fromkeys(self.model.heads, 0.0)
                return LengthBound(0.0, 0.0, True, none, none)
            case "words":
                return self._by_words(n, betas)
            case "sets":
                errors = self._set_bounds_of(n).errors(betas)
                return LengthBound(
                    errors.error, errors.margin, not errors.wrong_side, errors.leaks,
                    errors.head_errors, "sets",
                )  # fmt: skip
            case "laws":
                return self.by_laws(n, betas)

    def enough(self, n: int, betas: Betas, target: float, decide: bool, last: bool) -> LengthBound:
        """The bound by laws where that is at most the target (and, with `decide`, settles the
        decisions); else, and for the last length asked for, the closest bound there is."""
        if not (self.uniform or last):
            bound = self.by_laws(n, betas)
            if bound.error <= target and (bound.decisions or not decide):
                return bound
        return self.bound(n, betas)

    def by_laws(self, n: int, betas: Betas) -> LengthBound:
        """The bound from the gap laws alone: quick at any length, and looser."""
        errors = self._along.errors(n, betas)
        margin = self.margin_by_law(n) - errors.error
        return LengthBound(errors.error, margin, margin > 0, errors.leaks, errors.added, "laws")

    def margin_by_law(self, n: int) -> float:
        """|value| is at least this over all words of length n; 0 where nothing is known."""
        law = margin_law(gap_laws(self.model).portrait)
        return 0.0 if law is None else float(law.at(n))

    @cached_property
    def _along(self) -> LawBounds:
        return along_laws(self.model)

    def glance(self, n: int, betas: Betas) -> float:
        """The error in the reals for a search over β: never above `bound(n, betas).error`.

        Where many words are run it is that of the words which earlier bounds found worst.
        """
        if self.method(n) != "words" or len(self.model.alphabet) ** n <= FEW_WORDS:
            return self.bound(n, betas).error
        if n not in self._binding:
            return self.bound(n, betas).error
        errors = word_errors(self._plan, self._binding[n], betas, self._memories[n])
        return float(_errors(errors).max())

    def reference(self, n: int) -> dict[HeadId, float]:
        """A β for each head that leaks at most COLD_LEAK on every word of length n, no error in."""
        if self.method(n) == "words":
            return dict(self._tally(n).betas[n])
        if self.method(n) == "laws":
            keys = math.log((n + self.model.sinks) / COLD_LEAK)
            laws = gap_laws(self.model).gap.items()
            return {
                name: 0.0 if law is None else keys * math.exp(-law.log_at(n)) for name, law in laws
            }
        return dict(gaps_of(self.sets(n), COLD_LEAK).critical_beta)

    def exact_margin(self, n: int) -> tuple[float, str]:
        """The least |exact value| over all words of length n, and where (a word or the length);
        0 where nothing is known."""
        if self.method(n) == "sets" or (self.uniform and self.sets(n).complete):
            sets = self.sets(n)
            places = sets.final[int(self.model.bos) :][:n]
            x = Scaled(np.concatenate(places), sets.final_den)
            weights = scaled((self.model.output_weights,))
            exact = linear(x, weights, scaled(((self.model.output_bias,),)))
            return float(np.abs(exact.floats()).min()), f"possibly at length {n}"
        if len(self.model.alphabet) ** n > MANY_WORDS:
            return 0.0, f"possibly at length {n}"
        best, where = np.inf, ""
        for codes in all_words(len(self.model.alphabet), n):
            trace = run(self.model, codes)
            sizes = np.abs(trace.output.floats()[:, trace.own]).min(axis=1)
            if sizes.min() < best:
                best = float(sizes.min())
                where = f"word {self.model.spell(codes[int(sizes.argmin())])!r}"
        return best, where

    def gaps(self, n: int) -> dict[HeadId, Fraction | float]:
        """The least gap of each head over all words of length n; inf where it is always uniform."""
        if self.method(n) == "structure":
            return dict.fromkeys(self.model.heads, math.inf)
        if self.method(n) == "laws":
            laws = gap_laws(self.model).gap.items()
            return {name: math.inf if law is None else law.at(n) for name, law in laws}
        if self.method(n) == "sets":
            return dict(least_gaps(self.sets(n)))
        return dict(self._tally(n).gaps[n])

    def ties(self, n: int) -> dict[HeadId, Ties]:
        """For each head what its rows of several maximal keys may be like."""
        if n not in self._ties:
            self._ties[n] = self._ties_of(n)
        return self._ties[n]

    def _ties_of(self, n: int) -> dict[HeadId, Ties]:
        if self.method(n) == "structure":
            return dict.fromkeys(self.model.heads, Ties(False, False, False))
        if self.method(n) == "laws":
            copies = gap_laws(self.model).portrait.copies.items()
            return {name: Ties(not one, not one, not one) for name, one in copies}
        if self.method(n) == "sets":
            return {
                (l, h): Ties(
                    any(o.ties for row in rows for o in row.outcomes),
                    any(t.varies for row in rows for o in row.outcomes for t in o.ties),
                    any(may_tie(row) for row in rows if row.keys > 1),
                )
                for l, stage in enumerate(self.sets(n).stages)
                for h, places in enumerate(stage.rows)
                for rows in [list({id(row): row for place in places for row in place}.values())]
            }
        tally = self._tally(n)
        return {
            name: Ties(tally.several[name], tally.varying[name], bool(tally.rows[n][name][2]))
            for name in self.model.heads
        }

    def traces(self, n: int, chunk: int) -> Iterator[ExactTrace]:
        """Exact runs of all words of length n; kept where they are few, and the latest of those
        that are not many."""
        batches = all_words(len(self.model.alphabet), n, chunk)
        words = len(self.model.alphabet) ** n
        if words > FEW_WORDS:
            if self._latest is not None and self._latest[0] == (n, chunk):
                yield from self._latest[1]
                return
            scores = words * (n + self.model.sinks) ** 2 * len(self.model.heads)
            runs = (run(self.model, codes) for codes in batches)
            if scores > KEPT_SCORES:
                yield from runs
                return
            self._latest = (n, chunk), list(runs)
            yield from self._latest[1]
            return
        if n not in self._runs:
            self._runs[n] = [run(self.model, codes) for codes in batches]
        yield from self._runs[n]

    def _tally(self, n: int) -> Tally:
        if n not in self._tallies:
            tally = row_tally(self.model, n, COLD_LEAK)
            hold_against(gap_laws(self.model), tally)
            ties_are_broken(tally)
            self._tallies[n] = tally
        return self._tallies[n]

    @cached_property
    def _plan(self) -> ErrorPlan:
        return plan(self.model)

    def _by_words(self, n: int, betas: Betas) -> LengthBound:
        used = self._plan
        error, margin, right = 0.0, np.inf, True
        leaks = dict.fromkeys(self.model.heads, 0.0)
        by_head = dict.fromkeys(self.model.heads, 0.0)
        width = max([2 * p.output.shape[0] for layer in used.layers for p in layer.heads] + [1])
        chunk = max(8, 1_500_000 // ((n + 1) ** 2 * width))
        worst = np.zeros((0, n), dtype=np.int64)
        sizes = np.zeros(0)
        for trace in self.traces(n, chunk):
            errors = word_errors(used, trace, betas)
            here = _errors(errors)
            error = max(error, float(here.max()))
            worst, sizes = np.concatenate([worst, trace.codes]), np.concatenate([sizes, here])
            largest = np.argsort(-sizes, kind="stable")[:BINDING]
            worst, sizes = worst[largest], sizes[largest]
            exact = trace.output.floats()[:, trace.own]
            positive = (trace.output.num[:, trace.own] > 0).astype(bool)
            margins = np.where(positive, exact + errors.low, -(exact + errors.high))
            margin = min(margin, float(margins.min()))
            right = right and not bool(np.where(positive, margins <= 0, margins < 0).any())
            for name, leak in errors.leaks.items():
                leaks[name] = max(leaks[name], leak)
                by_head[name] = max(by_head[name], errors.head_errors[name])
        if len(self.model.alphabet) ** n > FEW_WORDS:
            known = [self._binding[n].codes] if n in self._binding else []
            codes = np.unique(np.concatenate([*known, worst]), axis=0)
            self._binding[n], self._memories[n] = run(self.model, codes), HeadMemory()
        return LengthBound(error, margin, right, leaks, by_head, "words")


def _errors(errors: WordErrors) -> npt.NDArray[np.float64]:
    """The greatest error of each word."""
    result: npt.NDArray[np.float64] = np.maximum(errors.high, -errors.low).max(axis=1)
    return result
