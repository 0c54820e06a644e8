"""Weights that nobody accounts for, in a stock checkpoint that is not disguised.

The proof says what heads and hidden units compute from the weights that take part. A weight takes
part if something reads what it makes. All others must be 0: a unit that is written nowhere, a value
that no output reads, a dimension of queries without one of keys. They could change nothing in exact
arithmetic, but what overflows there is no number any more, and 0 times that is none either. (In a
disguise such weights are the point: there they are bounded, see `proof.dense`.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.stock.checkpoint import StockCheckpoint
from softhat.proof.stock.variables import Rows


def check_ledger(c: StockCheckpoint) -> None:
    """Every non-zero weight of heads and units is read by something; heads that share keys and
    values are taken together."""
    a = c.architecture
    for at in range(a.blocks):
        block = c.over_variables(at)
        key, value = (_used(rows).reshape(a.n_kv, -1) for rows in (block.key, block.value))
        query, written = (
            used.reshape(a.n_kv, a.n_head // a.n_kv, a.head_size).any(axis=1)
            for used in (_used(block.query), block.output.any(axis=0))
        )
        # Two dimensions turn together: either of them may read the other's.
        rows = len(a.frequencies)
        queries, keys = (used.reshape(a.n_kv, -1, rows).any(axis=1) for used in (query, key))
        _same(queries, keys, f"block {at}: a dimension of queries or keys")
        _same(value, written, f"block {at}: a value")
        units = _used(block.gate)
        _same(units, block.down.any(axis=0), f"block {at}: a unit")
        if block.up is not None:
            _same(units, _used(block.up), f"block {at}: a unit")


def _used(rows: Rows) -> NDArray[np.bool_]:
    """Which rows are not 0."""
    return np.asarray(rows.weights.any(axis=1) | (rows.constants != 0))


def _same(a: Any, b: Any, what: str) -> None:
    if not np.array_equal(a, b):
        raise VoidError(f"{what} has weights that nothing reads, or reads nothing")
