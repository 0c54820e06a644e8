"""A disguised checkpoint, read along its directions: the plain checkpoint that it stands for.

The directions are claims. Forms over variables are read by projecting the weights on them, and
what comes out is taken to the nearest short binary fraction. Nothing here needs to be right: the
plain checkpoint is what `reading` derives functions from, and `dense` bounds how far the
disguised weights are from it, whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.dense.matrices import Matrix
from softhat.proof.dense.sharing import sharing
from softhat.proof.dense.snapping import NEAR, along, as_float32, read_logits, read_rows, snapped
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.stock.checkpoint import Array
from softhat.transformer.decoders import GPT2Block, norm_names
from softhat.transformer.directions import Directions, HeadBasis


@dataclass(frozen=True)
class VariableRows:
    """A head over variables: (variables, rows) and a constant each; what its values write."""

    query: Matrix
    query_bias: Matrix
    key: Matrix
    key_bias: Matrix
    value: Matrix
    value_bias: Matrix
    written: Matrix  # (values, variables)


@dataclass(frozen=True)
class Plain:
    """The plain checkpoint and, over variables, the parts it was made of."""

    checkpoint: GPT2Checkpoint
    tokens: Matrix
    positions: Matrix
    heads: list[list[VariableRows]]
    into: list[Matrix]
    """Of each block, (variables, sides of clips)."""
    into_bias: list[Matrix]
    out: list[Matrix]
    readout: Matrix
    """(rows, variables), in units of `scale`."""
    scale: float


def undisguise(c: GPT2Checkpoint, directions: Directions) -> Plain:
    """What a disguised checkpoint computes if its directions are as claimed."""
    basis = directions.residual.astype(np.float64).T  # (d_model, variables)
    size, n_head = c.d_head, c.n_head
    if basis.shape[0] != c.d_model or len(directions.heads) != c.blocks:
        raise VoidError("the directions are not of this checkpoint")
    tokens = read_rows(c.tensor("transformer.wte.weight"), basis)
    positions = read_rows(c.tensor("transformer.wpe.weight"), basis)
    tensors: dict[str, Array] = {
        "transformer.wte.weight": _embedding(tokens),
        "transformer.wpe.weight": _embedding(positions),
    }
    variables = basis.shape[1]
    width = size * max(n_head, -(-2 * variables // size))
    tensors = {name: _widened(table, width) for name, table in tensors.items()}
    heads: list[list[VariableRows]] = []
    into, into_bias, out = [], [], []
    for at in range(c.blocks):
        block = c.block(at).cast(np.float64)
        plain_attn, plain_bias = np.zeros((width, 3 * width)), np.zeros(3 * width)
        plain_proj = np.zeros((width, width))
        rows_of = []
        for h in range(n_head):
            head = _head(block, directions.heads[at][h], h, basis, size)
            rows_of.append(head)
            parts = (
                (head.query, head.query_bias),
                (head.key, head.key_bias),
                (head.value, head.value_bias),
            )
            for part, (matrix, offset) in enumerate(parts):
                start = part * width + h * size
                columns = slice(start, start + matrix.shape[1])
                plain_attn[: 2 * variables, columns] = _reading(matrix)
                plain_bias[columns] = offset
            rows = slice(h * size, h * size + len(head.written))
            plain_proj[rows, : 2 * variables] = _embedding(head.written)
        heads.append(rows_of)
        sides = _sides(block, directions, at, basis)
        into.append(sides[0])
        into_bias.append(sides[1])
        out.append(sides[2])
        plain = GPT2Block(
            c_attn=plain_attn,
            c_attn_bias=plain_bias,
            attn_proj=plain_proj,
            c_fc=_widened(_reading(sides[0]).T, width).T,
            c_fc_bias=sides[1],
            mlp_proj=_widened(_embedding(sides[2]), width),
        )
        tensors |= plain.cast(np.float32).tensors(at)
        for bias in ("attn.c_proj.bias", "mlp.c_proj.bias"):
            tensors[f"{GPT2Block.PREFIX}.{at}.{bias}"] = np.zeros(width, np.float32)
    for norm in norm_names(c.blocks):
        tensors[f"{norm}.weight"] = np.ones(width, np.float32)
        tensors[f"{norm}.bias"] = np.zeros(width, np.float32)
    readout, scale = read_logits(c.tensor(c.readout), basis, c.weights is None)
    tensors[c.readout] = _widened(as_float32(_reading(readout.T).T), width)
    if c.head != "lm":
        tensors["classifier.bias"] = c.tensor("classifier.bias")
    checkpoint = replace(c, n_head=width // size, tensors=tensors)
    return Plain(checkpoint, tokens, positions, heads, into, into_bias, out, readout, scale)


def _head(block: GPT2Block, head: HeadBasis, h: int, basis: Matrix, size: int) -> VariableRows:
    attn, bias, d = block.c_attn, block.c_attn_bias, len(block.c_attn)
    parts: list[tuple[Matrix, Matrix]] = []
    for part, rows in enumerate((head.query_key, head.query_key, head.value)):
        own = slice(part * d + h * size, part * d + (h + 1) * size)
        across = rows.astype(np.float64).T
        reach = float(np.sqrt((attn[:, own] ** 2).sum() + (bias[own] ** 2).sum()))
        rows_of = snapped(basis.T @ attn[:, own] @ across, NEAR * reach)
        parts.append((rows_of, snapped(bias[own] @ across, NEAR * reach)))
    written = block.attn_proj[h * size : (h + 1) * size]
    values = head.value.astype(np.float64) @ written @ basis
    near = NEAR * float(np.sqrt((written**2).sum()))
    return VariableRows(*parts[0], *parts[1], *parts[2], snapped(values, near))


def _sides(
    block: GPT2Block, directions: Directions, at: int, basis: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    """The sides of a block's clips: the mean of the units that share one."""
    shared = sharing(directions.units[at], len(block.c_fc_bias), at)
    mean_in = shared.mean(block.c_fc.T / shared.factor[:, None]).T
    mean_bias = shared.mean(block.c_fc_bias / shared.factor)
    reach = NEAR * np.sqrt((mean_in**2).sum(axis=0) + mean_bias**2)
    return (
        snapped(basis.T @ mean_in, reach[None, :]),
        snapped(mean_bias, reach),
        along(shared.total(block.mlp_proj), basis),
    )


def _reading(forms: Matrix) -> Matrix:
    """(variables, columns) as weights on pairs (+v, -v)."""
    pairs = np.zeros((2 * len(forms), forms.shape[1]))
    pairs[0::2], pairs[1::2] = forms / 2, -forms / 2
    return pairs


def _embedding(rows: Matrix) -> Array:
    """(rows, variables) as pairs (+v, -v)."""
    pairs = np.zeros((len(rows), 2 * rows.shape[1]))
    pairs[:, 0::2], pairs[:, 1::2] = rows, -rows
    return as_float32(pairs)


def _widened(rows: NDArray[Any], width: int) -> NDArray[Any]:
    wide = np.zeros((len(rows), width), rows.dtype)
    wide[:, : rows.shape[1]] = rows
    return wide
