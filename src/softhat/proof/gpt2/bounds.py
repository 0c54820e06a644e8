"""Why a GPT-2 is right in floating point, given what its weights compute.

It bounds, in order: the error of stored bits, of LayerNorm, of everything that attention and
feed-forward layers read, of scores (against the gap of the head's theorem), of head outputs, of
the sums that gates clip, and of the means of counts.

float32 carries errors along and bounds them; clips keep them from growing with depth. In bfloat16
and float16 rounding works for us: everything Boolean is rounded to exactly 0 or ±1 at every step,
and that is what is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor, inf, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.formats import FORMATS
from softhat.proof.gpt2.checkpoint import Array
from softhat.proof.gpt2.distribution import StatedLogits, probability_error
from softhat.proof.gpt2.heads import Count, Head
from softhat.proof.gpt2.pairs import Bit, Cell, Constant, Mean, Raw
from softhat.proof.gpt2.reading import Derivation

U = 2.0 ** -FORMATS["float32"].digits
"""Unit roundoff of float32, in which every kernel adds up."""
BLOCK = 512
"""Fused attention adds up the keys in blocks of at most this many."""
SMOOTH = 6.0
"""gelu_new differs from relu by less than 2^-23·|x| from |x| = 6 on."""
LEAST_GAP = 20.0
"""e^-20 is below float32's roundoff: weights of losers are lost in the winner's."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Storage:
    """A storage format: unit roundoff, the error near 0, the largest number."""

    name: str
    unit: float
    floor: float
    largest: float
    dtype: Any

    @property
    def wide(self) -> bool:
        return self.unit <= U


def _storage(name: str, like: str) -> Storage:
    f = FORMATS[like]
    return Storage(name, 2.0**-f.digits, f.smallest / 2, f.largest, f.storage)


STORAGES = (
    _storage("float32", "float32"),
    _storage("bfloat16", "bfloat16"),
    _storage("float16", "float16"),
    # Every step errs less in float64 than in float32, and the weights are the same: one proof.
    _storage("float64", "float32"),
)


class NotProvedError(Exception):
    """A bound does not hold; the message says which."""


def need(holds: bool, reason: str) -> None:
    """A step of the proof."""
    if not holds:
        raise NotProvedError(reason)


