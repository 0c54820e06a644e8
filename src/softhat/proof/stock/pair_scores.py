"""Scores that do not turn, Σ query·key/√d, in a storage format: how far they may be off.

float32 counts the errors of queries and keys and those of the sum. In small formats queries and
keys are exact, and so are short multiples of a power of two that add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softhat.proof.stock.kind import UNLIKE, Gaps, Lookup, StockHead, StockScores
from softhat.proof.stock.rotary import StoredRows
from softhat.proof.stock.storage import U, need


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairScores(StockScores):
    """The scores of one head."""

    query: StoredRows
    key: StoredRows
    own_query: StoredRows
    """How far queries are off but for the norm's scale, which a position's have in common."""
    own_key: StoredRows
    scale: float
    """How far that scale may be off 1."""
    root: float
    grid: float
    """A power of two that all products of queries and keys are multiples of, over √d."""

    @property
    def size(self) -> float:
        """No score is larger, nor is any sum of some of its products."""
        return float(self.query.size @ self.key.size) / self.root

    def gaps(self, head: Lookup) -> Gaps:
        storage, q, k = self.storage, self.query, self.key
        if storage.wide:
            off = float(q.off @ k.size + q.size @ k.off + q.off @ k.off) / self.root
            off = 2 * (off + (np.count_nonzero(q.size) + 2) * U * self.size)
            return Gaps(head.gap - off, head.clear - off)
        held = not q.off.any() and not k.off.any()
        need(held, f"{head.kind} heads: {storage.name} does not hold queries and keys")
        # Short multiples of powers of two add up exactly.
        need(self.size < 2.0**23 * self.grid, f"{head.kind} heads: scores are not exact")
        if self.fused:
            return Gaps(head.gap, head.clear)
        # Stored scores are exact up to a length, but for those of keys that are ruled out.
        return Gaps(head.gap, head.clear - storage.unit * self.size)

    def left(self, head: StockHead, key: float, least: float, share: float) -> float:
        """Keys are off by less than a twentieth, and scales by less than 2^-7: what is left is
        (1 - 1/20)(1 - 2^-7)² > 0.9 of the score, of which errors of the sum take no tenth."""
        (pair,) = head.pairs
        need(float(self.key.off[pair.pair]) < 0.05 * key, f"{head.kind} heads: {UNLIKE}")
        return 0.8 * share * least
