"""The scores of a disguised GPT-2, whose positions are learned: in a head all that matters of
queries and keys is their product, so that is what is measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softhat.proof.dense.bounds import DenseBounds, DenseScores
from softhat.proof.dense.matrices import SLACK, Matrix, MatrixReading, lifted, reading
from softhat.proof.dense.rows import NormError, Vector
from softhat.proof.stock.kind import KEPT, Gaps, Lookup, StockHead, StockScores
from softhat.proof.stock.storage import SECOND, STORAGES, U, need
from softhat.proof.stock.variables import BitCell, ConstantCell


@dataclass(frozen=True)
class HeadMatrices:
    """A head's queries and keys, and the product that is all that matters of them."""

    query: MatrixReading
    key: MatrixReading
    scores_off: Matrix  # (variables + 1, variables + 1): Û'Q̂K̂'Û less the plain product


class DensePairs(DenseScores):
    """What scores of one disguised checkpoint are off."""

    scale = 2.0**-6

    def __init__(self, bounds: DenseBounds) -> None:
        self.bounds, self.d_head = bounds, bounds.architecture.head_size
        self.heads = [
            [self._head(at, h, rows) for h, rows in enumerate(block)]
            for at, block in enumerate(bounds.stands_for.scored)
        ]

    def _head(self, at: int, h: int, across: Matrix) -> HeadMatrices:
        """`across`: the directions of the plain rows within the head."""
        u, wide = self.bounds.u, self.bounds.wide
        actual, plain = self.bounds.actual[at], self.bounds.plain.blocks[at]
        own, _ = self.bounds.architecture.rows_of(h)
        used = slice(own.start, own.start + len(across))
        q, k = (lifted(rows[own]).T for rows in (actual.query, actual.key))
        query, key = (lifted(rows[used]).T for rows in (plain.query, plain.key))
        left, right = wide.T @ q, wide.T @ k
        scores = np.abs(left @ right.T - query @ key.T)
        scores += SLACK * (np.abs(left) @ np.abs(right).T + np.abs(query) @ np.abs(key.T))
        return HeadMatrices(reading(u, q, query, across), reading(u, k, key, across), scores)

    def scores(self, head: StockHead, off: Vector, norm: NormError, n: int) -> StockScores:
        return DensePairScores(
            storage=STORAGES[0],
            fused=self.bounds.fused,
            keys=n + 1,
            pairs=self,
            matrices=self.heads[head.block][head.head],
            off=off,
            norm=norm,
        )

    def sizes(self, reading: MatrixReading, off: Vector, norm: NormError) -> Vector:
        """Of each row of a plain form."""
        whole = (1 + norm.scale) * (self.bounds.size + off)
        largest: Vector = whole @ np.abs(reading.form) + np.abs(reading.bias)
        return largest

    def largest(self, at: int, h: int, off: Vector, norm: NormError) -> float:
        parts = (self.heads[at][h].query, self.heads[at][h].key)
        q, k = (self.bounds.extent(part, self.sizes(part, off, norm)) for part in parts)
        return max(q, k, q * k)

    def uneven(self, head: StockHead, off: Vector, norm: NormError) -> float:
        return sum(self.score_errors(self.heads[head.block][head.head], off, norm))

    def not_ruled_out(self, head: StockHead, off: Vector) -> Vector:
        """Errors at keys that a head with constant queries does not rule out: there the bit by
        which it rules out has one of its two values, and the value with which a bit starts is
        exact."""
        matrices = self.heads[head.block][head.head]
        if matrices.query.form.any():
            return off
        weights = matrices.key.form @ matrices.query.bias
        exact, cells = off.copy(), self.bounds.derivation.cells
        for p in np.flatnonzero(weights):
            start, now = cells[0][p], cells[head.block][p]
            free = -1.0 if weights[p] < 0 else 1.0  # the bit where the key is not ruled out
            if (
                isinstance(now, BitCell)
                and isinstance(start, ConstantCell)
                and start.ordinary == free
            ):
                exact[p] = 0.0
        return exact

    def score_errors(
        self, matrices: HeadMatrices, off: Vector, norm: NormError, head: Lookup | None = None
    ) -> tuple[float, float]:
        """Of one score: what comes from the query, and what from the key and the product. `head`:
        of a score that is not ruled out, whose size is known."""
        bounds, query, key = self.bounds, matrices.query, matrices.key
        q, k = self.sizes(query, off, norm), self.sizes(key, off, norm)
        q_extent, k_extent = bounds.extent(query, q), bounds.extent(key, k)
        q_off, k_off = bounds.spread(query, q_extent, norm), bounds.spread(key, k_extent, norm)
        scaled, size = 0.0, bounds.size
        if head is not None and not (query.form.any() and (query.bias.any() or key.bias.any())):
            # LayerNorm's scale multiplies the whole score, but for a product of constants.
            constants = abs(float(query.bias @ key.bias)) / self.d_head**0.5
            scaled = (2 * norm.scale + norm.scale**2) * (head.reach + constants)
            if not query.form.any():
                scaled = norm.scale * (head.reach + constants)
            size = np.zeros_like(size)
        q_along = bounds.along(query.form, off, norm, size)
        k_along = bounds.along(key.form, off, norm, size)
        v_hat = bounds.wide_size(off, norm)
        root = self.d_head**0.5
        of_query = q_off * (k_extent + k_off) + float(q_along @ (k + k_along))
        of_key = q_extent * k_off + float(q @ k_along)
        of_key += float(v_hat @ matrices.scores_off @ v_hat)
        of_key += (self.d_head + 2) * SECOND * U * (q_extent + q_off) * (k_extent + k_off)
        return of_query / root, of_key / root + scaled


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DensePairScores(StockScores):
    """The scores of one head of a disguised GPT-2."""

    pairs: DensePairs
    matrices: HeadMatrices
    off: Vector
    """How far variables are off."""
    norm: NormError

    @property
    def shares(self) -> tuple[float, ...]:
        return KEPT[:1]

    def gaps(self, head: Lookup) -> Gaps:
        pairs, norm = self.pairs, self.norm
        competing = pairs.not_ruled_out(head, self.off)
        free = sum(pairs.score_errors(self.matrices, competing, norm, head))
        ruled = sum(pairs.score_errors(self.matrices, self.off, norm))
        return Gaps(head.gap - 2 * free, head.clear - free - ruled)

    def left(self, head: StockHead, key: float, least: float, share: float) -> float:
        """Errors are relative to the query, which may be large, or not, and those count against the
        least |score|. The query's error moves scores only by how far keys are apart."""
        bounds, norm, d_head = self.pairs.bounds, self.norm, self.pairs.d_head
        query, keys = self.matrices.query, self.matrices.key
        (means,) = np.nonzero(query.form.any(axis=1))
        need(query.form.shape[1] == len(means) == 1, f"{head.kind} heads: not one row of one mean")
        p = int(means[0])
        weight = float(abs(query.form[p, 0]))
        rows = self.pairs.sizes(keys, self.off, norm)
        extent = bounds.extent(keys, rows)
        key_off = bounds.spread(keys, extent, norm)
        key_off += float(bounds.along(keys.form, self.off, norm, bounds.size).max())
        apart = SECOND * float(rows[0]) + 2 * SECOND * keys.idle * bounds.reach + 2 * key_off
        idle = query.idle * bounds.reach * SECOND + query.idle_bias
        magnitudes = query.whole * bounds.reach + query.offset
        query_off = bounds.rounding(bounds.d, magnitudes, idle) + query.stretch * norm.noise
        query_off += query.ones * norm.shift
        held = bounds.wide_size(self.off, norm)
        product_off = self.matrices.scores_off @ held
        others = np.delete(held, p) @ np.delete(product_off, p)
        dot = (d_head + 2) * SECOND * U
        fixed = (query_off + (1 + norm.scale) * weight * float(self.off[p])) * apart
        fixed += 2 * (idle + query_off) * (key_off + dot * (extent + key_off)) + 2 * float(others)
        relative = norm.scale + (2 * key_off + bounds.d * U * apart) / key
        # Of both of two scores, which are off by less than a twentieth of them (`compared`).
        relative += 2.1 * dot * (extent + key_off) / key
        relative += 2 * float(product_off[p]) / (weight * key)
        relative += 2 * self.kernel.roundings(self.keys) * U
        return bounds.compared(head, fixed / d_head**0.5 / least, relative, share) * least