class Bounds:
    """The bounds of one checkpoint for one storage format and attention kernel."""

    def __init__(self, found: Derivation, fused: bool, storage: Storage, margin: float | None):
        self.found = found
        self.c = found.checkpoint
        self.fused = fused
        self.storage = storage
        self.margin = margin
        self.bounds: dict[str, float] = {}
        stages = [*found.cells, *found.after_attention]
        self.pairs = len(stages[0])
        self.amplitude = np.zeros(self.pairs)
        self.means = np.zeros(self.pairs)
        size = np.zeros(self.pairs)
        for cells in stages:
            for p, cell in enumerate(cells):
                size[p] = max(size[p], magnitude(cell))
                if isinstance(cell, Raw):
                    self.amplitude[p] = cell.amplitude
                elif isinstance(cell, Mean):
                    self.means[p] = magnitude(cell)
        self.raw = self.amplitude > 0
        self.smallest = float(min(self.amplitude[self.raw], default=1.0))
        self.magnitude = size * 1.01  # confirmed below: no relative error reaches 2^-7

    def check(self) -> None:
        """Everything but the means of counts, whose error grows with the length."""
        self._weights_fit()
        self.bit = self._bit_errors()
        # By induction over the blocks: if earlier outputs are off by at most this, then by at most
        # what follows from it, and again with that.
        self.output = 2.0**-9 if self.storage.wide else 2.0**-20
        for _ in range(3):
            self.norm = [self._layer_norm(number) for number in range(self.c.blocks + 1)]
            lookups = [self._lookup(head) for head in self._heads() if head.kind != "Average"]
            output = max(lookups, default=0.0)
            need(output <= self.output, "heads: the error of an output may be too large")
            self.output = output
        gates = max(self._gates(number) for number in range(self.c.blocks))
        self._read_out()
        self.bounds |= {
            "stored bit": float(self.bit.max()),
            "LayerNorm, mean": max(mean for mean, _ in self.norm),
            "LayerNorm, scale": max(scale for _, scale in self.norm),
            "head output": self.output,
            "sum that a gate clips": gates,
        }

    # Weights, stored bits and LayerNorm

    def _weights_fit(self) -> None:
        """Weights are exact in the format (read-outs may round: their sign is what counts)."""
        for name, tensor in self.c.tensors.items():
            with np.errstate(over="ignore"):
                cast = tensor.astype(self.storage.dtype).astype(np.float32)
            exact = bool((cast == tensor).all())
            if name.startswith(("classifier", "lm_head")):
                need(bool(np.isfinite(cast).all()), f"{name} overflows")
            elif ".ln_" not in name:
                need(exact, f"{name} has entries that {self.storage.name} cannot hold exactly")

    def _bit_errors(self) -> Vector:
        """How far each stored ±1 may be off. Where a term holds, its gate adds w(h₁ - h₂): both
        units see the same sum, so only their own rounding counts. Units of terms that fail are 0
        (gelu_new: below 2^-24 of their input). Exactly 0 in small formats, see `_gates`."""
        errors = np.zeros(self.pairs)
        smooth = self.c.activation == "gelu_new"
        for block in self.found.blocks if self.storage.wide else ():
            rounding = self._rounding(block.c_fc, block.c_fc_bias, mean=2.0**-7)
            reach = self._reach(block.c_fc, block.c_fc_bias, mean=2.0**-7)
            terms: dict[int, list[tuple[float, float, float]]] = {}
            for gate in block.gates:
                units = list(gate.units)
                tail = U * gate.out * float(reach[units].sum()) if smooth else 0.0
                moved = gate.out * float(rounding[units].sum())
                held = 1.25 * gate.out * (gate.low + gate.high)
                terms.setdefault(gate.pair, []).append((moved, tail, held))
            for at, entries in terms.items():
                holding = max(moved for moved, _, _ in entries)
                failing = sum(tail for _, tail, _ in entries)
                held = max(size for _, _, size in entries)
                added = 2 * len(entries) + (4 if smooth else 1)
                errors[at] = holding + failing + held * added * U + 2 * U
        return errors

    def _layer_norm(self, number: int) -> tuple[float, float]:
        """Errors of the mean and of the scale before block `number`: the statistics' own rounding
        K·2^-24 (see the assumptions), bits and raw outputs that are off, the squares of means, and
        the digits of the weight. Small formats read ±1 and ±A back exactly: below a power of two
        numbers are one unit apart, so LayerNorm may move them by half of that."""
        share = 2 / self.c.d_model
        k = min(self.c.d_model + 64, 256) * U
        # Bits are all counted, as stored: one that is not yet written is exact.
        bits = self.bit[[isinstance(cell, Bit) for cell in self.found.cells[number]]]
        raws = float((self.amplitude**2).sum()) * (4 * self.output + 8 * self.output**2)
        means = float(((1.01 * self.means) ** 2).sum())
        variance = self.found.variance
        squares = share / variance * (float((2 * bits + bits**2).sum()) + raws + means)
        squares += self.c.epsilon / variance
        weight = float(np.asarray(self.found.norm, np.float32).astype(self.storage.dtype))
        stated = abs(weight / variance**0.5 - 1)
        raw_mean = 2 * float(self.amplitude.sum()) * self.output
        mean = k + share * (float(bits.sum()) + raw_mean)
        scale = 0.51 * (squares + k) + stated + 4 * U
        largest = max(float(bits.max(initial=0)), mean, scale)
        need(largest < 2.0**-7, "LayerNorm's error is not small")
        if not self.storage.wide:
            moved = scale + mean / min(1.0, self.smallest)
            need(moved < self.storage.unit / 2, "LayerNorm moves bits by more than half an ulp")
        return mean, scale

    def _read_error(self, number: int) -> Vector:
        """How far the value v = (x₊ - x₋)/2 of a pair may be off after a norm of the block."""
        mean, scale = self.norm[number]
        drowned = 2 * self.storage.unit * mean + 2 * self.storage.floor
        amplitude = self.amplitude[self.raw]
        if self.storage.wide:
            error = self.bit + (scale + 3 * U) * np.maximum(1.0, self.magnitude / 1.01)
            error[self.raw] = amplitude * (2 * self.output + scale + 3 * U) + drowned
        else:
            error = np.zeros(self.pairs)
            error[self.raw] = 2 * amplitude * self.output + drowned
        return error

    # Sums

    def _reach(self, matrix: Array, bias: Array, mean: float) -> Vector:
        """Σ |weight·input| + |bias| of each column: no partial sum is larger, in any order."""
        size = np.repeat(self.magnitude, 2) + mean
        reach: Vector = size @ np.abs(matrix.astype(np.float64)) + np.abs(bias)
        return reach

    def _rounding(self, matrix: Array, bias: Array, mean: float) -> Vector:
        """Error of adding up a column in float32 in any order: zeros add nothing."""
        terms = (matrix != 0).sum(axis=0) + 1
        rounding: Vector = terms * U * self._reach(matrix, bias, mean)
        return rounding

    def _column_error(self, number: int, matrix: Array, bias: Array) -> Vector:
        """Error of Σ weight·value + bias for each column, before it is stored."""
        read = np.abs(matrix[0::2].astype(np.float64) * 2)
        error: Vector = self._read_error(number) @ read
        return error + self._rounding(matrix, bias, self.norm[number][0])

    # Heads

    def _heads(self) -> list[Head]:
        return [head for block in self.found.blocks for head in block.heads]

    def _part(self, head: Head, part: int) -> tuple[Array, Array]:
        """The columns of a head's queries (0), keys (1) or values (2)."""
        start = part * self.c.d_model + head.head * self.c.d_head
        columns = slice(start, start + self.c.d_head)
        block = self.found.blocks[head.block]
        return block.c_attn[:, columns], block.c_attn_bias[columns]

    def _lookup(self, head: Head) -> float:
        """How far the output of a Latest, Previous or Sign head may be off 0 or 1."""
        value = float(self._column_error(head.block, *self._part(head, 2)).max())
        length = self.c.context
        if head.kind == "Sign":
            self._in_range(head)
            leak = length * exp(min(700.0, 2 - head.decision / 10))
            added = self._summation(length)
        else:
            gap = self._gap(head)
            need(gap >= head.gap / 4, f"{head.kind} heads: scores may be off by more than a step")
            if head.kind == "Previous":
                leak = (1 + exp(-gap)) ** head.digits - 1
            else:  # keys without bad, and those with it
                leak = exp(-gap) / (1 - exp(-gap))
                leak += length * exp(min(700.0, head.gap - gap - head.clear))
            # Keys whose weight is not lost in the winner's.
            added = 32.0 if gap >= LEAST_GAP else self._summation(length)
        error = value + leak + 2 * added * U
        if self.storage.wide:
            return error
        need(error < self.storage.unit / 4, f"{head.kind} heads: 1 is not rounded to exactly 1")
        return leak + self.storage.floor  # 1 is stored exactly, and 0 as at most this

    def _gap(self, head: Head) -> float:
        """The theorem's gap C less what the scores of two keys may be off."""
        query, key = self._part(head, 0), self._part(head, 1)
        mean = self.norm[head.block][0]
        q, k = self._reach(*query, mean), self._reach(*key, mean)
        root = self.c.d_head**0.5
        size = float(q @ k) / root
        if self.storage.wide:
            q_off = self._column_error(head.block, *query)
            k_off = self._column_error(head.block, *key)
            off = float(q_off @ k + q @ k_off + q_off @ k_off) / root
            need(size < 1e30, f"{head.kind} heads: scores overflow")
            return head.gap - 2 * (off + (np.count_nonzero(q) + 2) * U * size)
        # Queries and keys are exact, and short multiples of powers of two add up exactly.
        need(size < 2.0**23 * self._grid(head), f"{head.kind} heads: scores are not exact")
        need(max(q.max(), k.max()) <= self.storage.largest, f"{head.kind} heads overflow")
        if not self.fused:
            need(size * root <= self.storage.largest, f"{head.kind} heads: scores overflow")
            exact = round(2 / self.storage.unit)
            need(
                head.reach <= head.grid / self.storage.unit,
                f"eager attention stores scores in {self.storage.name}, where {head.kind} heads "
                f"are exact only up to context {exact}: use kernel='sdpa'",
            )
        return head.gap

    def _grid(self, head: Head) -> float:
        """A power of two that all products of queries and keys are multiples of, and, checked
        here, that the format holds what they are products of."""
        least = inf
        grids = []
        for part in (0, 1):
            matrix, bias = self._part(head, part)
            size = self._reach(matrix, bias, 0.0) / 1.01
            columns = [
                min((_power(w) for w in (*matrix[:, r], bias[r]) if w), default=inf)
                for r in range(matrix.shape[1])
            ]
            for r, grid in enumerate(columns):
                # A pair of weights ±w reads 2w·v.
                need(
                    not size[r] or size[r] <= grid / self.storage.unit,
                    f"{head.kind} heads: {self.storage.name} does not hold queries and keys",
                )
            grids.append(columns)
        for a, b in zip(*grids, strict=True):
            if a < inf and b < inf:
                least = min(least, a * b)
        return least / self.c.d_head**0.5

    def _in_range(self, head: Head) -> None:
        """A Sign head's scores may be large, but must not overflow. (The key of `<bos>` is 0.)"""
        mean = self.norm[head.block][0]
        q = float(self._reach(*self._part(head, 0), mean).max())
        k = float(self._reach(*self._part(head, 1), mean).max())
        need(max(q, k) <= self.storage.largest, "Sign heads overflow")
        need(q * k <= FORMATS["float32"].largest, "Sign heads: scores overflow")
        need(self.fused or q * k <= self.storage.largest, "Sign heads: scores overflow")

    def _summation(self, length: int) -> float:
        """The error of a sum over keys is at most this many units of Σ |terms|."""
        return min(length, BLOCK + length / BLOCK + 2) if self.fused else length

    # Counts

    def check_counts(self, n: int) -> None:
        """The mean of a count over i+1 <= n+1 positions keeps its sign, and a tenth of its size:
        the error is below 9/10 of the least |mean|, least/(i+1), here in units of that."""
        worst = 0.0
        for head in self._heads():
            if head.kind == "Average":
                worst = max([worst, *self._mean_errors(head, n + 1)])
        self.bounds["mean of a count, of the least"] = worst
        need(worst <= 0.9, "counts: for longer words a mean's error may reach its size")

    def _mean_errors(self, head: Head, positions: int) -> list[float]:
        storage, (_, scale) = self.storage, self.norm[head.block]
        matrix, bias = self._part(head, 2)
        ordinary = matrix.copy()
        alone = [
            p
            for p, cell in enumerate(self.found.cells[head.block])
            if isinstance(cell, Constant) and cell.ordinary == 0
        ]
        at = [2 * p + side for p in alone for side in (0, 1)]
        ordinary[at] = 0  # those pairs are exactly 0 except at <bos>
        values = self._column_error(head.block, ordinary, bias)
        amplitude = self._mean_amplitude(head)
        # The mean's own pair is read by a later block, after that block's LayerNorm.
        mean, later = (max(norm[k] for norm in self.norm[head.block + 1 :]) for k in (0, 1))
        drowned = (2 * storage.unit * mean + 4 * storage.floor) / amplitude + storage.floor
        errors = []
        for r, count in enumerate(head.counts):
            if not count.least:
                continue  # its sign is read by nothing
            size = 1.01 * count.size
            constant = 1.01 * abs(count.bos) / positions
            if storage.wide:
                only_bos = float(np.abs(matrix[at, r]).sum()) / positions
                value = float(values[r]) + only_bos * (scale + 8 * U)
                added = self._summation(positions) * U * (size + constant)
            else:
                self._exact_values(count)
                parts = float(self._reach(matrix[:, [r]], bias[[r]], 0.0)[0])
                need(parts <= 2.0**23 * count.grid, "counts: a value's parts are not exact")
                value = 0.0
                whole = positions * (size + constant) / count.grid
                need(whole <= 2.0**24, "counts: sums beyond float32's integers")
                added = 0.0 if self.fused else positions * U * (size + constant)
            error = positions * (value + added + drowned) / count.least
            errors.append(error + later + 6 * storage.unit)
        return errors

    def _mean_amplitude(self, head: Head) -> float:
        found = [
            cell.amplitude
            for cell in self.found.after_attention[head.block]
            if isinstance(cell, Mean)
        ]
        return min(found)

    def _exact_values(self, count: Count) -> None:
        """Averaged values are multiples of a power of two: exact with few digits."""
        most = 1 / self.storage.unit
        bos = float(np.float32(count.bos).astype(self.storage.dtype))
        need(
            bos == count.bos and count.size <= most * count.unit,
            f"counts: a coefficient or constant has too many digits for {self.storage.name}",
        )

    # Gates and read-out

    def _gates(self, number: int) -> float:
        """What gates clip stays on its side of the clip. In small formats hidden units are off by
        less than half a spacing, so that they are rounded to their exact values."""
        block = self.found.blocks[number]
        columns = self._column_error(number, block.c_fc, block.c_fc_bias)
        far = SMOOTH if self.c.activation == "gelu_new" else 0.0
        worst = 0.0
        for gate in block.gates:
            error = float(columns[list(gate.units)].max())
            worst = max(worst, error / max(gate.low - gate.fails, gate.out**-1))
            if gate.never:
                room = -gate.fails - far
            elif self.storage.wide:
                room = min(gate.low - far, -gate.fails - far)
            else:
                room = self.storage.unit * 2.0 ** floor(log2(gate.low)) / 2
                room = min(room, gate.low - far, -gate.fails - far)
                for held in (gate.low, gate.high):
                    cast = float(np.float32(held).astype(self.storage.dtype))
                    need(cast == held, "gates: a hidden unit has too many digits")
            need(error <= room, "gates: a sum of literals may be off too far")
        reach = self._reach(block.c_fc, block.c_fc_bias, self.norm[number][0])
        need(float(reach.max()) <= self.storage.largest, "gates: hidden units overflow")
        return worst

    def _read_out(self) -> None:
        """The logits of stored bits keep their sign, and an lm head its margin."""
        off = float(self.bit.max()) + self.norm[-1][1]
        need(off + 8 * self.storage.unit < 1 / 4, "read-out: logits may be off too far")
        if self.found.stated is not None:
            self._stated(self.found.stated)
        elif self.margin is not None:
            # At <bos> a logit adds up to three times its size, in weights that round alike.
            assert self.found.margin is not None
            kept = self.found.margin * (1 - 3 * off - 3 * self.storage.unit)
            need(kept >= self.margin, "read-out: the margin may not be kept")

    def _stated(self, stated: StatedLogits) -> None:
        """The logits of an lm head with log-weights: off by the errors of what they read, by the
        rounding of the head's own weights and of the sum, and by that of storing it."""
        matrix = self.c.tensors["lm_head.weight"].T
        bias = np.zeros(matrix.shape[1], np.float32)
        cast = matrix.astype(self.storage.dtype).astype(np.float64) - matrix
        size = np.repeat(self.magnitude, 2) + self.norm[-1][0]
        error = float(self._column_error(self.c.blocks, matrix, bias).max())
        error += float((size @ np.abs(cast)).max())
        error += self.storage.unit * (stated.largest + error) + self.storage.floor
        logit = stated.slack + error
        assert self.found.margin is not None and self.margin is not None
        need(self.found.margin - 2 * error >= self.margin, "read-out: the margin may not be kept")
        self.bounds["logit"] = logit
        self.bounds["probability, in units of it"] = probability_error(
            logit, self.margin, matrix.shape[1]
        )


def magnitude(cell: Cell) -> float:
    match cell:
        case Constant(ordinary, bos):
            return max(abs(ordinary), abs(bos))
        case Raw(amplitude=amplitude):
            return amplitude
        case Mean(bos=bos, size=size, amplitude=amplitude):
            return amplitude * max(size, abs(float(bos)))
    return 1.0


def _power(weight: float) -> float:
    """The largest power of two that a weight is a multiple of."""
    numerator, denominator = float(weight).as_integer_ratio()
    return float(numerator & -numerator) / denominator
