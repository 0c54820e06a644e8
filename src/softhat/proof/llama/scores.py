"""How far attention scores may be off: frequencies, angles, sines, rotation, products and sums.

With unit roundoffs u (float32, in which angles, sines and all sums are computed) and v (the storage
format, to which sines, products of a rotation and their sums are rounded), and |q|, |k| the lengths
of a pair's query and key:

- an angle ω·i is off by ω·i·u, and a sine by another unit in the last place; stored, by v/2 more,
  since no sine exceeds 1: e = ω·N·u + 2u + v/2;
- a rotated pair is off by |q|(2e + 2.5v), and by |k|(1.5e + 1.1v) if its second coordinate is 0;
- a pair that turns by at most θ over the whole context and has second coordinates 0 gives the
  product of the first, but for θ² of it (and 6v where cos θ is not stored as exactly 1);
- the sum of m products is off by m·u of their sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from softhat.numerics.formats import Format
from softhat.proof.llama.kinds import LlamaHead, Pair
from softhat.proof.llama.rope import ERROR
from softhat.proof.stock.storage import U

Vector = NDArray[np.float64]


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
        exactly_one = not self.storage.wide and turned**2 < 0.9 * self.storage.unit
        return 1.02 * turned**2 + (0.0 if exactly_one else 6 * self.stored)

    def off(self, pairs: Iterable[Pair], query: StoredRows, key: StoredRows) -> float:
        """How far what these pairs add to the score of any key may be off."""
        total = size = 0.0
        products = 2
        for pair in pairs:
            q, k = query.length(pair.pair), key.length(pair.pair)
            size += q * k
            products += 2
            total += 1.02 * (query.error(pair.pair) * k + key.error(pair.pair) * q)
            total += q * k * self._turned(pair)
        root = float(len(query.size)) ** 0.5
        # 1/√head_dim may be multiplied in as its root on either side.
        total = (1.02 * total + 1.1 * (products + 4) * U * size) / root
        if not self.fused:  # scores are stored, before and after they are scaled
            total += 2.1 * (self.stored if not self.storage.wide else 0.0) * size / root
        return total

    def apart(self, head: LlamaHead, query: StoredRows, key: StoredRows) -> float:
        """How far the scores of two keys of a Shift may be off against each other: at most one of
        them is `<bos>`, whose key is 0, up to its error, where the others' are not, and the other
        way round."""
        word, bos = (
            self.off([pair for pair in head.pairs if pair.role == role], query, key)
            for role in ("word", "bos")
        )
        pairs = [pair.pair for pair in head.pairs]
        zeros = sum(query.length(p) * key.error(p) for p in pairs) / float(len(query.size)) ** 0.5
        return word + max(word, bos) + 2.1 * zeros

    def _turned(self, pair: Pair) -> float:
        """The share of |q||k| by which turning may change a product."""
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
        return 1.05 * (2 * e + 2.5 * v + of_key) + frequency

    def dense(self, pair: int, content: bool) -> float:
        """The same, where neither query nor key has a coordinate that is 0."""
        turned = float(self.frequencies[pair]) * self.context * (1 + ERROR)
        if content and turned > 0.25:
            return inf
        both = 2.1 * (2 * self.sine(pair) + 2.5 * self.stored)
        return both + turned * ERROR + (1.02 * turned**2 if content else 0.0)

    def decision(self, head: LlamaHead, query: StoredRows, key: StoredRows, scale: float) -> float:
        """A Digit's least |score| of `<bos>`, which stands at position 0 and is not turned: the
        rotated query's first coordinate q₁cos - q₂sin is off by a share of each product, by the
        angle's error, and by what its sum is rounded."""
        (pair,) = head.pairs
        assert head.scores is not None
        angles = float(self.frequencies[pair.pair]) * np.arange(self.context)
        q1, q2 = abs(pair.query.real), abs(pair.query.imag)
        products = q1 * np.abs(np.cos(angles)) + q2 * np.abs(np.sin(angles))
        length = query.length(pair.pair)
        # cos and sin above are themselves rounded in float64, at most by 2^-50 of the angle.
        angle = angles * (U + ERROR + 2.0**-50) * length
        off = products * (2 * self.stored + 4 * U) * 1.05 + 2 * angle + query.error(pair.pair) * 1.5
        k = key.length(pair.pair)
        root = float(len(query.size)) ** 0.5
        floor = 4 * self.storage.floor
        share = self.stored * 1.1 + 8 * U + key.error(pair.pair) / k + 2 * scale
        if not self.fused:
            share += 2.1 * self.stored
        # Keys of the word's own positions are 0, up to their error.
        others = 2 * length * key.error(pair.pair) / root
        sizes = np.abs(head.scores) * (1 - share) - (off + floor) * k / root - others
        return float(sizes[1:].min())
