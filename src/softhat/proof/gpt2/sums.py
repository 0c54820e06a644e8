"""What the pairs of a GPT-2 hold in a storage format, and the error of sums over them."""

from __future__ import annotations

import numpy as np

from softhat.numerics.formats import Format
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.gpt2.reading import GPT2Derivation
from softhat.proof.stock.checkpoint import Array
from softhat.proof.stock.kind import StockHead
from softhat.proof.stock.plain_bounds import PlainBounds, Vector
from softhat.proof.stock.storage import AS_READ, MEANS_AS_READ, SECOND, U
from softhat.proof.stock.variables import MeanCell, RawCell, magnitude
from softhat.transformer.decoders import GPT2Block


class Sums(PlainBounds[GPT2Checkpoint, GPT2Block]):
    """One checkpoint in one storage format, by one attention kernel: how large its pairs are, and
    how far they are off: head outputs (`output`), and before each block stored bits (`bits`) and
    what LayerNorm returns (`norm`: by the mean, by the scale)."""

    def __init__(
        self, derivation: GPT2Derivation, fused: bool, storage: Format, margin: float | None
    ) -> None:
        super().__init__(derivation, fused, storage, margin)
        self.bits: list[Vector] = []
        self.output = 0.0
        self.norm: list[tuple[float, float]] = []
        stages = [*derivation.cells, *derivation.after_attention]
        self.pairs = len(stages[0])
        self.amplitude = np.zeros(self.pairs)
        self.means = np.zeros(self.pairs)
        size = np.zeros(self.pairs)
        for cells in stages:
            for p, cell in enumerate(cells):
                size[p] = max(size[p], magnitude(cell))
                if isinstance(cell, RawCell):
                    self.amplitude[p] = cell.amplitude
                elif isinstance(cell, MeanCell):
                    self.means[p] = magnitude(cell)
        self.raw = self.amplitude > 0
        self.smallest = float(min(self.amplitude[self.raw], default=1.0))
        self.size = size
        # `_layer_norm` refuses errors of bits and scales from SMALL on, `mean_error` of means.
        # Small formats hold bits exactly, and their norms are off by less than half an ulp.
        wide = self.storage.wide
        care, means = (AS_READ, AS_READ) if wide else (SECOND, MEANS_AS_READ)
        self.magnitude = size * np.where(self.means > 0, means, care)

    def read_error(self, number: int) -> Vector:
        """How far the value v = (x₊ - x₋)/2 of a pair may be off after a norm of the block."""
        mean, scale = self.norm[number]
        drowned = 2 * self.storage.unit * mean + 2 * self.storage.floor
        amplitude = self.amplitude[self.raw]
        if self.storage.wide:
            error = SECOND * self.bits[number] + (scale + 3 * U) * np.maximum(1.0, self.size)
            error[self.raw] = amplitude * (2 * SECOND * self.output + scale + 3 * U) + drowned
        else:
            error = np.zeros(self.pairs)
            error[self.raw] = 2 * amplitude * self.output + drowned
        return error

    def reach(self, matrix: Array, bias: Array, mean: float) -> Vector:
        """Σ |weight·input| + |bias| of each column: no partial sum is larger, in any order."""
        size = np.repeat(self.magnitude, 2) + mean
        reach: Vector = size @ np.abs(matrix.astype(np.float64)) + np.abs(bias)
        return reach

    def rounding(self, matrix: Array, bias: Array, mean: float) -> Vector:
        """Error of adding up a column in float32 in any order: zeros add nothing."""
        terms = (matrix != 0).sum(axis=0) + 1
        rounding: Vector = terms * U * self.reach(matrix, bias, mean)
        return rounding

    def column_error(self, number: int, matrix: Array, bias: Array) -> Vector:
        """Error of Σ weight·value + bias for each column, before it is stored."""
        read = np.abs(matrix[0::2].astype(np.float64) * 2)
        error: Vector = self.read_error(number) @ read
        return error + self.rounding(matrix, bias, self.norm[number][0])

    def heads(self) -> list[StockHead]:
        return [*self.derivation.heads()]

    def part(self, head: StockHead, part: int) -> tuple[Array, Array]:
        """The columns of a head's queries (0), keys (1) or values (2)."""
        start = part * self.c.d_model + head.head * self.c.d_head
        columns = slice(start, start + self.c.d_head)
        block = self.derivation.blocks[head.block].matrices
        return block.c_attn[:, columns], block.c_attn_bias[columns]
