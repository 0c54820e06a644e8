"""Weights that nobody accounts for, in a stock checkpoint that is not disguised.

The proof says what heads and hidden units compute from the weights that take part. A weight takes
part if something reads what it makes. All others must be 0: a unit that is written nowhere, a value
that no output reads, a dimension of queries without one of keys. They could change nothing in exact
arithmetic, but what overflows there is no number any more, and 0 times that is none either. (In a
disguise such weights are the point: there they are bounded, see `proof.dense`.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.llama.checkpoint import LlamaCheckpoint

Array = NDArray[np.float32]


def check_gpt2(c: GPT2Checkpoint) -> None:
    """Every non-zero weight of heads and units is read by something."""
    size = c.d_head
    for at in range(c.blocks):
        block = c.block(at)
        query, key, value = np.split(_some(block.c_attn, 0) | (block.c_attn_bias != 0), 3)
        written = _some(block.attn_proj, 1)
        for h in range(c.n_head):
            own = slice(h * size, (h + 1) * size)
            where = f"block {at}, head {h}"
            _same(query[own], key[own], f"{where}: a dimension of queries or keys")
            _same(value[own] & written[own], value[own], f"{where}: a value")
            _same(value[own] & written[own], written[own], f"{where}: an output")
        into = _some(block.c_fc, 0) | (block.c_fc_bias != 0)
        _same(into, _some(block.mlp_proj, 1), f"block {at}: a unit")


def check_llama(c: LlamaCheckpoint) -> None:
    """Every non-zero weight of heads and units is read by something; heads that share keys and
    values are taken together."""
    if c.n_kv < 1 or c.n_head % c.n_kv:
        raise VoidError(f"{c.n_head} heads do not share {c.n_kv} heads of keys and values")
    size, half, heads = c.head_dim, c.head_dim // 2, c.n_head // c.n_kv
    for at in range(c.blocks):
        block = c.block(at)
        key, value = (_some(rows, 1).reshape(c.n_kv, size) for rows in (block.key, block.value))
        asked, written = (
            np.asarray(used.reshape(c.n_kv, heads, size).any(axis=1))
            for used in (_some(block.query, 1), _some(block.output, 0))
        )
        # Two dimensions turn together: either of them may read the other's.
        queries, keys = (turned[:, :half] | turned[:, half:] for turned in (asked, key))
        _same(queries, keys, f"block {at}: a dimension of queries or keys")
        _same(value & written, value, f"block {at}: a value")
        _same(value & written, written, f"block {at}: an output")
        up = _some(block.up, 1)
        _same(_some(block.gate, 1), up, f"block {at}: a unit")
        _same(up, _some(block.down, 0), f"block {at}: a unit")


def _some(array: Array, axis: int) -> NDArray[np.bool_]:
    """Along which rows or columns anything is not 0."""
    return np.asarray((array != 0).any(axis=axis))


def _same(a: NDArray[np.bool_], b: NDArray[np.bool_], what: str) -> None:
    if not np.array_equal(a, b):
        raise VoidError(f"{what} has weights that nothing reads, or reads nothing")
