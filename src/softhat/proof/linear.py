"""How long a word the linear runtime takes in a number format: its own certificate.

The model's certificate proves that its weights compute the formula with hard attention. The linear
runtime takes the same heads and gates with arithmetic of its own: so here are the bounds of its
heads, and what follows for gates, read-outs and lengths is `lengths`.

The runtime reads a word in pieces and, where heads look both ways, in several passes. A state that
is carried from piece to piece holds integers, bits and one mean that was computed already, so a
cut changes no sum; a pass that computes a column again does the same steps on the same numbers, and
one that keeps it keeps it as it is. So nothing below depends on the pieces.

Means and scores are summed in float64 from integers, so positions are never rounded to the
storage format and only three errors remain:

- the leak of the softmax itself, the same for every n;
- the rounding of each head output to the storage format, u = 2^-p (subnormal averages: η);
- for a comparison, the rounding of the averages it reads. Its logit at j = i is
  L = G·(the integer sum S) + a0 + a1·i + a2·r, a multiple of some g plus an offset, so |L| is at
  least `up` above 0 or `down` below; an average x = S/(i+1) that is off by a factor 1 + u moves L
  by u·|G·S|. That is at most u·|G|·max|v|·n, so the length is about 2^p/(2·max|v|), or 2^p/max|v|
  where the largest average is a power of two, because x is off by half the spacing below it at
  most; past and future averages share the n positions. With one average |G·S| <= |L| + |rest| too:
  if the rest is a constant, the error is relative and the length does not matter. Where L has one
  sign for all words up to n, |L| is at least its least value.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, expm1

import numpy as np

from softhat.io.errors import VoidError
from softhat.numerics.formats import Format, format_of
from softhat.proof.atoms import Atoms, Range
from softhat.proof.boolean import Space
from softhat.proof.check import derived
from softhat.proof.heads.average import AverageKind
from softhat.proof.heads.kind import Kind, SlopedKind
from softhat.proof.heads.sign import SignKind
from softhat.proof.heads.sign.comparison import CountComparison
from softhat.proof.lengths import Proof, Report
from softhat.proof.softmax import EXACT, Bound
from softhat.proof.void import UNPROVED
from softhat.transformer.weights import Transformer

LONGEST = 1 << 40
"""No word is longer than this."""
SUM64 = 2.0**-48
"""More than the error of any sum here that is taken in float64, relative to its terms: counts are
integers and add up exactly, a logit adds at most a dozen products of them, and 32 roundings of
2^-53 each are 2^-48."""


def linear_max_length(
    transformer: Transformer, dtype: str = "float32", proof: Proof | None = None
) -> int:
    """The longest word on which the linear runtime, where it runs a model, provably answers as hard
    attention does.

    0 if what the weights compute is not derived, if a weight is not exact in the format, or if even
    one position is not certain. `proof` is what the checker derived from these weights, if it has.
    """
    form, weights = format_of(dtype), transformer.numbers()
    if transformer.attention == "hard" or not np.array_equal(form.load(weights), weights):
        return 0
    try:
        proof = replace(_derived(transformer) if proof is None else proof, longest=LONGEST)
        return LinearReport(transformer, {}, proof, [], {form.name: form}).limit(form)[0]
    except UNPROVED:
        return 0


def _derived(t: Transformer) -> Proof:
    """What the weights compute, whatever they are claimed to."""
    proof = Proof()
    outputs = derived(t, Atoms(Space(t.symbols, t.propositional)), proof)
    proof.outputs += [(name, threshold, True) for name, (threshold, _) in outputs.items()]
    return proof


class LinearReport(Report):
    """Lengths by the bounds of the linear runtime."""

    def bound(self, kind: Kind, n: int, form: Format) -> Bound | str:
        try:
            return linear_bound(kind, n, form)
        except VoidError as error:
            return str(error)

    def positions_held(self, form: Format) -> int:
        """Positions are integers, or floats in float64."""
        return LONGEST


def linear_bound(kind: Kind, n: int, form: Format) -> Bound:
    """The error of a head's output for every word of length at most n."""
    match kind:
        case AverageKind(mass=mass, grid=grid):
            if mass * (n + 2) >= 2.0**62 * grid:
                raise VoidError("a weighted count is beyond 64 bits")
            return EXACT  # who reads a mean counts its rounding
        case SlopedKind():
            error = kind.leak
        case SignKind():
            error = _losers(kind.comparison, n, form)
        case _:
            raise VoidError("a selection: its bound is the certificate's")
    # An output is rounded where it is read and where it is stored, and no mean of bits exceeds 1.
    over = SUM64 + 2 * _relative(form)
    return Bound(error + over, error + over, over)


def _relative(form: Format) -> float:
    """Of what is stored: it is held in float32 first, then rounded to 16 bits."""
    return form.unit + (form.u_sum if form.u else 0.0) + SUM64


def _losers(compared: CountComparison, n: int, form: Format) -> float:
    """What a comparison gives to the wrong side, in words of any length up to n.

    `left` is what remains of the least |L|: the exact sums of float64 take `SUM64` of it, subnormal
    averages `moved`, and the averages' rounding the smaller of a share of all that they add up to
    and half a spacing of the largest (`spaced`). Scores fall by at least `slope` a step.
    """
    relative = _relative(form)
    spaced: dict[Range, float] = dict.fromkeys(compared.sizes, 0.0)
    slope, moved = compared.steep, 0.0
    for mean in compared.means:
        spaced[mean.over] += mean.largest * (form.roundoff(mean.size) + relative - form.unit)
        weight = mean.largest / mean.size if mean.size else 0.0
        moved += weight * (n + 2) * form.smallest
        if mean.over != "total":
            # An average lies between 0 (its sink) and its values, and only one side can hurt.
            steeper = mean.low if mean.over == compared.direction else -mean.high
            slope += min(0.0, steeper) * (1 + relative) - weight * form.smallest
    sums = _shared(compared.sizes) * (n + 1)
    placed = abs(compared.at_i) * n + abs(compared.at_r) * (n + 1)  # i + r is at most n + 1
    moved += SUM64 * (abs(compared.constant) + placed + sums)
    least, most = compared.logits(1, n)
    yes, no = compared.gaps(least, most)
    gap = yes if least > 0 else no if most < 0 else min(yes, no)
    # An average is off by a share of itself, and by half the spacing of the largest one.
    left = gap * (1 - SUM64) - moved - min(relative * sums, _shared(spaced) * (n + 3))
    if len(compared.means) == 1:
        rest = max(map(abs, compared.rests(1, n)))
        alone = gap * (1 - SUM64 - relative) - moved - relative * rest
        left = max(left, alone)
    if left <= 0 or slope < 1:
        raise VoidError("counts next to the threshold are not told from it")
    losers = exp(-left) / -expm1(-slope)
    return losers / (1 + losers)


def _shared(sizes: dict[Range, float]) -> float:
    """Of averages over each range, a position: past and future ones share the positions."""
    return max(sizes["past"], sizes["future"]) + sizes["total"]
