"""Kernels as data: in which order attention adds, what it stores, how it takes exp and divides.

The steps of a layer are the same for every software that runs it; what differs is the arithmetic
inside attention. A proof is written once and reads these numbers. A *rounding* is a relative error
of at most u, half a unit in the last place, of the format in which sums are taken.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kernel:
    """The arithmetic of attention."""

    stores_scores: bool
    """Scores and weights are rounded to the storage format; otherwise kept as they are summed."""
    wide_scores: bool
    """Scores of more than three products are summed in float64."""
    exp_units: int
    """Roundings of exp, and of what else is done to a weight before it is stored or summed."""
    divisions: int
    """Roundings of a mean after its sum: one division, or a reciprocal and a product."""
    scales_queries: bool = False
    """The inverse temperature is multiplied into queries, so that every product rounds by it;
    otherwise into the score."""
    block: int | None = None
    """Keys are added up in blocks of at most this many, and then the blocks; None: in any order."""

    @property
    def between(self) -> int:
        """Roundings of a mean beside its two sums: its division, and what a fused kernel does
        between blocks, which is what its weights have more than those of the dense runtime."""
        return self.divisions + self.exp_units - DENSE.exp_units

    def roundings(self, keys: float) -> float:
        """The error of a sum over keys is at most this many roundings of Σ |terms|.

        In any order the products and keys - 1 sums are off by keys·u, without higher powers
        (Jeannerod and Rump 2013). In blocks a term passes through its product and the block - 1
        sums of its block, then through those of ⌈keys/block⌉ <= keys/block + 1 blocks, k = block +
        keys/block + 1 in all; one more covers higher powers, (1 + u)^k - 1 <= (k + 1)·u for
        k² <= 2/u.
        """
        return keys if self.block is None else min(keys, self.block + keys / self.block + 2)

    def lookup_roundings(self, keys: float, leak: float, u: float) -> float:
        """Of a lookup: the roundings of the sum of weights and of that of weighted values, in
        relation to the largest value, where the winner weighs 1 and all others at most `leak`.

        A sum a + b of floats is off by at most |b|, since a itself is a float. Where a is the part
        that holds the winner, the b that meet it are sums of losers and each loser is in one of
        them: together at most the leak. Sums among losers are off by at most keys·u of it, and so
        are the b themselves. That is leak·(1 + 2·keys·u) for each of the two sums, with weights
        that exp makes larger by up to `FAR`; the winner's product, the division (two roundings, or
        of the weight before) and its result are 4 more. No two sums are off by more than any are.
        """
        lost = 2 * leak * (1 + FAR) * (1 + 2 * keys * u) / u + 4
        return min(2 * self.roundings(keys), lost)


FAR = 1e-3
"""What exp may be off by anywhere, as stock exports assume; near 0 it is `exp_units` roundings."""
EVEN = 0.2
"""Scores that shall be 0 may be off by this, where all keys are to weigh the same."""
NEAR = 32
"""Roundings of exp where such scores are: 20 units in the last place, which are 2^-24 where exp is
between 1/2 and 1. From -2·EVEN to 0 it is at least e^-0.4 > 0.67, and 20/0.67 < 32."""
DENSE = Kernel(stores_scores=True, wide_scores=True, exp_units=8, divisions=1)
"""softhat's own runtime: exp, and the difference from the maximum before it, are off by at most 4
units in the last place, two roundings each."""
PYTORCH = Kernel(
    stores_scores=False, wide_scores=False, exp_units=96, divisions=2, scales_queries=True
)
"""exp is off by at most 20 units in the last place, and a fused kernel that meets a larger maximum
rescales what it has summed: another 20, and two products. With the 8 of `DENSE` these are
2·(20 + 20) + 4 + 8 = 92 roundings; 96 covers their squares."""
ONNX = PYTORCH
"""The graph's exp, sums and division are those of PyTorch's eager kernel, or better."""
SDPA = Kernel(stores_scores=False, wide_scores=False, exp_units=40, divisions=2, block=512)
"""The fused CPU kernel under stock checkpoints. exp is within 20 units in the last place; that no
exp(score - maximum) is rescaled but by exactly 1 once the winner is met is in `lookup_roundings`.
"""
EAGER = Kernel(stores_scores=True, wide_scores=False, exp_units=40, divisions=1)
"""Stock attention without fusion: weights are normalised, stored and then summed in any order."""
