"""Storage formats of stock checkpoints, and what the proof takes as their arithmetic."""

from __future__ import annotations

from dataclasses import replace

from softhat.io.errors import VoidError
from softhat.numerics.formats import FORMATS

U = 2.0 ** -FORMATS["float32"].digits
"""Unit roundoff of float32, in which every kernel adds up."""
SECOND = 1.01
"""For products of errors, which sums of errors leave out. No relative error that is multiplied with
another exceeds 2^-7 (a norm's is refused from there on, and heads and gates err less), so that
(1 + x)(1 + y) - 1 ≤ 1.004·(x + y), and (1 + U)^k - 1 ≤ 1.01·k·U for k up to 2^17 roundings."""
SMALL = 2.0**-7
"""Errors of bits, of means and of a norm's factor, as shares of their size, are refused from here
on: products of them are small beside them."""
AS_READ = 1.02
"""What is stored within SMALL of its size, and read through a norm whose factor is within SMALL of
1, is no larger: (1 + 2^-7)²(1 + 3U) < 1.02."""
MEANS_AS_READ = 1.053
"""The same of means in small formats, which round them eight times at most on the way, by no more
than 2^-8: AS_READ·(1 + 8·2^-8) < 1.053."""
ROOT = 0.51
"""|(1 + x)^(-1/2) - 1| <= 0.51·|x| for |x| <= 0.025: 1/2 + 3/8·|x| + 5/16·x² + … < 0.51. A norm is
refused where its mean square is off by more (a disguised Llama's has its own bound)."""
SCALED = 1.03
"""For what passes a norm whose factor is off by at most 0.025, and for roundings of it."""
HUGE = 1e30
"""Far below where float32 overflows, and so are sums of such numbers over keys."""

STORAGES = (
    FORMATS["float32"],
    FORMATS["bfloat16"],
    FORMATS["float16"],
    # Every step errs less in float64 than in float32, and the weights are the same: one proof.
    replace(FORMATS["float32"], name="float64"),
)


def lost(size: float, terms: int) -> float:
    """What float64 may have lost of sums of so many products, added in any order, whose sizes add
    up to `size`: two roundings a term, with eight more terms for factors that were rounded before
    (cosines, quotients) and for this."""
    return size * (terms + 8) * 2.0**-50


def need(holds: bool, reason: str) -> None:
    """A step of the proof."""
    if not holds:
        raise VoidError(reason)
