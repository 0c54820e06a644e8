"""What each variable of a stock checkpoint holds before the first block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.checkpoint import StockCheckpoint
from softhat.proof.stock.variables import LEVEL, BitCell, Cell, ConstantCell, TableCell

Vector = NDArray[np.float64]


def embedded(c: StockCheckpoint, atoms: BoundedAtoms) -> list[Cell]:
    """The variables of a token's and a position's embedding together."""
    tables = c.embedding()
    tokens, positions = (table.astype(np.float64) for table in (tables.tokens, tables.positions))
    ordinary = len(c.tokens)
    if len(tokens) <= max(c.bos, ordinary - 1):
        raise VoidError("the embeddings do not fit the tokenizer")
    if c.bos < ordinary:
        raise VoidError("<bos> is one of the word's own tokens")
    own, start = tokens[:ordinary], tokens[c.bos] + positions[0]
    # Rows beyond are padding's. It is masked, but what is masked is still multiplied by 0.
    others = np.delete(tokens[ordinary:], c.bos - ordinary, axis=0)
    cells: list[Cell] = []
    for p in range(tokens.shape[1]):
        if not np.isin(np.abs(others[:, p]), np.abs(own[:, p])).all():
            raise VoidError(f"padding holds in variable {p} what no token holds there")
        cells.append(_cell(c, atoms, own[:, p], positions[:, p], float(start[p]), f"variable {p}"))
    return cells


def _cell(
    c: StockCheckpoint,
    atoms: BoundedAtoms,
    token: Vector,
    position: Vector,
    start: float,
    what: str,
) -> Cell:
    fixed_token = bool((token == token[0]).all())
    fixed_position = bool((position[1:] == position[1]).all())
    if fixed_token and fixed_position:
        return ConstantCell(float(token[0] + position[1]), start)
    if not fixed_token and not fixed_position:
        raise VoidError(f"{what} mixes positions and symbols")
    values = (token[0] + position) if fixed_token else (token + position[1])
    if fixed_token:
        values[0] = start
    if not np.isin(values, (-1.0, 1.0)).all():
        raise VoidError(f"{what} is neither constant nor ±1")
    if fixed_token:
        return TableCell(atoms.table(values[1:] > 0, LEVEL), values)
    if start != -1.0:
        raise VoidError(f"{what} holds symbols and is not -1 at <bos>")
    return BitCell(of_tokens(c, atoms, values > 0))


def of_tokens(c: StockCheckpoint, atoms: BoundedAtoms, holds: NDArray[np.bool_]) -> int:
    """The function that is true at these tokens."""
    space = atoms.space
    if not c.propositional:
        rank = {frozenset([symbol]): at for at, symbol in enumerate(c.symbols)}
        return space.symbols(sum(1 << rank[t] for t, on in zip(c.tokens, holds, strict=True) if on))
    for name in c.symbols:
        if all((name in t) == on for t, on in zip(c.tokens, holds, strict=True)):
            return space.symbol(name)
    either = space.false
    for token, on in zip(c.tokens, holds, strict=True):
        if on:
            literals = [
                space.symbol(name) if name in token else space.negation(space.symbol(name))
                for name in c.symbols
            ]
            either = space.either(either, space.every(literals))
    return either
