"""The scores of a GPT-2's heads in a storage format, and what its heads return.

Eager attention stores scores in the format, which holds multiples of a power of two only up to a
size: in small formats that limits the length.
"""

from __future__ import annotations

import numpy as np

from softhat.numbers.rationals import grid_of
from softhat.proof.gpt2.sums import Sums
from softhat.proof.stock.checkpoint import Array
from softhat.proof.stock.kind import Lookup, StockHead, output_error
from softhat.proof.stock.pair_scores import PairScores
from softhat.proof.stock.plain_bounds import Vector
from softhat.proof.stock.rotary import StoredRows
from softhat.proof.stock.storage import SECOND, U, need


def lookup(sums: Sums, head: StockHead) -> float:
    """How far the output of a head that is no mean may be off 0 or 1."""
    value = float(sums.column_error(head.block, *sums.part(head, 2)).max())
    scores = scores_of(sums, head)
    sums.kept_share = max(sums.kept_share, head.kept(scores))
    return output_error(head, scores, value)


def check_scores(sums: Sums, n: int) -> None:
    """Where eager attention stores scores, those of n symbols' keys are exact in small formats."""
    if sums.fused or sums.storage.wide:
        return
    for head in sums.heads():
        if isinstance(head, Lookup):
            grid = min(map(grid_of, head.sizes.tolist()))
            need(
                float(head.sizes[: n + 1].max()) <= grid / sums.storage.unit,
                f"eager attention stores scores in {sums.storage.name}, where those of "
                f"{head.kind} heads are exact no further: use kernel='sdpa'",
            )


def scores_of(sums: Sums, head: StockHead) -> PairScores:
    """Its queries and keys, which do not overflow."""
    storage, (mean, scale) = sums.storage, sums.norm[head.block]
    query, key = sums.part(head, 0), sums.part(head, 1)
    q, k = sums.reach(*query, mean), sums.reach(*key, mean)
    products = float(q @ k)
    need(max(q.max(), k.max()) <= storage.largest, f"{head.kind} heads overflow")
    need(products < 1e30, f"{head.kind} heads: scores overflow")
    need(sums.fused or products <= storage.largest, f"{head.kind} heads: scores overflow")
    return PairScores(
        storage=storage,
        fused=sums.fused,
        keys=sums.c.context,
        query=StoredRows(q, _off(sums, head, *query)),
        key=StoredRows(k, _off(sums, head, *key)),
        own_query=StoredRows(q, _own(sums, head, *query)),
        own_key=StoredRows(k, _own(sums, head, *key)),
        scale=scale,
        root=sums.c.d_head**0.5,
        grid=_grid(sums, query, key),
    )


def _grid(sums: Sums, query: tuple[Array, Array], key: tuple[Array, Array]) -> float:
    """What products are multiples of, which small formats ask for."""
    if sums.storage.wide:
        return 0.0
    grids = zip(_grids(*query), _grids(*key), strict=True)
    return float(min(a * b for a, b in grids) / sums.c.d_head**0.5)


def _off(sums: Sums, head: StockHead, matrix: Array, bias: Array) -> Vector:
    """How far queries or keys may be off: nothing, where a small format holds what they are."""
    if sums.storage.wide:
        return sums.column_error(head.block, matrix, bias)
    size = sums.reach(matrix, bias, 0.0) / SECOND
    held = size <= np.array(_grids(matrix, bias)) / sums.storage.unit
    return np.where(held, 0.0, sums.storage.unit * size)


def _own(sums: Sums, head: StockHead, matrix: Array, bias: Array) -> Vector:
    """The same in float32 but for the scale of a position."""
    own = sums.bits[head.block] + 4 * U * np.maximum(1.0, sums.magnitude)
    read = np.abs(matrix[0::2].astype(np.float64) * 2)
    return np.asarray(SECOND * (own @ read) + sums.rounding(matrix, bias, sums.norm[head.block][0]))


def _grids(matrix: Array, bias: Array) -> list[float]:
    """Of each column, the power of two that its weights and bias are multiples of."""
    rows = np.vstack([matrix, bias])
    return [min(map(grid_of, set(row.tolist()))) for row in rows.T]
