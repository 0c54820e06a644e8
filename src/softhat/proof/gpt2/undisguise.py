"""A disguised GPT-2, read along its directions: the plain checkpoint that it stands for."""

from __future__ import annotations

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.dense.matrices import Matrix
from softhat.proof.dense.plain import PlainCheckpoint, check_orthonormal
from softhat.proof.dense.sharing import sharing
from softhat.proof.dense.snapping import NEAR, along, as_float32, read_rows, snapped
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.stock.checkpoint import Embedding, VariableBlock
from softhat.proof.stock.variables import Rows
from softhat.transformer.decoders import GPT2Block
from softhat.transformer.directions import Directions, HeadBasis, Units


def undisguise(c: GPT2Checkpoint, directions: Directions) -> PlainCheckpoint:
    """What a disguised checkpoint computes if its directions are as claimed."""
    if c.activation != "relu":
        raise VoidError("a disguised checkpoint is proved with the activation relu only")
    basis = directions.residual.astype(np.float64).T  # (d_model, variables)
    blocks = len(directions.heads)
    if basis.shape[0] != c.d_model or not blocks == len(directions.units) == c.blocks:
        raise VoidError("the directions are not of this checkpoint")
    tables = (
        as_float32(read_rows(c.tensor(f"transformer.{name}.weight"), basis))
        for name in ("wte", "wpe")
    )
    read = [
        _block(c, directions.heads[at], directions.units[at], at, basis) for at in range(blocks)
    ]
    return PlainCheckpoint.of(c, Embedding(*tables), read, basis)


def _block(
    c: GPT2Checkpoint, heads: tuple[HeadBasis, ...], units: Units, at: int, basis: Matrix
) -> VariableBlock:
    block, size, variables = c.block(at).cast(np.float64), c.d_head, basis.shape[1]
    if len(heads) != c.n_head:
        raise VoidError(f"block {at}: the directions are not of these heads")
    parts = [(np.zeros((c.d_model, variables)), np.zeros(c.d_model)) for _ in range(3)]
    output = np.zeros((variables, c.d_model))
    for h, head in enumerate(heads):
        for rows in (head.query_key, head.value):
            if rows.ndim != 2 or rows.shape[1] != size:
                raise VoidError(f"block {at}, head {h}: its directions are not of this head")
            check_orthonormal(rows.astype(np.float64), f"block {at}, head {h}: its directions")
        bases = (head.query_key, head.query_key, head.value)
        for part, ((weights, constants), rows) in enumerate(zip(parts, bases, strict=True)):
            own = slice(h * size, h * size + len(rows))
            weights[own], constants[own] = _read(block, part * c.d_model + h * size, rows, basis)
        written = block.attn_proj[h * size : (h + 1) * size]
        near = NEAR * float(np.sqrt((written**2).sum()))
        output[:, own] = snapped(head.value.astype(np.float64) @ written @ basis, near).T
    query, key, value = (Rows(*map(as_float32, part)) for part in parts)
    shared = sharing(units, len(block.c_fc_bias), at)
    into = shared.mean(block.c_fc.T / shared.factor[:, None])
    bias = shared.mean(block.c_fc_bias / shared.factor)
    reach = NEAR * np.sqrt((into**2).sum(axis=1) + bias**2)
    gate = snapped(into @ basis, reach[:, None]), snapped(bias, reach)
    return VariableBlock(
        query=query,
        key=key,
        value=value,
        output=as_float32(output),
        gate=Rows(*map(as_float32, gate)),
        up=None,
        down=as_float32(along(shared.total(block.mlp_proj), basis).T),
    )


def _read(block: GPT2Block, start: int, rows: Matrix, basis: Matrix) -> tuple[Matrix, Matrix]:
    """What a head's columns of queries, keys or values from `start` on read along its directions:
    rows over variables, and a constant each."""
    own = slice(start, start + rows.shape[1])
    weights, bias, across = block.c_attn[:, own], block.c_attn_bias[own], rows.astype(np.float64)
    near = NEAR * float(np.sqrt((weights**2).sum() + (bias**2).sum()))
    return snapped((basis.T @ weights @ across.T).T, near), snapped(bias @ across.T, near)
