"""Why a Llama is right in floating point, given what its weights compute.

Block by block: the error of RMSNorm's factor, which all coordinates of a position share, of what
attention reads, of scores (against the gap of the head's theorem), of head outputs, of the sums
that gates clip, of stored bits, and of the means of counts.

float32 carries errors along and bounds them; clips keep them from growing with depth. In bfloat16
and float16 rounding works for us: everything Boolean is rounded to exactly 0 or ±1 at every step,
and that is what is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, inf

import numpy as np

from softhat.numbers.rationals import grid_of
from softhat.numerics.formats import Format
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.llama.reading import LlamaDerivation
from softhat.proof.llama.rope import frequencies
from softhat.proof.stock.checkpoint import Array
from softhat.proof.stock.derivation import DerivedBlock
from softhat.proof.stock.kind import StockHead, output_error
from softhat.proof.stock.logits import ReadVariables
from softhat.proof.stock.plain_bounds import PlainBounds, Vector
from softhat.proof.stock.rotary import Resting, RotaryScores, StoredRows, TurnedScores
from softhat.proof.stock.storage import AS_READ, MEANS_AS_READ, ROOT, SECOND, SMALL, U, need
from softhat.proof.stock.variables import Cell, ConstantCell, MeanCell, magnitude, only_at_bos
from softhat.transformer.decoders import LlamaBlock

FAR = 24.0
"""silu(x) differs from relu(x) by at most |x|e^-|x|, 24·e^-24 from |x| = 24 on."""
TAIL = FAR * exp(-FAR)


@dataclass(frozen=True, slots=True)
class Read:
    """What a sublayer reads: what coordinates hold, how far each may be off before RMSNorm, and how
    far RMSNorm's factor may be off 1."""

    cells: list[Cell]
    off: Vector
    scale: float
    exact: bool
    """Everything but means is read as exactly what it is."""


