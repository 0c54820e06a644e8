"""The plain checkpoint that a disguised one stands for, over variables, as its directions say.

The directions are claims: weights are read along them, and what comes out is taken to the nearest
short binary fraction. Nothing of it needs to be right: it is what functions are derived from, and
the bounds measure how far the disguised weights are from it, whatever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.dense.matrices import Matrix, frobenius
from softhat.proof.dense.snapping import as_float32, read_logits
from softhat.proof.stock.checkpoint import (
    Array,
    BlockMatrices,
    DecoderFacts,
    Embedding,
    StockCheckpoint,
)
from softhat.proof.stock.norms import Norm
from softhat.proof.stock.variables import Cell, Rows


@dataclass(frozen=True, kw_only=True)
class PlainCheckpoint(StockCheckpoint):
    """It has no tensors of its own: only what they would be over variables."""

    disguised: StockCheckpoint
    table: Embedding
    blocks: tuple[BlockMatrices, ...]
    rows: Rows
    """Of the logits, in units of `scale`."""
    scale: float

    @staticmethod
    def of(
        disguised: StockCheckpoint,
        table: Embedding,
        blocks: Sequence[BlockMatrices],
        basis: Matrix,
    ) -> PlainCheckpoint:
        """With its logits read along the columns of `basis`."""
        readout = disguised.tensor(disguised.readout)
        rows, scale = read_logits(readout, basis, disguised.weights is None)
        shared = {f.name: getattr(disguised, f.name) for f in fields(StockCheckpoint)}
        plain = PlainCheckpoint(
            **{**shared, "tensors": {}},
            disguised=disguised,
            table=table,
            blocks=tuple(blocks),
            rows=Rows.of(as_float32(rows)),
            scale=scale,
        )
        if not all(np.isfinite(array).all() for array in plain._arrays()):
            raise VoidError("along its directions a weight is not a finite float32")
        return plain

    def _arrays(self) -> list[Array]:
        arrays = [self.table.tokens, self.table.positions, self.rows.weights]
        for block in self.blocks:
            arrays += [block.output, block.down]
            for rows in (block.query, block.key, block.value, block.gate, block.up):
                arrays += [] if rows is None else [rows.weights, rows.constants]
        return arrays

    @property
    def d_model(self) -> int:
        return self.disguised.d_model

    @property
    def architecture(self) -> DecoderFacts:
        return self.disguised.architecture

    def tables(self) -> Embedding:
        return self.disguised.tables()

    def embedding(self) -> Embedding:
        return self.table

    def over_coordinates(self, at: int) -> BlockMatrices:
        return self.disguised.over_coordinates(at)

    def over_variables(self, at: int) -> BlockMatrices:
        return self.blocks[at]

    def norm(self, cells: list[Cell]) -> Norm:
        return self.disguised.norm(cells)

    def logit_rows(self) -> tuple[Rows, bool]:
        return self.rows, self.disguised.logits()[1]


@dataclass(frozen=True)
class Undisguised:
    """The plain checkpoint, and the bases in which it was read."""

    checkpoint: PlainCheckpoint
    basis: Matrix  # (d_model, variables): orthonormal columns
    scored: list[list[Matrix]]
    """Of each block and head of keys: the directions of the plain queries' and keys' rows."""
    values: list[list[Matrix]]
    """Of each block and head: rows are the directions of its values."""
    places: list[list[list[int]]]
    """Of each block and head: which rows of the plain values they are."""
    shared_values: list[list[Matrix]]
    """Of each block and head of keys: the directions of all rows of the plain values."""


def check_orthonormal(rows: Matrix, where: str) -> None:
    """Directions are nearly orthonormal: what they span is measured along them."""
    if len(rows) > rows.shape[1] or frobenius(rows @ rows.T - np.eye(len(rows))) > 2.0**-10:
        raise VoidError(f"{where} are not orthonormal")
