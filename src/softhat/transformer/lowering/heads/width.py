"""Width: how many positions match."""

from __future__ import annotations

from softhat.program.heads import Selector
from softhat.transformer.lowering.heads.match import sharp, table_pairs
from softhat.transformer.lowering.rows import ONE, SINKS, HeadScores, RowPair
from softhat.transformer.lowering.wiring import Wiring


def width_scores(selector: Selector, wiring: Wiring) -> HeadScores:
    """Theorem 8. Softmax of β·T[i, j] and of β on the s sinks that the mask shows gives the sinks
    s/(s + w + ε), 0 <= ε <= n·e^-β, where w positions match: with β = ln(64 N), ε <= 1/64 for
    every n <= N. The value is 1 at the sinks. w >= k and w < k are told apart by a fixed step
    between s/(s+k) and s/(s+k-1+1/64), at every n. Machine-checked: `width_reads`, `width_law` and
    `width_decode` of proofs/Width.v."""
    pairs = [*table_pairs(selector, wiring), RowPair({ONE: 1.0}, dict(SINKS))]
    return HeadScores("Width", selector.mask, pairs, float(sharp(selector.longest, wide=False)))
