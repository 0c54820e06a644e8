"""How long a word the linear runtime takes in a number format: its own certificate.

The model's certificate proves that its weights compute the formula with hard attention. What
this runtime adds is one error a head output, and it is right as long as no gate sees more than
it can round away. How much that is, is read from the weights (`_rooms`): the distance of a gate's
sums from the two ends of its clip, that of a read-out's from its threshold.

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
  least `gap`; an average x = S/(i+1) that is off by a factor 1 + u moves L by u·|G·S|. That is
  at most u·|G|·max|v|·n, so the length is about 2^p/(2·max|v|), or 2^p/max|v| where the largest
  average is a power of two, because x is off by half the spacing below it at most; past and
  future averages share the n positions. With one average |G·S| <= |L| + |rest| too: if the rest is
  a constant, the error is relative and the length does not matter. Where L has one sign for all
  words up to n, |L| is at least its least value.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import copysign, exp, inf

import numpy as np

from softhat.numbers.positions import Named
from softhat.numbers.rationals import common_divisor, grid_of
from softhat.numerics.formats import Format, format_of
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.check import derived
from softhat.proof.lengths import Proof
from softhat.proof.void import UNPROVED
from softhat.transformer.rows import IntegerRow, Row, UnknownShapeError, hidden_units, rows_of
from softhat.transformer.shape_reader import Reader
from softhat.transformer.shapes import HeadForm, Local, Ramp, Residues, Uniform
from softhat.transformer.weights import Layer, Mask, Transformer

LONGEST = 1 << 40
"""No word is longer than this."""
SUM64 = 2.0**-48
"""More than the error of any sum here that is taken in float64, relative to its terms."""


def linear_max_length(transformer: Transformer, dtype: str = "float32") -> int:
    """The longest word on which the linear runtime provably answers as hard attention does.

    0 if a head has no known shape, if a weight is not exact in the format, or if even one
    position is not certain. The bound grows with n in every term, so bisection finds it.
    """
    form = format_of(dtype)
    if not _exact_weights(transformer, form):
        return 0
    try:
        checker = _Checker(transformer, form)
        if checker.safe(LONGEST):
            return LONGEST
        low, high = 0, LONGEST
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if checker.safe(middle) else (low, middle)
    except (UnknownShapeError, *UNPROVED):
        return 0
    return low


def _exact_weights(transformer: Transformer, form: Format) -> bool:
    t = transformer
    tensors = [t.embedding.values, t.readout.values, t.readout_bias, t.position_embedding.values]
    for layer in t.layers:
        for name in Layer.TENSORS:
            tensor = getattr(layer, name)
            tensors.append(tensor if isinstance(tensor, np.ndarray) else tensor.values)
    return all(np.array_equal(form.load(values), values) for values in tensors)


@dataclass(frozen=True, slots=True)
class _Average:
    """What a coordinate holds after a mean: unit·S/count, unit·S in [low, high] a position."""

    mask: Mask
    unit: Fraction
    low: float
    high: float
    integers: int
    """max |S| a position."""


class _Checker:
    def __init__(self, t: Transformer, form: Format) -> None:
        reader = Reader(t, form)
        self.transformer, self.form = t, form
        self.layers = [(reader.heads(k), layer) for k, layer in enumerate(t.layers)]
        self.units = [hidden_units(layer, form) for layer in t.layers]
        self.readout = rows_of(t.readout, form)
        self.u = 2.0**-form.digits
        half = form.storage is not form.accumulate
        self.gate, self.threshold = _rooms(t, half)
        # Held in float32 first, then rounded to 16 bits.
        self.relative = self.u + (2.0**-form.sum_digits if half else 0.0) + SUM64
        self.smallest = form.smallest
        self.spacing = 2.0 ** (1 - form.sum_digits)
        self.fixed = reader.fixed
        self.embedding = t.embedding.dense()
        self.positional = set(t.position_embedding.where[0].tolist())

    def safe(self, n: int) -> bool:
        """Whether every gate and read-out rounds to the right side on words up to length n."""
        raw: dict[int, float] = {}
        averages: dict[int, _Average] = {}
        written: set[int] = set()
        for (heads, layer), units in zip(self.layers, self.units, strict=True):
            held = dict(averages)
            for head in heads:
                for row, targets in zip(head.values, head.targets, strict=True):
                    if any(w != 1 for _, w in targets):
                        raise UnknownShapeError("a head output that is scaled")
                    if isinstance(head.shape, Uniform):
                        average = self._average(head, row, written)
                        if average.integers * (n + 2) >= 2**62:
                            return False
                        averages.update((c, average) for c, _ in targets)
                        continue
                    error = self._error(head, row, held, n)
                    raw.update((c, error) for c, _ in targets)
                    for c, _ in targets:
                        averages.pop(c, None)
            if not self._gates_hold(units, raw, averages):
                return False
            stored = {c for _, shared in units for _, out in shared for c, _ in out}
            stored |= set(np.flatnonzero(layer.out_bias).tolist())
            written |= stored
            for c in stored:  # cleared, or cleared and written: no average any more
                averages.pop(c, None)
        seen = [self._seen(row, raw, averages) for row in self.readout]
        return all(error < self.threshold - self.u for error in seen)

    def _gates_hold(
        self,
        units: list[tuple[Row, list[tuple[float, Row]]]],
        raw: dict[int, float],
        averages: dict[int, _Average],
    ) -> bool:
        for row, shared in units:
            clears = len(row) == 1 and all(
                bias == 0 and out == ((row[0][0], -row[0][1]),) for bias, out in shared
            )
            if not clears and self._seen(row, raw, averages) > self.gate:
                return False
        return True

    def _seen(self, row: Row, raw: dict[int, float], averages: dict[int, _Average]) -> float:
        """The error of a sum of bits and raw head outputs."""
        if any(c in averages for c, _ in row):
            return inf
        return sum(abs(w) * raw.get(c, 0.0) for c, w in row) + self._rounding(row, raw)

    def _rounding(self, row: Row, raw: dict[int, float]) -> float:
        """Bits times weights are multiples of the weights' grid and add up exactly while the
        spacing of the largest partial sum, at most Σ|w| and a bias, is no finer; a term that is
        no such multiple costs that spacing. The bias comes last."""
        size = 2 * (sum(abs(w) for _, w in row) + 1)
        spacing = self.spacing * size
        grid = min((grid_of(w) for _, w in row), default=1.0)
        inexact = sum(c in raw for c, _ in row) if spacing <= grid else len(row)
        return (inexact + 1) * spacing

    def _error(self, head: HeadForm, row: Row, held: dict[int, _Average], n: int) -> float:
        """|output - hard output| of a head whose value is a bit."""
        if any(abs(w) != 1 for _, w in row):
            raise UnknownShapeError("a value that is no bit")
        match head.shape:
            case Local(slope, even):
                return _leak(slope, even) + SUM64 + 2 * self.relative
            case Residues(slope, penalty, scaled, distance, modulus):
                gap = 5 * slope if scaled else penalty - slope * distance
                others = exp(-slope) + exp(-gap) / (1 - exp(-slope))
                others += exp(-modulus * slope) / (1 - exp(-modulus * slope))
                return others + SUM64 + 2 * self.relative
            case Ramp() as shape:
                return self._ramp(shape, held, n) + SUM64 + 2 * self.relative
            case _:
                raise UnknownShapeError("a selection: its bound is the certificate's")

    def _ramp(self, shape: Ramp, held: dict[int, _Average], n: int) -> float:
        constant, per_i, per_r = shape.own
        steps = [Fraction(per_i), Fraction(per_r)]
        moved = 0.0  # the error of the logit
        slope = shape.slope
        sizes: dict[Mask, float] = {"<=": 0.0, ">=": 0.0, "none": 0.0}
        spaced = dict(sizes)
        least, most = _range(constant, per_i, per_r, n)
        for c, parts, steep in shape.contents:
            average = held.get(c)
            if average is None or parts != _count_of(average.mask, max(map(abs, parts)), parts):
                raise UnknownShapeError("a comparison of something that is no average")
            weight = max(map(abs, parts))
            steps.append(Fraction(weight) * average.unit)
            largest = max(average.high, -average.low, 0.0)
            sizes[average.mask] += weight * largest
            off = self.form.roundoff(largest) + self.relative - self.u
            spaced[average.mask] += weight * largest * off
            ends = [copysign(weight, parts[0]) * v for v in (average.low, average.high)]
            least += min(0.0, *ends) * n
            most += max(0.0, *ends) * n
            moved += weight * (n + 2) * self.smallest
            # An average lies between 0 (its sink) and its values, and only one side can hurt.
            lost = max(-steep * average.low, -steep * average.high, 0.0)
            slope -= lost * (1 + self.relative) + abs(steep) * self.smallest
        sums = (max(sizes["<="], sizes[">="]) + sizes["none"]) * (n + 1)
        moved += SUM64 * (abs(constant) + abs(per_i) * n + abs(per_r) * (n + 1) + sums)
        gap = max(float(_distance(Fraction(constant), steps)), least, -most)
        # An average is off by a share of itself, and by half the spacing of the largest one.
        steps_off = (max(spaced["<="], spaced[">="]) + spaced["none"]) * (n + 3)
        left = gap * (1 - SUM64) - moved - min(self.relative * sums, steps_off)
        if len(shape.contents) == 1:
            rest = max(map(abs, _range(constant, per_i, per_r, n)))
            alone = gap * (1 - SUM64 - self.relative) - moved - self.relative * rest
            left = max(left, alone)
        if left <= 0 or slope < 1:
            return inf
        losers = exp(-left) / (1 - exp(-slope))
        return losers / (1 + losers)

    def _average(self, head: HeadForm, row: Row, written: set[int]) -> _Average:
        """max |value| at a position: symbols exclude each other, other bits may coincide."""
        t = self.transformer
        everywhere = 0.0
        by_symbol = np.zeros(max(1, len(t.symbols)))
        high = low = 0.0
        for c, w in row:
            if self.fixed.get(c) == Named("ordinary"):
                everywhere += w
            elif c in written or c in self.positional or t.propositional:
                high, low = high + max(w, 0.0), low + min(w, 0.0)
            else:
                by_symbol += w * self.embedding[: len(by_symbol), c]
        top = everywhere + high + float(by_symbol.max())
        bottom = everywhere + low + float(by_symbol.min())
        integer = IntegerRow(row)
        return _Average(head.mask, integer.quantum, bottom, top, integer.largest)


def _rooms(t: Transformer, half: bool) -> tuple[float, float]:
    """How far the sums of every gate, and of every read-out, may be off.

    A clip is 0 up to 0 and 1 from its width on. Where hidden units are rounded to half precision
    a true sum must leave both in [1/2, 1], with 1/8 for what is added: see `proof.lengths`.
    """
    proof = Proof()
    outputs = derived(t, Atoms(Space(t.symbols, t.propositional)), proof)
    gate = threshold = inf
    for _, clip in proof.clips:
        top = clip.sum.top
        gate = min(gate, top - clip.width - half / 2, (7 / 8 if half else 1.0) - top, -clip.sink)
    for reads, _ in outputs.values():
        threshold = min(threshold, reads.sum.top, 1 - reads.sum.top)
    return gate, threshold


def _range(constant: float, per_i: float, per_r: float, n: int) -> tuple[float, float]:
    """Least and largest constant + per_i·i + per_r·r over words of length up to n."""
    ends = [constant + per_i * i + per_r * r for i, r in ((1, 1), (1, n), (n, 1))]
    return min(ends), max(ends)


def _count_of(
    mask: Mask, weight: float, parts: tuple[float, float, float]
) -> tuple[float, float, float]:
    """weight·(number of keys of the average), as (constant, per i, per r)."""
    signed = weight if parts[0] >= 0 else -weight
    match mask:
        case "<=":
            return signed, signed, 0.0
        case ">=":
            return signed, 0.0, signed
        case "none":
            return signed, signed, signed
    raise UnknownShapeError(f"an average over keys {mask} its query")


@lru_cache(maxsize=256)
def _leak(slope: float, even: float) -> float:
    """The weight off the winner, over all n: the nearest candidate is at distance 0 or 1."""
    costs = [slope * d + (even if d % 2 == 0 else 0.0) for d in range(400)]
    least = min(costs)
    others = sum(exp(least - cost) for cost in costs) - 1
    return others / (1 + others)


def _distance(constant: Fraction, steps: list[Fraction]) -> Fraction:
    """The least |constant + a combination of the steps|."""
    unit = common_divisor(steps)
    if not unit:
        return abs(constant)
    return min(constant % unit, -constant % unit)
