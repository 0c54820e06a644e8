"""How far the means of counts are off: their error grows with the length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softhat.proof.gpt2.sums import Sums
from softhat.proof.stock.counts import MeanCount
from softhat.proof.stock.kind import StockHead
from softhat.proof.stock.storage import U, need
from softhat.proof.stock.variables import MeanCell, only_at_bos


def mean_errors(sums: Sums, head: StockHead, positions: int) -> Iterator[float]:
    """Of the means of a head whose signs are read, in units of the least |mean|."""
    storage, (_, scale) = sums.storage, sums.norm[head.block]
    matrix, bias = sums.part(head, 2)
    ordinary = matrix.copy()
    alone = only_at_bos(sums.derivation.cells[head.block])
    at = [2 * p + side for p in alone for side in (0, 1)]
    ordinary[at] = 0  # those pairs are exactly 0 except at <bos>
    values = sums.column_error(head.block, ordinary, bias)
    amplitude = _mean_amplitude(sums, head)
    # The mean's own pair is read by a later block, after that block's LayerNorm.
    mean, later = (max(norm[k] for norm in sums.norm[head.block + 1 :]) for k in (0, 1))
    drowned = (2 * storage.unit * mean + 4 * storage.floor) / amplitude + storage.floor
    for r, count in enumerate(head.counts):
        if not count.least:
            continue  # its sign is read by nothing
        value = 0.0  # small formats read bits exactly
        if storage.wide:
            only_bos = float(np.abs(matrix[at, r]).sum()) / positions
            value = float(values[r]) + only_bos * (scale + 8 * U)
        else:
            _exact_values(sums, count)
            parts = float(sums.reach(matrix[:, [r]], bias[[r]], 0.0)[0])
            need(parts <= 2.0**23 * count.grid, "counts: a value's parts are not exact")
        error = sums.mean_error(count, positions, value, not storage.wide, drowned)
        yield error + later + 6 * storage.unit


def _mean_amplitude(sums: Sums, head: StockHead) -> float:
    amplitudes = [
        cell.amplitude
        for cell in sums.derivation.after_attention[head.block]
        if isinstance(cell, MeanCell)
    ]
    return min(amplitudes)


def _exact_values(sums: Sums, count: MeanCount) -> None:
    """Averaged values are multiples of a power of two: exact with few digits."""
    most = 1 / sums.storage.unit
    bos = float(np.float32(count.bos).astype(sums.storage.storage))
    need(
        bos == count.bos and count.size <= most * count.unit,
        f"counts: a coefficient or constant has too many digits for {sums.storage.name}",
    )
