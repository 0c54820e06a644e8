"""Average: the mean over a range of positions."""

from __future__ import annotations

from softhat.program.heads import Average, Range
from softhat.transformer.lowering.rows import HeadScores
from softhat.transformer.weights import Mask

MASKS: dict[Range, Mask] = {"past": "<=", "future": ">=", "total": "none"}


def average_scores(head: Average) -> HeadScores:
    """Theorem 5. Softmax of equal scores is the mean over what the mask shows: i+1 positions for
    the past (`<bos>` included), n+2-i for the future (with `<eos>`), n+2 for all. There is no
    leak. Values are divided by a power of two >= their largest size, so the mean is in [-1, 1]
    and sums of integers stay exact; it is rounded once, when the sum is divided.
    Machine-checked in the reals: `average` of proofs/Average.v."""
    return HeadScores("Average", MASKS[head.range], [])
