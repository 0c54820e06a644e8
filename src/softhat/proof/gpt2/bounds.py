"""Why a GPT-2 is right in floating point, given what its weights compute.

It bounds, in order: the error of stored bits, of LayerNorm, of everything that attention and
feed-forward layers read, of scores (against the gap of the head's theorem), of head outputs, of
the sums that gates clip, and of the means of counts.

float32 carries errors along and bounds them; clips keep them from growing with depth. In bfloat16
and float16 rounding works for us: everything Boolean is rounded to exactly 0 or ±1 at every step,
and that is what is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from softhat.numerics.formats import Format
from softhat.proof.gpt2.counts import mean_errors
from softhat.proof.gpt2.lookups import check_scores, lookup
from softhat.proof.gpt2.reading import GPT2Derivation, norm_weight, variance
from softhat.proof.gpt2.sums import Sums
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.logits import ReadVariables
from softhat.proof.stock.plain_bounds import Vector
from softhat.proof.stock.storage import ROOT, SECOND, SMALL, SMOOTH, U, need, smooth_tail
from softhat.proof.stock.variables import BitCell

START, START_AGAIN = 2.0**-9, 2.0**-8
"""What head outputs are first taken to be off by at most, as a share of 2A: of pairs that are used
once, and of those that are used again, where errors add up. ±A is then off by no more than SMALL of
its size."""


class Bounds(Sums):
    """The bounds of one checkpoint for one storage format and attention kernel."""

    def __init__(
        self, derivation: GPT2Derivation, fused: bool, storage: Format, margin: float | None
    ):
        super().__init__(derivation, fused, storage, margin)
        self.variance = variance(derivation.cells[0], self.c.d_model)
        self.weight = norm_weight(self.c)

    def check(self) -> None:
        self._weights_fit()
        self.bits, self.cleared = self._bit_errors()
        # By induction over the blocks: if earlier outputs are off by at most this, then by at most
        # what follows from it, and again with that.
        self.output = (START_AGAIN if self._again() else START) if self.storage.wide else 2.0**-20
        for _ in range(3):
            self.norm = [self._layer_norm(number) for number in range(self.c.blocks + 1)]
            output = self._outputs()
            need(output <= self.output, "heads: the error of an output may be too large")
            self.output = output
        gates = max(self._gates(number) for number in range(self.c.blocks))
        self._read_out()
        self.bounds |= {
            "stored bit": float(self.bits[-1].max()),
            "LayerNorm, mean": max(mean for mean, _ in self.norm),
            "LayerNorm, scale": max(scale for _, scale in self.norm),
            "head output": self.output,
            "sum that a gate clips": gates,
        }

    def check_length(self, n: int) -> None:
        """What gets worse with the length: stored scores, and the means of counts."""
        check_scores(self, n)
        super().check_length(n)

    def mean_errors(self, positions: int) -> Iterator[float]:
        for head in self.heads():
            if head.uniform:
                yield from mean_errors(self, head, positions)

    # Weights, stored bits and LayerNorm

    def _weights_fit(self) -> None:
        """Weights are exact in the format. Those of the read-out may round, but not overflow."""
        for name, tensor in self.c.tensors.items():
            with np.errstate(over="ignore"):
                cast = tensor.astype(self.storage.storage).astype(np.float32)
            if name.startswith(("classifier", "lm_head")):
                need(bool(np.isfinite(cast).all()), f"{name} overflows")
            elif ".ln_" not in name:
                exact = bool((cast == tensor).all())
                need(exact, f"{name} has entries that {self.storage.name} cannot hold exactly")

    def _again(self) -> bool:
        """Are pairs used again?"""
        return any(gate.clears for block in self.derivation.blocks for gate in block.gates)

    def _outputs(self) -> float:
        """How far a raw output may be off, as a share of 2A. A pair that is used again keeps what
        it was off by: what all its heads are off by adds up, with what taking them off errs by and
        two roundings each. Small formats store ±A exactly every time (`output_error`)."""
        written: dict[int, list[float]] = {}
        for block in self.derivation.blocks:
            for head, targets in zip(block.heads, block.targets, strict=True):
                if not head.uniform:
                    error = lookup(self, head)
                    for at in targets:
                        written.setdefault(at, []).append(error)
        if not self.storage.wide:
            return max(map(max, written.values()), default=0.0)
        off = [
            sum(errors)
            + 2 * U * (len(errors) - 1)
            + float(self.cleared[at]) / (2 * float(self.amplitude[at]))
            for at, errors in written.items()
        ]
        return max(off, default=0.0)

    def _bit_errors(self) -> tuple[list[Vector], Vector]:
        """How far each stored ±1 may be off before each block and at the end, and what taking raw
        outputs off errs by. Where a term holds, its gate adds w(h₁ - h₂): both units see the same
        sum, so only their own rounding counts. Units of terms that fail are 0 (gelu_new: below
        2^-24 of their input, and where sums stay nearer to the clip than SMOOTH, by its tail more).
        A pair that is used again is off by the sum. Exactly 0 in small formats, see `_gates`."""
        errors = np.zeros(self.pairs)
        bits = [errors]
        smooth = self.c.activation == "gelu_new"
        for block in self.derivation.blocks:
            if not self.storage.wide:
                bits.append(errors)
                continue
            errors = errors.copy()
            hidden = block.matrices.c_fc, block.matrices.c_fc_bias
            rounding = self.rounding(*hidden, mean=2.0**-7)
            reach = self.reach(*hidden, mean=2.0**-7)
            terms: dict[int, list[tuple[float, float, float, bool]]] = {}
            for gate in block.gates:
                units = list(gate.units)
                tail = self._tail(gate, float(reach[units].sum())) if smooth else 0.0
                moved = gate.out * float(rounding[units].sum())
                # Each unit is off by less than an eighth of what both see (`_gates`).
                held = 1.25 * gate.out * (gate.low + gate.high)
                terms.setdefault(gate.target, []).append((moved, tail, held, gate.clears))
            for at, entries in terms.items():
                # Of the terms that add at most one holds, and of those that take off.
                sides = [[e for e in entries if e[3] == clears] for clears in (False, True)]
                holding = sum(max((e[0] for e in side), default=0.0) for side in sides)
                failing = sum(e[1] for e in entries)
                held = sum(max((e[2] for e in side), default=0.0) for side in sides)
                # relu's units are 0 where a term fails, and adding 0 rounds nothing.
                added = 2 * len(entries) + 4 if smooth else 2 * sum(map(bool, sides)) + 1
                errors[at] += holding + failing + held * added * U + 2 * U
            bits.append(np.where(self.raw, 0.0, errors))
        return bits, np.where(self.raw, errors, 0.0)

    def _tail(self, gate: Gate, reach: float) -> float:
        """What gelu_new adds to a bit that relu would not, by a gate's two units together."""
        far = self._far(gate)
        if far >= SMOOTH:
            return U * gate.out * reach
        return gate.out * (2 * smooth_tail(far) + 2 * U * reach)

    def _far(self, gate: Gate) -> float:
        """How far from 0 the inputs of a gate's units stay, of gelu_new. Nearer than SMOOTH only
        in float32, where what that adds is counted."""
        if self.c.activation != "gelu_new":
            return 0.0
        nearest = -gate.fails if gate.never else min(gate.low, -gate.fails)
        return min(SMOOTH, 7 / 8 * nearest) if self.storage.wide else SMOOTH

    def _layer_norm(self, number: int) -> tuple[float, float]:
        """Errors of the mean and of the scale before block `number`: the statistics' own rounding
        K·2^-24 of the whole norm (see the assumptions), bits and raw outputs that are off, the
        squares of means, and the digits of the weight. Small formats read ±1 and ±A back exactly:
        below a power of two numbers are one unit apart, so LayerNorm may move them by half of
        that."""
        share = 2 / self.c.d_model
        k = min(self.c.d_model + 64, 256) * U
        # Bits are all counted, as stored: one that is not yet written is exact.
        bits = self.bits[number][
            [isinstance(cell, BitCell) for cell in self.derivation.cells[number]]
        ]
        raws = float((self.amplitude**2).sum()) * (4 * self.output + 8 * self.output**2)
        means = float(((SECOND * self.means) ** 2).sum())
        squares = share / self.variance * (float((2 * bits + bits**2).sum()) + raws + means)
        squares += self.c.epsilon / self.variance
        weight = float(np.asarray(self.weight, np.float32).astype(self.storage.storage))
        stated = abs(weight / self.variance**0.5 - 1)
        raw_mean = 2 * float(self.amplitude.sum()) * self.output
        mean = k * self.variance**0.5 + share * (float(bits.sum()) + raw_mean)
        scale = ROOT * (squares + k) + stated + 4 * U
        largest = max(float(bits.max(initial=0)), mean, scale)
        need(largest < SMALL, "LayerNorm's error is not small")
        if not self.storage.wide:
            moved = scale + mean / min(1.0, self.smallest)
            need(moved < self.storage.unit / 2, "LayerNorm moves bits by more than half an ulp")
        return mean, scale

    # Gates and read-out

    def _gates(self, number: int) -> float:
        """What gates clip stays on its side of the clip; in float32 each unit is off by less than
        an eighth of what both see."""
        block = self.derivation.blocks[number]
        hidden = block.matrices.c_fc, block.matrices.c_fc_bias
        columns = self.column_error(number, *hidden)
        worst = 0.0
        for gate in block.gates:
            error = float(columns[list(gate.units)].max())
            worst = max(worst, error / max(gate.low - gate.fails, gate.out**-1))
            room = self.gate_room(gate, self._far(gate))
            if self.storage.wide and not gate.never:
                room = min(room, (gate.low + gate.high) / 8)
            need(error <= room, "gates: a sum of literals may be off too far")
        reach = self.reach(*hidden, self.norm[number][0])
        need(float(reach.max()) <= self.storage.largest, "gates: hidden units overflow")
        if self.c.activation == "gelu_new" and not self.storage.wide:
            self._tails_vanish(block.gates, reach)
        return worst

    def _tails_vanish(self, gates: Sequence[Gate], reach: Vector) -> None:
        """In small formats what gelu_new adds to a variable by units of terms that fail is rounded
        away. From -SMOOTH on tanh is -1 or the next number in float32, so that such a unit is off 0
        by U/2 of its input at most. A sum in float32 of these and of the clips that hold, of
        2·terms + 4 roundings, must stay within half a unit of the ±1 or ±A that is stored."""
        off, terms = np.zeros(self.pairs), np.zeros(self.pairs)
        held = np.zeros((2, self.pairs))  # of the terms that add one holds, and of those that clear
        for gate in gates:
            at, side = gate.target, int(gate.clears)
            off[at] += U / 2 * gate.out * float(reach[list(gate.units)].sum())
            held[side, at] = max(held[side, at], gate.out * (gate.low + gate.high))
            terms[at] += 1
        off += held.sum(axis=0) * (2 * terms + 4) * U
        room = self.storage.unit / 2 * np.where(self.raw, self.amplitude, 1.0)
        need(bool((SECOND * off < room).all()), "gates: gelu_new's tails may add up to half a unit")

    def _read_out(self) -> None:
        weights = self.c.tensors[self.c.readout]
        stored = weights.astype(self.storage.storage)
        rows, cast = (2 * matrix[:, 0::2].astype(np.float64) for matrix in (weights, stored))
        wide = self.storage.wide  # small formats read what is stored exactly
        scale = self.norm[-1][1] + 3 * U if wide else 0.0
        read = ReadVariables(self.derivation.cells[-1], self.bits[-1], scale, self.norm[-1][0])
        self.check_read_out(rows, cast, 2, read)
