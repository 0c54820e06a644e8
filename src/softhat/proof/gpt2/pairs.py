"""What each pair of coordinates of a stock GPT-2 holds before the first block.

Coordinates come in pairs (+v, -v), so that LayerNorm's mean is 0.
"""

from __future__ import annotations

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint, Pairs
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.variables import LEVEL, BitCell, Cell, ConstantCell, TableCell, of_tokens


def embedded(c: GPT2Checkpoint, atoms: BoundedAtoms) -> list[Cell]:
    """The pairs before the first block."""
    ordinary = len(c.tokens)
    wte = c.tensor("transformer.wte.weight")
    wpe = c.tensor("transformer.wpe.weight")
    if wte.shape[1] != wpe.shape[1] or len(wte) <= max(c.bos, ordinary - 1):
        raise VoidError("the embeddings do not fit the tokenizer")
    if c.bos < ordinary:
        raise VoidError("<bos> is one of the word's own tokens")
    for name, table in (("token", wte), ("position", wpe)):
        if not np.array_equal(table[:, 0::2], -table[:, 1::2]):
            raise VoidError(f"the {name} embedding is not made of pairs of opposite sign")
    tokens = wte[:ordinary, 0::2].astype(np.float64)
    positions = wpe[:, 0::2].astype(np.float64)
    start = wte[c.bos, 0::2].astype(np.float64) + positions[0]
    # Rows beyond are padding's. It is masked, but what is masked is still multiplied by 0.
    others = np.delete(wte[ordinary:, 0::2].astype(np.float64), c.bos - ordinary, axis=0)
    for p in range(tokens.shape[1]):
        if not np.isin(np.abs(others[:, p]), np.abs(tokens[:, p])).all():
            raise VoidError(f"padding holds in pair {p} what no token holds there")
    return [
        _cell(c, atoms, tokens[:, p], positions[:, p], float(start[p]), f"pair {p}")
        for p in range(tokens.shape[1])
    ]


def _cell(
    c: GPT2Checkpoint, atoms: BoundedAtoms, token: Pairs, position: Pairs, start: float, where: str
) -> Cell:
    fixed_token = bool((token == token[0]).all())
    fixed_position = bool((position[1:] == position[1]).all())
    if fixed_token and fixed_position:
        return ConstantCell(float(token[0] + position[1]), start)
    if not fixed_token and not fixed_position:
        raise VoidError(f"{where} mixes positions and symbols")
    values = (token[0] + position) if fixed_token else (token + position[1])
    if fixed_token:
        values[0] = start
    if not np.isin(values, (-1.0, 1.0)).all():
        raise VoidError(f"{where} is neither constant nor ±1")
    if fixed_token:
        return TableCell(atoms.table(values[1:] > 0, LEVEL), values)
    if start != -1.0:
        raise VoidError(f"{where} holds symbols and is not -1 at <bos>")
    return BitCell(of_tokens(c, atoms, values > 0))
