"""From scores to a head's output: the error of softmax in a number format.

The winner's weight is exp(0) = 1. Losers are off by at most (1 + 8u_a)(1 + u), or are subnormal
and at most doubled, or vanish, which only helps. Sums of weights and of weighted values have as
many roundings as there are weights that do not vanish; then come one division and storage.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor

from softhat.numbers.formats import Format
from softhat.proof.scores import CARE, Failure


@dataclass(frozen=True, slots=True)
class Bound:
    """`low`: how far below 1 a true output can be; `high`: how far above 0 a false one;
    `over`: how far beyond 1 any output can be. Outputs are never negative."""

    low: float
    high: float
    over: float


EXACT = Bound(0.0, 0.0, 0.0)


def softmax(low: float, high: float, terms: float, tail: float, form: Format) -> Bound:
    """From the weight of losers relative to the winner's (`low`: the answer is yes; `high`: no),
    at most `terms` weights that do not vanish, and the weight of subnormal losers."""
    # Of a score minus the maximum, of exp, of storage.
    inflated = exp(2 * form.visible * form.u_sum) * (1 + form.kernel.exp_units * form.u_sum) * CARE
    inflated *= 1 + form.u_score  # weights are stored as scores are
    low, high = low * inflated + tail, high * inflated + tail
    # One sum of weights, one of weighted values, and what comes after them.
    sums = (2 * terms + 1 + form.kernel.between) * form.u_sum * CARE
    low = low / (1 + low) + sums
    if form.u:  # from 1/2 to 1 storage has the spacing u; what exceeds 1 by less is stored as 1
        low = floor(low / form.u + 0.5) * form.u
    high = high / (1 + high) * (1 + sums) * (1 + form.u) * CARE
    return Bound(low, high, sums if sums >= form.u else 0.0)


def checked(result: Bound) -> Bound | Failure:
    if max(result.low, result.high) > 0.25:
        return Failure("its error exceeds 1/4")
    return result
