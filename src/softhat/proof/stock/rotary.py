"""How far attention scores may be off: frequencies, angles, sines, rotation, products and sums.

With unit roundoffs u (float32, in which angles, sines and all sums are computed) and v (the storage
format, to which sines, products of a rotation and their sums are rounded), and |q|, |k| the lengths
of a pair's query and key:

- an angle ω·i is off by ω·i·u, and a sine by another unit in the last place; stored, by v/2 more,
  since no sine exceeds 1: e = ω·N·u + 2u + v/2;
- a rotated pair is off by |q|(2e + 2.5v), and by |k|(1.5e + 1.1v) if its second coordinate is 0:
  each coordinate has both sines, |q₁|e + |q₂|e ≤ √2|q|e, and two products and their sum rounded,
  (√2 + 1)|q|v for both coordinates; with one product a coordinate, √2·e and one rounding;
- a pair that turns by at most θ over the whole context and has second coordinates 0 gives the
  product of the first, but for θ² of it (and 6v where cos θ is not stored as exactly 1);
- the sum of m products is off by m·u of their sizes.

Sizes are sums of |weight·value|. Products of errors are multiplied out, and `OUTWARD` is for
rounding where these bounds themselves are computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import numpy as np

from softhat.numerics.formats import Format
from softhat.proof.stock.kind import UNLIKE, Gaps, Lookup, Pair, StockHead, StockScores, Vector
from softhat.proof.stock.storage import SECOND, U, need
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell

OUTWARD = 1 + 2.0**-40
"""More than a few hundred roundings in float64 take away."""
STORED_SINES = 1.02
"""For θ² where sines are stored: two sines and their product are rounded, and once more where it is
added, in no format by more than 2^-8: (1 + 2^-8)^4 < 1.02."""
ERROR = 8 * 2.0**-24
"""Relative, of a frequency 1/θ^x/factor that is computed in float32: θ^x within 2 units in the last
place, two quotients rounded."""


def stored_twice(v: float) -> float:
    """The relative error of what is rounded to storage twice, as a score is before and after it is
    scaled."""
    return v * (2 + v)


@dataclass(frozen=True, slots=True)
class StoredRows:
    """A head's queries or keys: for each coordinate the largest size, and how far it may be off as
    stored, but for the common factor of its position."""

    size: Vector
    off: Vector

    def length(self, pair: int) -> float:
        half = len(self.size) // 2
        return float(np.hypot(self.size[pair], self.size[pair + half]))

    def error(self, pair: int) -> float:
        half = len(self.off) // 2
        return float(np.hypot(self.off[pair], self.off[pair + half]))


@dataclass(frozen=True, slots=True)
class RotaryScores:
    """What bounds a score of one checkpoint in one format."""

    storage: Format
    fused: bool
    frequencies: Vector
    context: int

    @property
    def stored(self) -> float:
        """v: 0 where the format is float32 itself, whose roundings u counts."""
        return U if self.storage.wide else self.storage.unit

    def sine(self, pair: int) -> float:
        """e: how far a stored sine or cosine may be off."""
        angle = float(self.frequencies[pair]) * self.context * U
        return angle + 2 * U + self.stored / 2

    def slow(self, pair: int) -> float:
        """Of a product on a slow pair, as a share of it."""
        turned = float(self.frequencies[pair]) * self.context * (1 + ERROR)
        if turned > 0.25:
            return inf
        # cos θ > 1 - θ²/2 is nearer to 1 than half a unit below it, by more than float32 is off.
        exactly_one = not self.storage.wide and turned**2 < 0.9 * self.storage.unit
        return STORED_SINES * turned**2 + (0.0 if exactly_one else 6 * self.stored)

    def off(self, pairs: Iterable[Pair], query: StoredRows, key: StoredRows) -> float:
        """How far what these pairs add to the score of any key may be off."""
        total = size = 0.0
        products = 2
        for pair in pairs:
            q, k = query.length(pair.pair), key.length(pair.pair)
            a, b = query.error(pair.pair), key.error(pair.pair)
            turned = self.turned(pair)
            total += a * k + q * b + a * b + (q + a) * (k + b) * turned
            size += (q + a) * (k + b) * (1 + turned)
            products += 2
        # 1/√head_dim may be multiplied in as its root on either side.
        total += SECOND * (products + 4) * U * size
        if not self.fused and not self.storage.wide:
            total += stored_twice(self.stored) * (size + total)
        return OUTWARD * total / float(len(query.size)) ** 0.5

    def turned(self, pair: Pair) -> float:
        """The share of |q||k| by which turning may change a product.

        The error of a rotation by stored sines is a matrix of entries of at most e, of norm 2e; a
        row with one coordinate meets one column of it, √2·e < 1.5e. Each coordinate's products are
        rounded, which is √2·v of the length at most, and their sum is, another v: 2.5v covers that
        and products of errors. One coordinate alone has no sum to round: 1.1v.
        """
        if pair.role == "content":
            return self.slow(pair.pair)
        if pair.role == "bos" and pair.single and not pair.query.imag:
            turned = float(self.frequencies[pair.pair]) * self.context
            slowly = self.slow(pair.pair) + turned**2
            if slowly < 0.1:
                return slowly
        e, v = self.sine(pair.pair), self.stored
        of_key = 1.5 * e + 1.1 * v if pair.single else 2 * e + 2.5 * v
        frequency = float(self.frequencies[pair.pair]) * self.context * ERROR
        of_query = 2 * e + 2.5 * v
        both = (1 + of_query) * (1 + of_key)
        return OUTWARD * (of_query + of_key + of_query * of_key + both * frequency)

    def dense(self, pair: int, content: bool) -> float:
        """The same, where neither query nor key has a coordinate that is 0."""
        turned = float(self.frequencies[pair]) * self.context * (1 + ERROR)
        if content and turned > 0.25:
            return inf
        each = 2 * self.sine(pair) + 2.5 * self.stored
        moved = each * (2 + each) + (1 + each) ** 2 * turned * ERROR
        return OUTWARD * (moved + (STORED_SINES * turned**2 if content else 0.0))


@dataclass(frozen=True, slots=True)
class Resting:
    """Which coordinates are exactly what they started as. A bit where no term of its gate holds is,
    if the tails of its units are lost in it (`quiet`); one of the embedding is exact anyway."""

    start: list[Cell]
    quiet: set[int]

    def rests(self, coordinate: int, value: float) -> bool:
        """Is a coordinate, where it has this value, exactly that?"""
        cell = self.start[coordinate]
        if isinstance(cell, ConstantCell):
            return cell.ordinary == value and coordinate in self.quiet
        return isinstance(cell, BitCell)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TurnedScores(StockScores):
    """The scores of one head. The factor of the norm at the query's position is common to all its
    scores: it scales their gaps."""

    rotary: RotaryScores
    query: StoredRows
    key: StoredRows
    scale: float
    """How far the norm's factor may be off 1."""
    resting: Resting
    counted: bool
    """Weights of exactly 1 and values of exactly 1 add up exactly: only the division rounds."""
    advice: str
    """What to do where scores are off too far."""

    def gaps(self, head: Lookup) -> Gaps:
        off = 2 * self.rotary.off(head.pairs, self.query, self.key)
        return self.less(head, off, off)

    def less(self, head: Lookup, near: float, far: float) -> Gaps:
        """The scores of two keys that may win are off by at most `near` against each other, those
        of any two by `far`."""
        share = 1 - self.scale
        return Gaps(head.gap * share - near, head.clear * share - far)

    def left(self, head: StockHead, key: float, least: float, share: float) -> float:
        """Keys are so much alike that the word's own positions share the weight: off by less than a
        twentieth, turned by less than a tenth, scaled by 2^-7: (1 - 1/20)(1 - 1/10)(1 - 2^-7)² is
        above 0.84, and roundings take less than the rest. In small formats their scores must be the
        same number: what turning adds is lost in a sum."""
        (pair,) = head.pairs
        need(self.key.error(pair.pair) < 0.05 * key, f"{head.kind} heads: {UNLIKE}")
        slow = self.rotary.slow(pair.pair)
        need(slow < 0.1, f"{head.kind} heads: a pair turns too fast")
        turned = float(self.rotary.frequencies[pair.pair]) * self.rotary.context
        lost = STORED_SINES * turned**2 < U / 8
        fast = f"{head.kind} heads: a pair turns too fast for {self.storage.name}"
        need(self.storage.wide or lost, fast)
        return 0.8 * share * least

    def decision(self, head: StockHead, scores: Vector) -> float:
        """`<bos>` stands at position 0 and is not turned: the rotated query's first coordinate
        q₁cos - q₂sin is off by a share of each product, by the angle's error, and by what its sum
        is rounded."""
        (pair,) = head.pairs
        rotary, query, key = self.rotary, self.query, self.key
        angles = float(rotary.frequencies[pair.pair]) * np.arange(rotary.context)
        q1, q2 = abs(pair.query.real), abs(pair.query.imag)
        products = q1 * np.abs(np.cos(angles)) + q2 * np.abs(np.sin(angles))
        length, stored = query.length(pair.pair), rotary.stored
        # cos and sin above are themselves rounded in float64, at most by 2^-50 of the angle.
        angle = angles * (U + ERROR + 2.0**-50) * length
        # Two roundings to storage and two in float32, (1 + v)²(1 + u)² - 1 ≤ 1.05·(2v + 2u) for
        # v ≤ 2^-8; what is off before is turned by sines of at most (1 + v), and so by less than
        # 1.5 of it.
        off = products * (2 * stored + 4 * U) * 1.05 + 2 * angle + query.error(pair.pair) * 1.5
        k = key.length(pair.pair)
        root = float(len(query.size)) ** 0.5
        # The product, its sum and the division are rounded in float32; the rotated query in v, of
        # which products with the others, below v·2^-5, are no tenth.
        share = stored * 1.1 + 8 * U + 2 * self.scale
        if not self.fused:
            share += stored_twice(stored)
        # Keys of the word's own positions are 0, up to their error, and that of `<bos>` is off.
        others = 3 * length * key.error(pair.pair) / root
        sizes = np.abs(scores) * (1 - share) - (off + 4 * self.storage.floor) * k / root - others
        return float(sizes[1:].min())

    def shared_roundings(self, head: StockHead) -> float:
        return 4.0 if self.counted else 2 * self.kernel.roundings(self.keys)

    def too_far(self, head: StockHead) -> str:
        return (
            f"{head.kind} heads: in {self.storage.name} scores may be off by more than a "
            f"step{self.advice}"
        )