class LlamaBounds(PlainBounds[LlamaCheckpoint, LlamaBlock]):
    """The bounds of one checkpoint for one storage format and attention kernel."""

    def __init__(
        self, derivation: LlamaDerivation, fused: bool, storage: Format, margin: float | None
    ):
        super().__init__(derivation, fused, storage, margin)
        self.rotary = RotaryScores(storage, fused, frequencies(self.c), self.c.context)
        self.resting = Resting(derivation.cells[0], set())
        self.averages: list[tuple[StockHead, LlamaBlock, Read]] = []

    def check(self) -> None:
        bits = np.zeros(self.c.d_model)
        worst = {"RMSNorm, scale": 0.0, "head output": 0.0, "sum that a gate clips": 0.0}

        def record(name: str, value: float) -> None:
            worst[name] = max(worst[name], value)

        self.later = 0.0
        for number, derived in enumerate(self.derivation.blocks):
            block = derived.matrices
            read = self._read(self.derivation.cells[number], bits)
            self.later = max(self.later, read.scale)
            record("RMSNorm, scale", read.scale)
            self._in_range(block, read)
            after = bits.copy()
            for head, targets in zip(derived.heads, derived.targets, strict=True):
                if head.uniform:
                    self.averages.append((head, block, read))
                    continue
                output = self._lookup(head, block, read)
                record("head output", output)
                after[targets] = 0.0 if not self.storage.wide else 2 * output + 2 * U
            read = self._read(self.derivation.after_attention[number], after)
            record("RMSNorm, scale", read.scale)
            record("sum that a gate clips", self._gates(derived, read))
            bits = self._stored(derived, read)
        read = self._read(self.derivation.cells[-1], bits)
        self.later = max(self.later, read.scale)
        self._read_out(read)
        self.bounds |= {"stored bit": float(bits.max()), **worst}

    # RMSNorm

    def _read(self, cells: list[Cell], bits: Vector) -> Read:
        """How far RMSNorm's factor may be off 1: bits that are off, squares of means, ε, and its
        own rounding (see the assumptions). Squares of exact integers add up exactly in any order,
        and the reciprocal root of 1 is 1. Small formats read ±1 back exactly: below a power of two
        numbers are one unit apart, so RMSNorm may move them by half of that."""
        d = self.c.d_model
        whole = all(map(_whole, cells)) and d < 2**20
        if whole and not bits.any() and self.c.epsilon <= 2.0**-26:  # 1 + ε is stored as 1
            return Read(cells, bits, 0.0, True)
        means = sum((SECOND * magnitude(cell)) ** 2 for cell in cells if isinstance(cell, MeanCell))
        squares = (float((2 * bits + bits**2).sum()) + means) / d + self.c.epsilon
        scale = ROOT * (squares + min(d + 4, 256) * U) + 4 * U
        need(max(scale, float(bits.max())) < SMALL, "RMSNorm's error is not small")
        if not self.storage.wide:
            need(scale < 0.4 * self.storage.unit, "RMSNorm moves bits by more than half an ulp")
        return Read(cells, bits, scale, not self.storage.wide)

    # What is read

    def _sizes(self, read: Read) -> Vector:
        """No coordinate is larger; what is exact is not larger at all. Bits, as stored, and
        RMSNorm's factor are off by less than SMALL, and so are means (`check_length`)."""
        care = 1.0 if read.exact else AS_READ
        mean = AS_READ if self.storage.wide else MEANS_AS_READ
        sizes = [
            (mean if isinstance(cell, MeanCell) else care) * magnitude(cell) for cell in read.cells
        ]
        return np.array(sizes)

    def _row_errors(self, rows: Array, read: Read) -> Vector:
        """How far each row, a sum, may be off before it is stored. Sums of few digits are exact."""
        weights, sizes = np.abs(rows.astype(np.float64)), self._sizes(read)
        rounding = ((rows != 0).sum(axis=1) + 1) * U * (weights @ sizes)
        if read.exact:
            exact = [
                size <= 2.0**23 * _grid(row)
                for row, size in zip(rows, weights @ sizes, strict=True)
            ]
            return np.where(exact, 0.0, rounding)
        off = SECOND * read.off + sizes * (read.scale + 3 * U)
        return np.asarray(weights @ off + rounding, np.float64)

    def _rows(self, rows: Array, read: Read) -> StoredRows:
        """Queries or keys as stored. Small formats hold them exactly, or round them."""
        size = np.abs(rows.astype(np.float64)) @ self._sizes(read)
        off = self._row_errors(rows, read)
        if not self.storage.wide:
            exact = [self._held(row, s) for row, s in zip(rows, size, strict=True)]
            off = np.where(exact, 0.0, off + self.storage.unit * size + self.storage.floor)
        return StoredRows(size, off)

    def _held(self, row: Array, size: float) -> bool:
        """Where bits and constants are exact, a row of few digits is held exactly."""
        grid = _grid(row)
        return size <= grid / self.storage.unit and size <= 2.0**23 * grid

    def _in_range(self, block: LlamaBlock, read: Read) -> None:
        """Nothing overflows, not even what nobody reads: 0 times infinity is no number."""
        sizes = self._sizes(read)
        largest = self.storage.largest
        for rows in (block.query, block.key, block.value):
            # A sum is rounded, and what is rotated has √2 of its coordinates at most.
            size = 1.5 * float((np.abs(rows.astype(np.float64)) @ sizes).max(initial=0))
            need(size <= largest, "queries, keys or values overflow")
            need(size * self.c.context <= 1e37, "sums of values overflow")

    # Heads

    def _lookup(self, head: StockHead, block: LlamaBlock, read: Read) -> float:
        """How far the output of a head may be off 0 or 1."""
        own, shared = self.c.rows_of(head.head)
        query = self._rows(block.query[own], replace(read, scale=0.0))
        key = self._rows(block.key[shared], read)
        products = float(query.size @ key.size)
        need(products < 1e30, f"{head.kind} heads: scores overflow")
        need(self.fused or products <= self.storage.largest, f"{head.kind} heads: scores overflow")
        values = block.value[shared][self._used(head, block)]
        value = float(self._row_errors(values, read).max())
        scores = TurnedScores(
            storage=self.storage,
            fused=self.fused,
            keys=self.c.context,
            rotary=self.rotary,
            query=query,
            key=key,
            scale=read.scale,
            resting=self.resting,
            counted=self.fused and read.exact and not value,
            advice=self._advice(),
        )
        self.kept_share = max(self.kept_share, head.kept(scores))
        sizes = np.abs(values.astype(np.float64)) @ self._sizes(read)
        held = all(self._held(row, s) for row, s in zip(values, sizes, strict=True))
        need(self.storage.wide or held, f"{head.kind} heads: a value is not exact")
        return output_error(head, scores, value)

    def _advice(self) -> str:
        """What to do where scores are off too far."""
        if self.storage.wide:
            return ""
        other = [] if self.fused else ["kernel='sdpa'"]
        other += ["positions='bits'"] if self.c.factor == 1 else []
        return f": use {' and '.join(other)}" if other else ""

    def _used(self, head: StockHead, block: LlamaBlock) -> list[int]:
        own, _ = self.c.rows_of(head.head)
        return [int(r) for r in np.flatnonzero(block.output[:, own].any(axis=0))]

    # Counts

    def mean_errors(self, positions: int) -> Iterator[float]:
        for head, block, read in self.averages:
            yield from self._mean_errors(head, block, read, positions)

    def _mean_errors(
        self, head: StockHead, block: LlamaBlock, read: Read, positions: int
    ) -> Iterator[float]:
        storage, cells = self.storage, read.cells
        own, shared = self.c.rows_of(head.head)
        targets, columns = np.nonzero(block.output[:, own])
        matrix = block.value[shared][columns]
        alone = only_at_bos(cells)
        ordinary = matrix.copy()
        ordinary[:, alone] = 0  # those coordinates are exactly 0 except at <bos>
        values = self._row_errors(ordinary, read)
        for r, (target, count) in enumerate(zip(targets.tolist(), head.counts, strict=True)):
            if not count.least:
                continue  # its sign is read by nothing
            amplitude = float(block.output[target, own][columns[r]])
            exact = self._exact_values(matrix[r], cells)
            if not storage.wide:
                need(
                    exact,
                    f"counts: a coefficient or constant has too many digits for {storage.name}",
                )
            exact = exact and read.exact
            value = 0.0
            if not exact:
                only_bos = float(np.abs(matrix[r, alone]).sum()) / positions
                value = float(values[r]) + only_bos * (read.scale + 8 * U)
            drowned = 4 * storage.floor / amplitude + storage.floor
            error = self.mean_error(count, positions, value, exact, drowned)
            yield error + self.later + 8 * storage.unit

    def _exact_values(self, row: Array, cells: list[Cell]) -> bool:
        """Averaged values are multiples of a power of two, exact with few digits: at `<bos>` and
        elsewhere other coordinates count."""
        for side in ("ordinary", "bos"):
            sizes = [
                abs(getattr(cell, side)) if isinstance(cell, ConstantCell) else magnitude(cell)
                for cell in cells
            ]
            size = float(np.abs(row.astype(np.float64)) @ np.array(sizes))
            if not self._held(np.where(np.array(sizes) > 0, row, 0.0), size):
                return False
        return True

    # Gates and read-out

    def _gates(self, derived: DerivedBlock[LlamaBlock], read: Read) -> float:
        """What gates clip stays on its side of the clip, beyond silu's tail. RMSNorm's factor is
        common to all that a sum reads: it scales the sum."""
        block = derived.matrices
        errors = self._row_errors(block.gate, replace(read, scale=0.0))
        least = 1.0 if read.exact else 1.0 - read.scale
        worst = 0.0
        for gate in derived.gates:
            error = float(errors[list(gate.units)].max())
            worst = max(worst, error * gate.out / 4)
            room = self.gate_room(gate, FAR, least)
            if not self.storage.wide:  # sums that fail are stored too, and may be rounded up
                room = min(room, -gate.fails * (1 - self.storage.unit) - FAR)
            need(error <= room, "gates: a sum of literals may be off too far")
        sizes = np.abs(block.gate.astype(np.float64)) @ self._sizes(read)
        factors = np.abs(block.up.astype(np.float64)) @ self._sizes(read)
        largest = max(float(s.max(initial=0)) for s in (sizes, factors, sizes * factors))
        # A sum, silu, its product and their storing are rounded: (1 + 2^-8)^8 < 1.1.
        need(1.1 * largest <= self.storage.largest, "gates: hidden units overflow")
        return worst

    def _stored(self, derived: DerivedBlock[LlamaBlock], read: Read) -> Vector:
        """The error of bits after the gates. Where a term holds, its gate adds
        w(silu(g₁)·f - silu(g₂)·f): the literals' errors cancel, f and the constants have the
        factor of the position, and units of terms that fail are below silu's tail. SECOND is for f,
        which is off 1 by less than 2^-7 and a few roundings, and for silu's slope, which is less
        than 1 + TAIL beyond FAR."""
        block = derived.matrices
        weights = np.abs(block.gate.astype(np.float64))
        reach = weights @ self._sizes(read)
        rounding = ((block.gate != 0).sum(axis=1) + 1) * U * reach
        fixed = [isinstance(cell, ConstantCell) for cell in read.cells]
        constant = weights[:, fixed] @ self._sizes(read)[fixed]
        errors = self._row_errors(block.gate, read)
        after = read.off.copy()
        entries = (block.down != 0).sum(axis=1)
        worst: dict[int, float] = {}
        for gate in derived.gates:
            seen = gate.low + gate.high + float(errors[list(gate.units)].sum())
            held = SECOND * gate.out * seen
            moved = gate.out * float(rounding[list(gate.units)].sum())
            constants = float(sum(constant[list(gate.units)])) * gate.out * 3 * U
            common = 2 * ((1 + read.scale + 4 * U) ** 2 - 1)
            added = int(entries[gate.target])
            tails = SECOND * gate.out * added * TAIL
            error = SECOND * moved + constants + common + held * (12 + added) * U + tails + 2 * U
            if tails < U / 4:
                self.resting.quiet.add(gate.target)
            worst[gate.target] = max(worst.get(gate.target, 0.0), error)
            if not self.storage.wide:
                need(tails < self.storage.unit / 8, "gates: silu's tails are not lost")
        for target, error in worst.items():
            after[target] = error if self.storage.wide else 0.0
        return after

    def _read_out(self, read: Read) -> None:
        """The weights are those that the format stores."""
        rows = self.c.tensor(self.c.readout).astype(np.float64)
        scale = 0.0 if read.exact else read.scale + 3 * U
        variables = ReadVariables(read.cells, read.off, scale)
        self.check_read_out(rows, rows, 1, variables)


def _whole(cell: Cell) -> bool:
    """It holds integers."""
    if isinstance(cell, ConstantCell):
        return cell.ordinary == round(cell.ordinary) and cell.bos == round(cell.bos)
    return not isinstance(cell, MeanCell)


def _grid(row: Array) -> float:
    """The largest power of two that all weights of a row are multiples of."""
    return min(map(grid_of, set(row.tolist())), default=inf)
