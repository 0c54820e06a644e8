"""Claims to a given length: inverse temperatures that are constants, checked length by length.

Where all words of a length can be run, they are (`runs`). For longer ones the evidence gives, a
layer, denominators and ranges of the residual stream and for each head its gap law and how crowded
its maximum is. These are checked as for every length (`check`); with them the error passes through
the layers in numbers: Theorem 12 bounds how far the attention of a head is off, and what is off
moves what the head writes by at most that times its range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.io.errors import SofthatError, VoidError
from softhat.numbers.growth import Polynomial
from softhat.numbers.laws import Constant, Law
from softhat.numerics.intervals import around_all, up
from softhat.proof.simulations import runs
from softhat.proof.simulations import source as sources
from softhat.proof.simulations.errors import erring
from softhat.proof.simulations.evidence import LengthEvidence, read_lengths
from softhat.proof.simulations.own_score import mean_below, own_score
from softhat.proof.simulations.residual import Sight
from softhat.proof.simulations.source import HeadId, Matrix, SourceModel, support
from softhat.proof.simulations.walk import GapFact, Stage, check_margin, walked

Floats = npt.NDArray[np.float64]
MOST_WORDS = 20_000
"""Words of one length that are run."""
WIDER = 1 + 1e-11  # covers the rounding of this computation itself
ROOM = 16 / 15
"""What a head that returns its own score is bounded by is attained: were all of ε used for it, none
would be left for rounding."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What is proved of one length: values err by at most `error`, by that method."""

    error: float
    method: str


def check_to(
    document: Mapping[str, Any],
    laws: Mapping[HeadId, Law],
    evidence: Any,
    epsilon: Fraction | None,
    top: int,
) -> dict[int, Reached]:
    """The lengths 1, 2, … to `top`, as far as it is proved that softmax with these constants is
    within ε of the transformer in the document (None: takes its decisions)."""
    source = sources.read(document)
    if set(laws) != set(source.heads) or not all(isinstance(x, Constant) for x in laws.values()):
        raise SofthatError("the simulation has no constant β for each of its heads")
    betas = {name: Fraction(law.at(1)) for name, law in laws.items()}
    if source.longest is not None and source.longest < top:
        raise SofthatError(f"the position tables end at length {source.longest}")
    walk = _Lengths(source, betas, read_lengths(evidence), top)
    reached: dict[int, Reached] = {}
    for n in range(1, top + 1):
        proved = walk.reached(n, epsilon)
        if proved is None:
            break
        reached[n] = proved
    return reached


class _Lengths:
    """What is proved of one length after the other: by laws where they hold, else by words."""

    def __init__(
        self,
        source: SourceModel,
        betas: Mapping[HeadId, Fraction],
        claims: LengthEvidence,
        top: int,
    ) -> None:
        self.source, self.betas = source, betas
        self.bounds: LawBounds | None = None
        self.margin: Law | None = None
        try:
            stages, end = walked(source, claims.streams, claims.heads, top)
            self.bounds = LawBounds(source, stages)
            if claims.margin is not None:
                check_margin(source, end, claims.margin)
                self.margin = claims.margin
        except VoidError:
            pass  # then words are run, as far as that goes

    def reached(self, n: int, epsilon: Fraction | None) -> Reached | None:
        """What is proved of length n; None if that is not enough."""
        if self.bounds is not None:
            if self.bounds.exact:
                return Reached(0.0, "structure")
            error = self.bounds.errors(n, self.betas).error
            allowed = epsilon
            if epsilon is None and self.margin is not None:
                allowed = Fraction(self.margin.at(n)) * Fraction(1 - 1e-9)  # 0 decides nothing
            if allowed is not None and math.isfinite(error) and Fraction(error) <= allowed:
                return Reached(error, "laws")
        if len(self.source.alphabet) ** n > MOST_WORDS:
            return None
        return self._run(n, epsilon)

    def _run(self, n: int, epsilon: Fraction | None) -> Reached | None:
        """All words of length n."""
        worst = 0.0
        for words in runs.chunks(self.source, n):
            values = runs.hard(self.source, words)
            soft = runs.soft(self.source, words, self.betas)
            hard = around_all(values)
            right = np.where(values.num > 0, soft.low > 0, soft.high <= 0)
            if epsilon is None and not right.all():
                return None
            off = np.maximum(up(soft.high - hard.low), up(hard.high - soft.low))
            if not np.isfinite(off).all():
                return None
            worst = max(worst, float(off.max()))
        if epsilon is not None and Fraction(worst) > epsilon:
            return None
        return Reached(worst, "words")


@dataclass(frozen=True, slots=True)
class LawErrors:
    """Bounds for every word of a length."""

    error: float
    leaks: Mapping[HeadId, float]
    added: Mapping[HeadId, float]
    """The greatest error that a head adds to a coordinate."""


