"""Why a plain checkpoint is right in floating point, given what its weights compute.

Block by block: what norms do, what sublayers read, scores (against the gap of the head's theorem),
head outputs, the sums that gates clip, stored bits, and the means of counts; then the logits.

float32 carries errors along and bounds them; clips keep them from growing with depth. In bfloat16
and float16 rounding works for us: everything Boolean is rounded to exactly 0 or ±1 (a raw output to
±A) at every step, and that is what is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log2

import numpy as np
from numpy.typing import NDArray

from softhat.numbers.rationals import grid_of
from softhat.numerics.formats import Format
from softhat.numerics.kernels import EAGER, SDPA
from softhat.proof.stock.checkpoint import BlockMatrices
from softhat.proof.stock.counts import MeanCount
from softhat.proof.stock.derivation import DerivedBlock, StockDerivation
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.kind import KEPT, Lookup, StockHead, StockScores, output_error
from softhat.proof.stock.logits import ReadVariables, check_logits, logit_errors
from softhat.proof.stock.pair_scores import PairScores
from softhat.proof.stock.reading import StockReading
from softhat.proof.stock.rotary import Resting, RotaryScores, TurnedScores
from softhat.proof.stock.storage import HUGE, SECOND, SMALL, U, need
from softhat.proof.stock.variables import (
    Cell,
    ConstantCell,
    RawCell,
    Rows,
    magnitude,
    only_at_bos,
)

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Averaging:
    """A head that averages, and what it reads."""

    head: StockHead
    block: BlockMatrices
    read: StockReading


class PlainBounds:
    """The bounds of one checkpoint for one storage format and attention kernel."""

    def __init__(
        self, derivation: StockDerivation, fused: bool, storage: Format, margin: float | None
    ) -> None:
        self.derivation, self.architecture = derivation, derivation.architecture
        self.fused, self.storage, self.margin = fused, storage, margin
        self.kernel = SDPA if fused else EAGER
        self.norm = derivation.checkpoint.norm(derivation.cells[0])
        a = self.architecture
        self.rotary = RotaryScores(storage, fused, a.frequencies, a.context)
        self.resting = Resting(derivation.cells[0], set())
        self.bounds: dict[str, float] = {}
        self.averages: list[Averaging] = []
        self.reads: list[StockReading] = []
        """Before each block, and at the end."""
        self.kept_share = KEPT[0]
        """The share of their size that means of counts must keep."""

    def check(self) -> None:
        """Everything but what gets worse with the length."""
        names = ("stored bit", f"{self.norm.name}, scale", "head output", "sum that a gate clips")
        self.bounds |= dict.fromkeys(names, 0.0)
        off = np.zeros(len(self.derivation.cells[0]))
        stages = zip(self.derivation.blocks, self.derivation.after_attention, strict=True)
        for number, (block, attended) in enumerate(stages):
            read = self.read(self.derivation.cells[number], off)
            self.reads.append(read)
            self._in_range(block.matrices, read)
            off = self._attended(block, read)
            off = self._clipped(block, self.read(attended, off))
        read = self.read(self.derivation.cells[-1], off)
        self.reads.append(read)
        self._read_out(read)

    def _record(self, name: str, value: float) -> None:
        self.bounds[name] = max(self.bounds.get(name, 0.0), value)

    def read(self, cells: list[Cell], off: Vector) -> StockReading:
        """What a norm returns of variables that hold `cells`, and are off by so much."""
        factor = self.norm.factor(cells, off, self.storage)
        self._record(f"{self.norm.name}, scale", factor.scale)
        if self.norm.centres:
            self._record(f"{self.norm.name}, mean", factor.mean)
        return StockReading(cells, off, factor, self.storage, self.architecture.coordinates)

    def _in_range(self, block: BlockMatrices, read: StockReading) -> None:
        """Nothing overflows, not even what nobody reads: 0 times infinity is no number. A sum is
        rounded, and what is rotated has √2 of its coordinates at most."""
        care = 1.5 if self.architecture.turns else 1.0
        for rows in (block.query, block.key, block.value):
            size = care * float(read.reach(rows).max(initial=0))
            need(size <= self.storage.largest, "queries, keys or values overflow")
            need(size < HUGE, "sums of values overflow")

    # Heads

    def _attended(self, derived: DerivedBlock, read: StockReading) -> Vector:
        """The errors after a block's heads: a raw output keeps what it was off by when its variable
        is used again. Small formats store it exactly (`output_error`)."""
        off = read.off.copy()
        for head, targets in zip(derived.heads, derived.targets, strict=True):
            if head.uniform:
                self.averages.append(Averaging(head, derived.matrices, read))
                continue
            output = self._lookup(head, derived.matrices, read)
            self._record("head output", output + U)
            if self.storage.wide:
                own, _ = self.architecture.rows_of(head.head)
                written = np.abs(derived.matrices.output[targets][:, own]).max(axis=1)
                off[targets] += written.astype(np.float64) * (output + U)
                if not self.architecture.raw:
                    self._record("stored bit", float(off[targets].max()))
        return off

    def _lookup(self, head: StockHead, block: BlockMatrices, read: StockReading) -> float:
        """How far the output of a head may be off 0 or 1."""
        own, shared = self.architecture.rows_of(head.head)
        values = block.value[shared][np.flatnonzero(block.output[:, own].any(axis=0))]
        value = float(read.errors(values).max())
        held = self.storage.wide or bool(read.holds(values).all())
        need(held, f"{head.kind} heads: a value is not exact")
        scores = self._scores(head, block.query[own], block.key[shared], read, not value)
        self.kept_share = max(self.kept_share, head.kept(scores))
        return output_error(head, scores, value)

    def _scores(
        self, head: StockHead, query: Rows, key: Rows, read: StockReading, exact_values: bool
    ) -> StockScores:
        """Of rows that turn, the norm's factor at the query's position is common to all scores."""
        storage, fused, a = self.storage, self.fused, self.architecture
        own_query, own_key = (read.unscaled().stored(rows) for rows in (query, key))
        keys = read.stored(key)
        products = float(own_query.size @ keys.size)
        need(products < HUGE, f"{head.kind} heads: scores overflow")
        need(fused or products <= storage.largest, f"{head.kind} heads: scores overflow")
        if a.turns:
            return TurnedScores(
                storage=storage,
                fused=fused,
                keys=a.context,
                rotary=self.rotary,
                query=own_query,
                key=keys,
                scale=read.norm.scale,
                resting=self.resting,
                counted=fused and read.exact and exact_values,
                advice=self._advice(),
            )
        grids = read.grids(query), read.grids(key)
        return PairScores(
            storage=storage,
            fused=fused,
            keys=a.context,
            query=read.stored(query),
            key=keys,
            own_query=own_query,
            own_key=own_key,
            scale=read.norm.scale,
            root=a.root,
            grid=float((grids[0] * grids[1]).min()) / a.root,
        )

    def _advice(self) -> str:
        """What to do where scores are off too far."""
        if self.storage.wide:
            return ""
        other = ["" if self.fused else "kernel='sdpa'", self.architecture.advice]
        chosen = " and ".join(filter(None, other))
        return f": use {chosen}" if chosen else ""

    # Hidden units

    def _clipped(self, derived: DerivedBlock, read: StockReading) -> Vector:
        """The errors of bits after a block's gates.

        What a gate clips stays on its side of the clip, beyond the activation's tail. Where sums
        have no constants of their own the norm's factor is common to all that they read: it scales
        them. Where a term holds, its gate adds w(h₁ - h₂): the literals' errors cancel, but for
        rounding; units of terms that fail leave their tails. A second factor, and constants that
        are read, have the norm's factor, and f is off 1 by less than 2^-7 and a few roundings: that
        is in SECOND, as the slope of the activation is, which beyond its tail is 1 up to that.

        Of the terms that add at most one holds, and of those that take off. What a variable was off
        by before stays. In small formats tails, and what the sum rounds, stay within half a unit of
        the ±1 or ±A that is stored."""
        block, gates, storage = derived.matrices, derived.gates, self.storage
        activation, gated = self.architecture.activation, block.up is not None
        common = not block.gate.constants.any()
        errors, reach = read.errors(block.gate), read.reach(block.gate)
        own = read.unscaled().errors(block.gate) if common else errors
        least = 1.0 if read.exact or not common else 1.0 - read.norm.scale
        rounding, constants = read.rounding(block.gate), np.zeros(len(reach))
        if gated:
            fixed = [isinstance(cell, ConstantCell) for cell in read.cells]
            weights = np.abs(block.gate.weights[:, fixed].astype(np.float64))
            constants = 3 * U * (weights @ read.sizes[fixed])
        terms: dict[int, list[_Term]] = {}
        for gate in gates:
            units, far = list(gate.units), activation.far(gate, storage)
            error = float(own[units].max())
            self._record("sum that a gate clips", error / max(gate.low - gate.fails, 1 / gate.out))
            room = self.gate_room(gate, far, least)
            need(error <= room, "gates: a sum of literals may be off too far")
            moved = gate.out * float((SECOND * rounding[units] + constants[units]).sum())
            seen = gate.low + gate.high + float(errors[units].sum())
            tail = activation.tail(gate, far, float(reach[units].sum()), storage)
            term = _Term(gate.clears, moved, SECOND * gate.out * seen, tail)
            terms.setdefault(gate.target, []).append(term)
        self._units_in_range(block, reach, read)
        off = read.off.copy()
        for target, own_terms in terms.items():
            sides = [[t for t in own_terms if t.clears == clears] for clears in (False, True)]
            holding = [side for side in sides if side]
            tails = sum(t.tail for t in own_terms)
            held = sum(max(t.held for t in side) for side in holding)
            sums = held * activation.roundings(len(holding), len(own_terms), storage) * U
            cell = read.cells[target]
            if tails < U / 4:
                self.resting.quiet.add(target)
            if storage.wide:
                off[target] += sum(max(t.moved for t in side) for side in holding)
                off[target] += tails + sums + 2 * U
                if gated:
                    off[target] += 2 * ((1 + read.norm.scale + 4 * U) ** 2 - 1)
                if not isinstance(cell, RawCell):
                    self._record("stored bit", float(off[target]))
            else:
                room = storage.unit / 2 * (magnitude(cell) if isinstance(cell, RawCell) else 1.0)
                need(SECOND * (tails + sums) < room, "gates: tails may add up to half a unit")
        return off

    def gate_room(self, gate: Gate, far: float, least: float = 1.0) -> float:
        """What the sum that a gate clips may be off by and stay on its side of the clip, at least
        `far` from it, if what it reads is scaled by `least` or more. In small formats sums that
        fail are stored too, and may be rounded up; and hidden units are off by less than half a
        spacing, so that they are rounded to their exact values."""
        room = -gate.fails * least - far
        if self.storage.wide:
            return room if gate.never else min(room, gate.low * least - far)
        room = -gate.fails * (1 - self.storage.unit) - far
        if gate.never:
            return room
        for held in (gate.low, gate.high):
            cast = float(np.float32(held).astype(self.storage.storage))
            need(cast == held, "gates: a hidden unit has too many digits")
        spacing = self.storage.unit * 2.0 ** floor(log2(gate.low))
        return min(room, gate.low - far, spacing / 2)

    def _units_in_range(self, block: BlockMatrices, reach: Vector, read: StockReading) -> None:
        """A sum, its unit, the product with a second factor and their storing are rounded:
        (1 + 2^-8)^8 < 1.1."""
        largest = float(reach.max(initial=0))
        if block.up is not None:
            factors = read.reach(block.up)
            each = max(float(s.max(initial=0)) for s in (factors, reach * factors))
            largest = 1.1 * max(largest, each)
        need(largest <= self.storage.largest, "gates: hidden units overflow")

    # Counts and the read-out

    def check_length(self, n: int) -> None:
        """What gets worse with the length: stored scores, and means of counts. The mean of a count
        over i+1 <= n+1 positions keeps its sign, and the share of its size that Sign heads need, a
        tenth at least: the error is below the rest of the least |mean|, least/(i+1), here in units
        of that."""
        self._check_scores(n)
        worst = max(self.mean_errors(n + 1), default=0.0)
        self.bounds["mean of a count, of the least"] = worst
        room = 1 - self.kept_share
        need(worst <= room, "counts: for longer words a mean's error may reach its size")

    def _check_scores(self, n: int) -> None:
        """Where eager attention stores scores that do not turn, those of n symbols' keys are exact
        in small formats."""
        if self.fused or self.storage.wide or self.architecture.turns:
            return
        for head in self.derivation.heads():
            if isinstance(head, Lookup):
                grid = min(map(grid_of, head.sizes.tolist()))
                need(
                    float(head.sizes[: n + 1].max()) <= grid / self.storage.unit,
                    f"eager attention stores scores in {self.storage.name}, where those of "
                    f"{head.kind} heads are exact no further: use kernel='sdpa'",
                )

    def mean_errors(self, positions: int) -> Iterator[float]:
        """The errors of all means whose signs are read, in units of the least |mean|. A mean is
        read by a later block, after that block's norm; beside it the norm's mean drowns, and it is
        rounded on the way: stored by attention, as it is written and added, by the norm and as a
        query, and thrice more if that turns."""
        storage = self.storage
        roundings = 8 if self.architecture.turns else 6
        for average in self.averages:
            read, head = average.read, average.head
            own, shared = self.architecture.rows_of(head.head)
            written = average.block.output[:, own].T
            columns, targets = np.nonzero(written)
            values = average.block.value[shared][columns]
            alone = only_at_bos(read.cells)
            ordinary, at_bos = values.weights.copy(), np.abs(values.weights[:, alone])
            ordinary[:, alone] = 0  # those variables are exactly 0 except at <bos>
            errors = read.errors(Rows(ordinary, values.constants))
            adds = read.reach(values) <= 2.0**23 * read.grids(values)
            later = [r.norm for r in self.reads[head.block + 1 :]]
            mean, scale = max(r.mean for r in later), max(r.scale for r in later)
            for r, count in enumerate(head.counts):
                if not count.least:
                    continue  # its sign is read by nothing
                amplitude = float(written[columns[r], targets[r]])
                exact = bool(adds[r]) and _few_digits(count, storage)
                need(
                    exact or storage.wide,
                    f"counts: a coefficient or constant has too many digits for {storage.name}",
                )
                exact = exact and read.exact
                only_bos = float(at_bos[r].sum()) / positions * (read.norm.scale + 8 * U)
                value = 0.0 if exact else float(errors[r]) + only_bos
                drowned = (2 * storage.unit * mean + 4 * storage.floor) / amplitude + storage.floor
                error = self.mean_error(count, positions, value, exact, drowned)
                yield error + scale + roundings * storage.unit

    def mean_error(
        self, count: MeanCount, positions: int, value: float, exact: bool, drowned: float
    ) -> float:
        """What a mean over so many positions is off by before it is read, in units of the least
        |mean|, if its values are off by `value`, and by `drowned` what is lost beside it. Sums of
        values that are held exactly are exact up to float32's integers, where no weights are stored
        before; then two sums are divided, and the quotient is scaled."""
        # No value is larger as it is read, nor the share of that of `<bos>`.
        sizes = count.size + value + abs(count.bos) / positions + value
        added = self.kernel.roundings(positions) * U * sizes
        if exact:
            whole = positions * sizes / count.grid <= 2.0**24
            need(whole or self.storage.wide, "counts: sums beyond float32's integers")
            if whole and self.fused:
                added = 4 * U * sizes / positions
        off = value + added + drowned
        need(off <= SMALL * count.most, "counts: a mean may be off by too much of its size")
        return positions * off / count.least

    def _read_out(self, read: StockReading) -> None:
        """The logits keep their sign, and an lm head its margin. Weights are those that the format
        stores."""
        rows, _ = self.derivation.checkpoint.logit_rows()
        scale = 0.0 if read.exact else read.norm.scale + 3 * U
        variables = ReadVariables(read.cells, read.off, scale, read.norm.mean)
        products, is_lm = self.architecture.coordinates, self.derivation.checkpoint.head == "lm"
        weights = rows.weights.astype(np.float64)
        errors = logit_errors(weights, products, variables, self.storage, is_lm)
        self.bounds |= check_logits(self.derivation.logits, errors.tolist(), self.margin)


@dataclass(frozen=True, slots=True)
class _Term:
    """A gate's term: whether it takes off, what its rounding moves, |hidden·out| of its units, and
    what is left of them where it fails."""

    clears: bool
    moved: float
    held: float
    tail: float


def _few_digits(count: MeanCount, storage: Format) -> bool:
    """Averaged values are multiples of a power of two: exact with few digits."""
    bos = float(np.float32(count.bos).astype(storage.storage))
    return bos == count.bos and count.size <= count.unit / storage.unit
