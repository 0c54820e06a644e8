"""The means of counts keep their sign: their error grows with the length."""

from __future__ import annotations

import numpy as np

from softhat.proof.gpt2.sums import Sums
from softhat.proof.stock.counts import MeanCount
from softhat.proof.stock.kind import StockHead
from softhat.proof.stock.storage import SMALL, U, need
from softhat.proof.stock.variables import ConstantCell, MeanCell


def check_counts(sums: Sums, n: int) -> float:
    """The mean of a count over i+1 <= n+1 positions keeps its sign, and the share of its size that
    Sign heads need, a tenth at least: the error is below the rest of the least |mean|,
    least/(i+1), here in units of that."""
    worst = 0.0
    for head in sums.heads():
        if head.uniform:
            worst = max([worst, *_mean_errors(sums, head, n + 1)])
    need(worst <= 1 - sums.kept_share, "counts: for longer words a mean's error may reach its size")
    return worst


def _mean_errors(sums: Sums, head: StockHead, positions: int) -> list[float]:
    storage, (_, scale) = sums.storage, sums.norm[head.block]
    matrix, bias = sums.part(head, 2)
    ordinary = matrix.copy()
    alone = [
        p
        for p, cell in enumerate(sums.derivation.cells[head.block])
        if isinstance(cell, ConstantCell) and cell.ordinary == 0
    ]
    at = [2 * p + side for p in alone for side in (0, 1)]
    ordinary[at] = 0  # those pairs are exactly 0 except at <bos>
    values = sums.column_error(head.block, ordinary, bias)
    amplitude = _mean_amplitude(sums, head)
    # The mean's own pair is read by a later block, after that block's LayerNorm.
    mean, later = (max(norm[k] for norm in sums.norm[head.block + 1 :]) for k in (0, 1))
    drowned = (2 * storage.unit * mean + 4 * storage.floor) / amplitude + storage.floor
    errors = []
    for r, count in enumerate(head.counts):
        if not count.least:
            continue  # its sign is read by nothing
        value = 0.0  # small formats read bits exactly
        if storage.wide:
            only_bos = float(np.abs(matrix[at, r]).sum()) / positions
            value = float(values[r]) + only_bos * (scale + 8 * U)
        # No value is larger as it is read, nor the share of that of `<bos>`.
        size, constant = count.size + value, abs(count.bos) / positions + value
        if storage.wide:
            added = sums.kernel.roundings(positions) * U * (size + constant)
        else:
            _exact_values(sums, count)
            parts = float(sums.reach(matrix[:, [r]], bias[[r]], 0.0)[0])
            need(parts <= 2.0**23 * count.grid, "counts: a value's parts are not exact")
            whole = positions * (size + constant) / count.grid
            need(whole <= 2.0**24, "counts: sums beyond float32's integers")
            added = 0.0 if sums.fused else positions * U * (size + constant)
        off = value + added + drowned
        need(off <= SMALL * count.most, "counts: a mean may be off by too much of its size")
        error = positions * off / count.least
        errors.append(error + later + 6 * storage.unit)
    return errors


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
