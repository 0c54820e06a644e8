"""Heads that return the score they look for: how far softmax is from the greatest, without a gap.

Theorem 44. Let a row have T keys with scores S_j, and let every value be v_j = λ·S_j + b with the
same λ and b for all its keys. Then hard attention returns λ·max S + b, however many keys share the
maximum, and softmax of β·S is off from it by at most |λ|·M/β, whatever the gaps are, where M is the
solution of M·e^M = (T-1)/e; M ≤ ln((T + 19)/8), and 1 + M ≤ ln((2T + 7)/3). If all scores but the
greatest are at least γ lower and βγ ≥ 1 + M, it is off by at most |λ|·γ·(T-1)·e^(-βγ).

Proof. Let x_j = β·(max S - S_j), let m ≥ 1 of them be 0, and let c be their mean under softmax:
Σ e^(-x_j)·(x_j - c) = 0. The m maximal keys add -c·m, and at most T-1 others add something, so one
of these has (T-1)·e^(-x)·(x - c) ≥ c, which says c ≤ f(x) = (T-1)·x/(e^x + T-1). f rises to its
greatest value M at x = 1 + M and falls from there; all x are at least βγ. e^M is a concave function
of z = (T-1)/e, so it lies below its tangents (z + e^m)/(1 + m): those at m = 2 and m = 1/2 are the
two bounds of M.

Let S be linear, S_j = s·x_j, as it is where the query is one number in each row, and let x_j err by
e_j. Softmax then returns a mean of v_j + V·e_j = λ·(S_j + s·e_j) + b + (V - λ·s)·e_j, the first
part of which is the mean of the scores that it is made from. So it is off by at most
|λ|·M/β + max |λ·s·e| + max |(V - λ·s)·e|: what errs passes through as if one key were read, and β
times an error is nowhere asked to be small.
Machine-checked: `own_score_near`, `own_score_nearer` and `enough` of proofs/OwnScore.v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from softhat.numbers.laws import Law, Length, Log, Maximum, Minimum, as_law, product
from softhat.proof.simulations.residual import LinearReading, Sight, combined
from softhat.proof.simulations.source import NOTHING, SourceHead, Vector


@dataclass(frozen=True, slots=True)
class OwnScore:
    """The score as a row that reads the residual stream, and λ of each row of the value (0 for one
    that is not written)."""

    score: Vector
    slopes: Vector

    def slope(self, head: SourceHead, c: int) -> Fraction:
        """λ of what the head writes to coordinate c."""
        return sum((w * x for w, x in zip(head.output[c], self.slopes, strict=True)), NOTHING)


def own_score(sight: Sight) -> OwnScore | None:
    """Is each value that the head writes a multiple of its score, plus what is the same at all
    positions of a word? For that the query has to be the same numbers everywhere."""
    head, stream = sight.head, sight.stream
    score = [NOTHING] * len(head.output)
    for query, row in zip(sight.query, head.key, strict=True):
        if query.form or len(set(query.content)) > 1:
            return None
        score = [x + query.content[0] * w for x, w in zip(score, row, strict=True)]
    scores = stream.read(tuple(score))
    if stream.steady(scores):
        return None
    slopes = []
    for k, value in enumerate(sight.value):
        if not any(row[k] for row in head.output):
            slopes.append(NOTHING)
            continue
        slope = _slope(sight, scores, value)
        rest = combined([(value.form, Fraction(1)), (scores.form, -slope)])
        content = tuple(v - slope * s for v, s in zip(value.content, scores.content, strict=True))
        if not stream.steady(LinearReading(content, rest)):
            return None
        slopes.append(slope)
    return OwnScore(tuple(score), tuple(slopes))


def _slope(sight: Sight, scores: LinearReading, value: LinearReading) -> Fraction:
    """λ, if there is one: told by an atom that differs between keys, or by two contents."""
    for atom, w in scores.form.items():
        if sight.stream.atoms[atom].apart.unit:
            return value.form.get(atom, NOTHING) / w
    pairs = zip(value.content, scores.content, strict=True)
    return next(
        (v - value.content[0]) / (s - scores.content[0]) for v, s in pairs if s != scores.content[0]
    )


def temperature(gap: Law, strict: Law, sinks: int) -> Law:
    """β at which the mean of scores that do not err is at most 1/strict below the greatest: by the
    gap, which has to be so large, or by the number of keys T alone."""
    keys = Length(sinks)
    inside = Maximum((keys * gap * strict, (2 * keys + 7) / 3))
    return Minimum((product(as_law(1) / gap, Log(inside)), strict * Log(Length(sinks + 19) / 8)))


def mean_below(keys: int, beta: float, gap: float) -> float:
    """How far the mean of the scores of so many keys is below the greatest, at most; the gap may be
    0 where none is known. Each step of the iteration is a tangent of the concave e^M."""
    if keys < 2:
        return 0.0
    z, most = (keys - 1) / math.e, math.log(keys)
    for _ in range(6):
        most = math.log((z + math.exp(most)) / (1 + most)) + 1e-12
    steep = beta * gap
    if steep < 1 + most:
        return most / beta
    rest = (keys - 1) * math.exp(-min(steep, 700.0))
    return gap * rest / (1 + rest)
