"""Why a GPT-2 export is right in floating point.

The proof reads the tensors that are written and the roles of their rows (which pair is a bit,
which is scratch, which head is of which kind). It bounds, in order: the error of stored bits, of
LayerNorm, of everything that attention and feed-forward layers read, of scores (against the gap
of the head's theorem), of head outputs, of the sums that gates clip, and of the means of counts.

float32 carries errors along and bounds them; clips keep them from growing with depth. In bfloat16
and float16 rounding works for us: everything Boolean is rounded to exactly 0 or ±1 at every step,
and that is what is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from softhat.lowering.gpt2.heads import DECISION, SHARPNESS
from softhat.lowering.gpt2.layout import AMPLITUDE, BOS_PAIR, Count, Head
from softhat.lowering.gpt2.weights import HIGH, LOW, Trunk
from softhat.program.registers import Register

U = 2.0**-24
"""Unit roundoff of float32, in which every kernel adds up."""
BLOCK = 512
"""Fused attention adds up the keys in blocks of at most this many."""
GATE_LIMIT = 1 / 16
"""How far the sum that a gate clips may be off, for relu and gelu_new alike."""

Matrix = NDArray[np.float32]
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


STORAGES = (
    Storage("float32", U, 2.0**-150, 3.4e38, np.float32),
    Storage("bfloat16", 2.0**-8, 2.0**-134, 3.3e38, ml_dtypes.bfloat16),
    Storage("float16", 2.0**-11, 2.0**-25, 65504.0, np.float16),
    # Every step errs less in float64 than in float32, and the weights are the same: one proof.
    Storage("float64", U, 2.0**-150, 3.4e38, np.float32),
)


class NotProvedError(Exception):
    """A bound does not hold; the message says which."""


def need(holds: bool, reason: str) -> None:
    """A step of the proof."""
    if not holds:
        raise NotProvedError(reason)


class Bounds:
    """The bounds of one export for one storage format and attention kernel."""

    def __init__(
        self,
        weights: Trunk,
        tensors: Mapping[str, Matrix],
        fused: bool,
        storage: Storage,
        margin: float | None,
    ) -> None:
        self.weights = weights
        self.layout = layout = weights.layout
        self.tensors = tensors
        self.fused = fused
        self.storage = storage
        self.margin = margin
        self.found: dict[str, float] = {}
        self.pairs = layout.d_model // 2
        self.raw = np.zeros(self.pairs, dtype=np.bool_)
        for block in layout.heads:
            for head in block:
                if head.kind != "Average":
                    self.raw[[layout.pair[head.target(at)] for at in head.signals]] = True
        self.magnitude = np.ones(self.pairs)
        self.magnitude[list(layout.scratch)] = layout.mean_amplitude
        self.magnitude[self.raw] = AMPLITUDE
        self.magnitude[list(layout.pads)] = 2.0
        self.magnitude *= 1.01  # confirmed below: no relative error reaches 2^-7

    def check(self) -> None:
        """Everything but the means of counts, whose error grows with the length."""
        self._weights_fit()
        self.bit = self._bit_errors()
        # By induction over the blocks: if earlier outputs are off by at most this, then by at most
        # what follows from it, and again with that.
        self.output = 2.0**-9 if self.storage.wide else 2.0**-20
        for _ in range(3):
            self.norm = [self._layer_norm(number) for number in range(self.layout.blocks + 1)]
            output = max(
                (self._lookup(*at) for at in self._heads() if at[2].kind != "Average"), default=0.0
            )
            need(output <= self.output, "heads: the error of an output may be too large")
            self.output = output
        gates = max(self._gates(number) for number in range(self.layout.blocks))
        self._read_out()
        self.found |= {
            "stored bit": float(self.bit.max()),
            "LayerNorm, mean": max(mean for mean, _ in self.norm),
            "LayerNorm, scale": max(scale for _, scale in self.norm),
            "head output": self.output,
            "sum that a gate clips": gates,
        }

    # Weights, stored bits and LayerNorm

    def _weights_fit(self) -> None:
        """Weights are exact in the format (read-outs may round: their sign is what counts)."""
        for name, tensor in self.tensors.items():
            with np.errstate(over="ignore"):
                cast = tensor.astype(self.storage.dtype).astype(np.float32)
            exact = bool((cast == tensor).all())
            if name.startswith(("classifier", "lm_head")):
                need(bool(np.isfinite(cast).all()), f"{name} overflows")
            elif ".ln_" not in name:
                need(exact, f"{name} has entries that {self.storage.name} cannot hold exactly")
            if tensor.ndim == 2 and "transformer.h." in name and "proj" not in name:
                need(bool((tensor[0::2] == -tensor[1::2]).all()), f"{name} does not read pairs")

    def _bit_errors(self) -> Vector:
        """How far each stored ±1 may be off. Where a term holds, its gate adds w(h₁ - h₂): both
        units see the same sum, so only their own rounding counts, and w(|h₁| + |h₂|) <= 5. Units of
        terms that fail are 0 (gelu_new: below 2^-24 of their input). Exactly 0 in small formats,
        see `_gates`."""
        errors = np.zeros(self.pairs)
        smooth = self.weights.activation == "gelu_new"
        for block in self.weights.blocks if self.storage.wide else ():
            rounding = self._rounding(block.c_fc, block.c_fc_bias, mean=2.0**-7)
            reach = self._reach(block.c_fc, block.c_fc_bias, mean=2.0**-7)
            terms: dict[int, list[tuple[float, float]]] = {}
            for gate in block.gates:
                at, units = self.layout.pair[Register(gate.signal, False)], list(gate.units)
                out = np.abs(block.mlp_proj[units, 2 * at].astype(np.float64))
                tail = U * float(out @ reach[units]) if smooth else 0.0
                terms.setdefault(at, []).append((float(out @ rounding[units]), tail))
            for at, entries in terms.items():
                holding = max(rounded for rounded, _ in entries)
                failing = sum(tail for _, tail in entries)
                added = 2 * len(entries) + (4 if smooth else 1)
                errors[at] = holding + failing + 5 * added * U + 2 * U
        return errors

    def _layer_norm(self, number: int) -> tuple[float, float]:
        """Errors of the mean and of the scale before block `number`: the statistics' own rounding
        K·2^-24 (see the assumptions), bits and raw outputs that are off, the squares of means, and
        the digits of the weight. Small formats read ±1 and ±A back exactly: below a power of two
        numbers are one unit apart, so LayerNorm may move them by half of that."""
        layout = self.layout
        share = 2 / layout.d_model
        k = min(layout.d_model + 64, 256) * U
        # Bits are all counted, as stored: one that is not yet written is exact.
        written = [
            layout.pair[Register(at, False)] for at, b in layout.stored.items() if b <= number
        ]
        bits = self.bit[written]
        raws = float(self.raw.sum()) * AMPLITUDE**2 * (4 * self.output + 8 * self.output**2)
        means = len(layout.counts) * (1.01 * layout.mean_amplitude) ** 2
        squares = share * (float((2 * bits + bits**2).sum()) + raws + means) + 1e-12
        weight = self.tensors["transformer.ln_f.weight"][:1].astype(self.storage.dtype)
        stated = abs(float(weight[0]) / layout.variance**0.5 - 1)
        mean = k + share * (float(bits.sum()) + float(self.raw.sum()) * 2 * AMPLITUDE * self.output)
        scale = 0.51 * (squares + k) + stated + 4 * U
        need(
            max(float(bits.max(initial=0)), mean, scale) < 2.0**-7, "LayerNorm's error is not small"
        )
        if not self.storage.wide:
            moved = scale + mean / AMPLITUDE
            need(moved < self.storage.unit / 2, "LayerNorm moves bits by more than half an ulp")
        return mean, scale

    def _read_error(self, number: int) -> Vector:
        """How far the value v = (x₊ - x₋)/2 of a pair may be off after a norm of the block."""
        mean, scale = self.norm[number]
        drowned = 2 * self.storage.unit * mean + 2 * self.storage.floor
        if self.storage.wide:
            error = self.bit + scale + 3 * U
            error[self.raw] = AMPLITUDE * (2 * self.output + scale + 3 * U) + drowned
        else:
            error = np.zeros(self.pairs)
            error[self.raw] = 2 * AMPLITUDE * self.output + drowned
        return error

    # Sums

    def _reach(self, matrix: Matrix, bias: Matrix, mean: float) -> Vector:
        """Σ |weight·input| + |bias| of each column."""
        size = np.repeat(self.magnitude, 2) + mean
        reach: Vector = size @ np.abs(matrix.astype(np.float64)) + np.abs(bias)
        return reach

    def _rounding(self, matrix: Matrix, bias: Matrix, mean: float) -> Vector:
        """Error of adding up a column in float32 in any order: zeros add nothing."""
        terms = (matrix != 0).sum(axis=0) + 1
        rounding: Vector = terms * U * self._reach(matrix, bias, mean)
        return rounding

    def _column_error(self, number: int, matrix: Matrix, bias: Matrix) -> Vector:
        """Error of Σ weight·value + bias for each column, before it is stored."""
        read = np.abs(matrix[0::2].astype(np.float64) * 2)
        error: Vector = self._read_error(number) @ read
        return error + self._rounding(matrix, bias, self.norm[number][0])

    # Heads

    def _heads(self) -> list[tuple[int, int, Head]]:
        return [
            (number, h, head)
            for number, heads in enumerate(self.layout.heads)
            for h, head in enumerate(heads)
        ]

    def _part(self, number: int, head: int, part: int) -> tuple[Matrix, Matrix]:
        """The columns of a head's queries (0), keys (1) or values (2)."""
        start = part * self.layout.d_model + head * self.layout.d_head
        columns = slice(start, start + self.layout.d_head)
        block = self.weights.blocks[number]
        return block.c_attn[:, columns], block.c_attn_bias[columns]

    def _lookup(self, number: int, h: int, head: Head) -> float:
        """How far the output of a Latest, Previous or Sign head may be off 0 or 1."""
        value = float(self._column_error(number, *self._part(number, h, 2)).max())
        length = self.layout.context
        if head.kind == "Sign":
            self._in_range(number, h)
            leak = length * exp(-DECISION / 10 + 2)
            added = self._summation(length)
        else:
            gap = self._gap(number, h, head)
            need(gap >= SHARPNESS / 4, f"{head.kind} heads: scores may be off by more than a step")
            if head.kind == "Previous":
                leak = (1 + exp(-gap)) ** self.layout.bits - 1
            else:  # keys without bad, and those with it
                leak = 2 * exp(-gap)
                leak += length * exp(-gap - SHARPNESS * 2.0**self.layout.bits / 4)
            added = 32.0  # keys whose weight is not 0 in float32
        error = value + leak + 2 * added * U
        if self.storage.wide:
            return error
        need(error < self.storage.unit / 4, f"{head.kind} heads: 1 is not rounded to exactly 1")
        return leak + self.storage.floor  # 1 is stored exactly, and 0 as at most this

    def _gap(self, number: int, h: int, head: Head) -> float:
        """The theorem's gap C less what the scores of two keys may be off."""
        query, key = self._part(number, h, 0), self._part(number, h, 1)
        mean = self.norm[number][0]
        q, k = self._reach(*query, mean), self._reach(*key, mean)
        root = self.layout.d_head**0.5
        size = float(q @ k) / root
        if self.storage.wide:
            q_off, k_off = self._column_error(number, *query), self._column_error(number, *key)
            off = float(q_off @ k + q @ k_off + q_off @ k_off) / root
            return SHARPNESS - 2 * (off + (np.count_nonzero(q) + 2) * U * size)
        # Queries and keys are exact, and short multiples of powers of two add up exactly.
        need(size < 2.0**23, f"{head.kind} heads: scores are beyond float32's integers")
        need(max(q.max(), k.max()) <= self.storage.largest, f"{head.kind} heads overflow")
        if not self.fused:
            need(size * root <= self.storage.largest, f"{head.kind} heads: scores overflow")
            exact = round(2 / self.storage.unit)
            need(
                head.kind != "Latest" or 2**self.layout.bits <= exact,
                f"eager attention stores scores in {self.storage.name}, where Latest heads "
                f"are exact only up to context {exact}: use kernel='sdpa'",
            )
        return SHARPNESS

    def _in_range(self, number: int, h: int) -> None:
        """A Sign head's scores may be large, but must not overflow. (The key of `<bos>` is 0.)"""
        mean = self.norm[number][0]
        q = float(self._reach(*self._part(number, h, 0), mean).max())
        k = float(self._reach(*self._part(number, h, 1), mean).max())
        need(max(q, k) <= self.storage.largest, "Sign heads overflow")
        need(self.fused or q * k <= self.storage.largest, "Sign heads: scores overflow")

    def _summation(self, length: int) -> float:
        """The error of a sum over keys is at most this many units of Σ |terms|."""
        return min(length, BLOCK + length / BLOCK + 2) if self.fused else length

    # Counts

    def check_counts(self, n: int) -> None:
        """The mean of a count over i+1 <= n+1 positions keeps its sign, and a tenth of its size:
        the error is below 9/10 of the least |mean|, 1/(2V(i+1)), here in units of that."""
        worst = 0.0
        for number, h, head in self._heads():
            if head.kind == "Average":
                worst = max(worst, *self._mean_errors(number, h, head, n + 1))
        self.found["mean of a count, of the least"] = worst
        need(worst <= 0.9, "counts: for longer words a mean's error may reach its size")

    def _mean_errors(self, number: int, h: int, head: Head, positions: int) -> list[float]:
        storage, scale = self.storage, self.norm[number][1]
        matrix, bias = self._part(number, h, 2)
        ordinary = matrix.copy()
        at = 2 * self.layout.pair[BOS_PAIR]
        ordinary[at : at + 2] = 0  # that pair is exactly 0 except at <bos>
        values = self._column_error(number, ordinary, bias)
        # The mean's own scratch pair is read by the next block, after that block's LayerNorm.
        drowned = 2 * storage.unit * self.norm[number + 1][0] + 4 * storage.floor
        drowned = drowned / self.layout.mean_amplitude + storage.floor
        errors = []
        for r, signal in enumerate(head.signals):
            count = self.layout.counts[signal]
            size = 1.01 * count.largest / count.scale
            constant = 1.01 * abs(count.threshold - 0.5) / count.scale / positions
            if storage.wide:
                only_bos = 2 * abs(float(matrix[at, r])) / positions
                value = float(values[r]) + only_bos * (scale + 8 * U)
                added = self._summation(positions) * U * (size + constant)
            else:
                self._small_integers(count)
                value = 0.0
                whole = positions * 2 * count.scale * (size + constant)
                need(whole <= 2.0**24, "counts: sums beyond float32's integers")
                added = 0.0 if self.fused else positions * U * (size + constant)
            error = 2 * count.scale * positions * (value + added + drowned)
            errors.append(error + self.norm[number + 1][1] + 6 * storage.unit)
        return errors

    def _small_integers(self, count: Count) -> None:
        """Averaged values are whole numbers, or threshold - 1/2, over V: exact with few digits."""
        most = 1 / self.storage.unit
        need(
            abs(2 * count.threshold - 1) <= most and count.largest <= most,
            f"counts: a coefficient or constant has too many digits for {self.storage.name}",
        )

    # Gates and read-out

    def _gates(self, number: int) -> float:
        """Sums that gates clip are within 1/16 of a whole number: then the clip gives 0 or 1. In
        small formats within unit/8, so that hidden units are rounded to their exact values."""
        block = self.weights.blocks[number]
        units = [unit for gate in block.gates for unit in gate.units]
        if not units:
            return 0.0
        low, high = (float(block.c_fc_bias[unit]) for unit in units[:2])
        gain = (low - high) / (HIGH - LOW)
        columns = self._column_error(number, block.c_fc, block.c_fc_bias)
        error = float(columns[units].max()) / gain
        limit = GATE_LIMIT if self.storage.wide else self.storage.unit / 8
        need(error <= limit, "gates: a sum of literals may be off too far")
        reach = self._reach(block.c_fc, block.c_fc_bias, self.norm[number][0])
        need(float(reach.max()) <= self.storage.largest, "gates: hidden units overflow")
        return error

    def _read_out(self) -> None:
        """The logits of stored bits keep their sign, and an lm head its margin."""
        off = float(self.bit.max()) + self.norm[-1][1]
        need(off + 8 * self.storage.unit < 1 / 4, "read-out: logits may be off too far")
        if self.margin is not None:
            # At <bos> a logit adds up to three times its size, in weights that round alike.
            kept = (1 + 2.0**-6) * (1 - 3 * off - 3 * self.storage.unit)
            need(kept >= 1, "read-out: the margin may not be kept")
