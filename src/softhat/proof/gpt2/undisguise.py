"""A disguised GPT-2, read along its directions: the plain checkpoint that it stands for."""

from __future__ import annotations

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.dense.matrices import Matrix, lifted, row_norms, widened
from softhat.proof.dense.plain import PlainCheckpoint, Undisguised, check_orthonormal
from softhat.proof.dense.sharing import sides
from softhat.proof.dense.snapping import NEAR, along, as_float32, read_rows, snapped
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.stock.checkpoint import BlockMatrices, Embedding
from softhat.proof.stock.variables import Rows
from softhat.transformer.directions import Directions, DisguisedUnits, HeadBasis


def undisguise(c: GPT2Checkpoint, directions: Directions) -> Undisguised:
    """What a disguised checkpoint computes if its directions are as claimed."""
    if c.activation != "relu":
        raise VoidError("a disguised checkpoint is proved with the activation relu only")
    basis = directions.residual.astype(np.float64).T  # (d_model, variables)
    blocks = len(directions.heads)
    if basis.shape[0] != c.d_model or not blocks == len(directions.units) == c.blocks:
        raise VoidError("the directions are not of this checkpoint")
    tables = c.tables()
    read = (as_float32(read_rows(table, basis)) for table in (tables.tokens, tables.positions))
    plain = [
        _block(c, directions.heads[at], directions.units[at], at, basis) for at in range(blocks)
    ]
    values = [[head.value.astype(np.float64) for head in block] for block in directions.heads]
    return Undisguised(
        checkpoint=PlainCheckpoint.of(c, Embedding(*read), plain, basis),
        basis=basis,
        scored=[[h.query_key.astype(np.float64) for h in block] for block in directions.heads],
        values=values,
        places=[[[*range(len(rows))] for rows in block] for block in values],
        shared_values=values,
    )


def _block(
    c: GPT2Checkpoint, heads: tuple[HeadBasis, ...], units: DisguisedUnits, at: int, basis: Matrix
) -> BlockMatrices:
    block, size, wide = c.over_coordinates(at), c.d_head, widened(basis)
    if len(heads) != c.n_head:
        raise VoidError(f"block {at}: the directions are not of these heads")
    parts = [np.zeros((c.d_model, wide.shape[1])) for _ in range(3)]
    output = np.zeros((basis.shape[1], c.d_model))
    for h, head in enumerate(heads):
        for rows in (head.query_key, head.value):
            if rows.ndim != 2 or rows.shape[1] != size:
                raise VoidError(f"block {at}, head {h}: its directions are not of this head")
            check_orthonormal(rows.astype(np.float64), f"block {at}, head {h}: its directions")
        start = h * size
        whole = slice(start, start + size)
        bases = (head.query_key, head.query_key, head.value)
        for part, read, rows in zip(
            parts, (block.query, block.key, block.value), bases, strict=True
        ):
            weights = lifted(read[whole])
            near = NEAR * float(np.sqrt((weights**2).sum()))
            part[start : start + len(rows)] = snapped(
                rows.astype(np.float64) @ weights @ wide, near
            )
        written = block.output[:, whole].T.astype(np.float64)
        near = NEAR * float(np.sqrt((written**2).sum()))
        across = head.value.astype(np.float64)
        output[:, start : start + len(across)] = snapped(across @ written @ basis, near).T
    query, key, value = map(_rows, parts)
    gate, _, down = sides(block, units, at)
    return BlockMatrices(
        query=query,
        key=key,
        value=value,
        output=as_float32(output),
        gate=_rows(snapped(gate @ wide, NEAR * row_norms(gate)[:, None])),
        up=None,
        down=as_float32(along(down, basis).T),
    )


def _rows(read: Matrix) -> Rows:
    """Rows over variables, whose last entries are their constants."""
    return Rows(as_float32(read[:, :-1]), as_float32(read[:, -1]))