class LawBounds:
    """The error in numbers, at one length after the other: looser than what running words gives,
    but quick at any length and whatever the number of words."""

    def __init__(self, source: SourceModel, stages: list[Stage]) -> None:
        self.source = source
        width, wrong = source.width, frozenset[int]()
        for stage in stages:
            _, wrong = erring(stage.layer, stage.stream, wrong, stage.uniform)
        self.exact = not support(source.weights) & wrong
        """Does nothing err that the value reads?"""
        # Of each head: how errors of what it reads pass through, and how far it attends elsewhere.
        self.heads = [
            [
                (
                    _sizes(sight.head.output) @ _sizes(sight.head.value, width),
                    None if fact is None or even else _Head(sight, fact, source),
                )
                for sight, fact, even in zip(stage.sights, stage.facts, stage.uniform, strict=True)
            ]
            for stage in stages
        ]
        self.forwards = [
            None
            if stage.layer.forward is None
            else _sizes(stage.layer.forward.out) @ _sizes(stage.layer.forward.into, width)
            for stage in stages
        ]

    def errors(self, n: int, betas: Mapping[HeadId, Fraction | float]) -> LawErrors:
        """What the values of all words of length n err by at most."""
        error = np.zeros(self.source.width)
        leaks, added = dict[HeadId, float](), dict[HeadId, float]()
        with np.errstate(all="ignore"):
            for l, (heads, forward) in enumerate(zip(self.heads, self.forwards, strict=True)):
                after = error.copy()
                for h, (passes, head) in enumerate(heads):
                    passed, leaks[l, h] = passes @ error, 0.0
                    if head is not None:
                        beta = float(betas[l, h]) * WIDER
                        off, leaks[l, h] = head.off(n, beta, error)
                        moved = off * head.widths(n) if off else np.zeros_like(passed)
                        passed = np.fmin(passed + moved, head.by_own_score(n, beta, error))
                    added[l, h] = float(passed.max(initial=0.0))
                    after = after + passed
                error = after if forward is None else after + forward @ after
                error = error * WIDER
        total = float(_sizes((self.source.weights,))[0] @ error) * WIDER
        return LawErrors(total if math.isfinite(total) else math.inf, leaks, added)


class _Head:
    """One head that is not uniform, at any length."""

    def __init__(self, sight: Sight, fact: GapFact, source: SourceModel) -> None:
        head, stream = sight.head, sight.stream
        self.fact, self.sinks = fact, source.sinks
        self.query, self.key = (_sizes(m, source.width) for m in (head.query, head.key))
        self.apart = [stream.range(k).width for k in sight.key]
        self.size = [stream.range(q).size for q in sight.query]
        self.written = [
            stream.range(stream.read(head.through(c))).width for c in range(source.width)
        ]
        self._known: dict[int, tuple[Floats, Floats, Floats, float]] = {}
        # Of a head that returns its own score: that, λ of each coordinate, and the rest of it.
        self.own: tuple[Floats, Floats, Floats] | None = None
        if (own := own_score(sight)) is not None:
            slopes = tuple(own.slope(head, c) for c in range(source.width))
            rest = tuple(
                tuple(w - slope * s for w, s in zip(head.through(c), own.score, strict=True))
                for c, slope in enumerate(slopes)
            )
            self.own = _sizes((own.score,))[0], _sizes((slopes,))[0], _sizes(rest)

    def by_own_score(self, n: int, beta: float, error: Floats) -> Floats:
        """What each coordinate errs by if the head returns its own score (Theorem 44); else inf."""
        if self.own is None or (self.query @ error).any():
            return np.full_like(error, math.inf)
        score, slopes, rest = self.own
        moved = float(score @ error)
        gap = 0.0 if moved else self._at(n)[3] / WIDER**3
        below = mean_below(n + self.sinks, beta / WIDER**2, gap) * ROOM
        return (slopes * (below + moved) + rest @ error) * WIDER

    def widths(self, n: int) -> Floats:
        """The range of what the head writes to each coordinate."""
        return self._at(n)[0]

    def off(self, n: int, beta: float, error: Floats) -> tuple[float, float]:
        """Total variation against hard attention (Theorem 12), and the leak."""
        q, k = self.query @ error, self.key @ error
        _, apart, size, gap = self._at(n)
        moved = beta * float(q @ (apart + 2 * k) + size @ (2 * k)) * WIDER
        steep = beta * gap / WIDER**3
        if not math.isfinite(moved) or not steep > 0:
            return 1.0, 1.0
        if self.fact.crowd is not None:
            rest = self.fact.crowd / math.expm1(min(steep, 700.0)) * math.exp(min(moved, 700.0))
        else:
            rest = (n + self.sinks - 1) * math.exp(min(max(moved - steep, -700.0), 700.0))
        leak = rest / (1 + rest)
        tilt = 0.0 if self.fact.agreed else math.tanh(moved / 4)
        return min(1.0, (leak + tilt) * WIDER), min(1.0, leak * WIDER)

    def _at(self, n: int) -> tuple[Floats, Floats, Floats, float]:
        """Widths, apart, size and the gap at a length, kept: many β are tried there."""
        if n not in self._known:
            widths, apart, size = (_values(p, n) for p in (self.written, self.apart, self.size))
            self._known[n] = widths, apart, size, math.exp(self.fact.gap.log_at(n))
        return self._known[n]


def _sizes(matrix: Matrix, width: int | None = None) -> Floats:
    """|weights|; a matrix without rows has the width that is given."""
    if not matrix:
        return np.zeros((0, width or 0))
    return np.array([[float(abs(w)) for w in row] for row in matrix], np.float64) * WIDER


def _values(polynomials: list[Polynomial], n: int) -> Floats:
    return np.array([float(p.at(n)) for p in polynomials], np.float64) * WIDER
