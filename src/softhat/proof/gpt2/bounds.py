"""Why a GPT-2 is right in floating point, given what its weights compute.

It bounds, in order: the error of stored bits, of LayerNorm, of everything that attention and
feed-forward layers read, of scores (against the gap of the head's theorem), of head outputs, of
the sums that gates clip, and of the means of counts.

float32 carries errors along and bounds them; clips keep them from growing with depth. In bfloat16
and float16 rounding works for us: everything Boolean is rounded to exactly 0 or ±1 at every step,
and that is what is checked.
"""

from __future__ import annotations

from math import floor, log2

import numpy as np

from softhat.numerics.formats import Format
from softhat.proof.gpt2.counts import check_counts
from softhat.proof.gpt2.lookups import check_scores, lookup
from softhat.proof.gpt2.reading import GPT2Derivation, norm_weight, variance
from softhat.proof.gpt2.sums import Sums, Vector
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.logits import ReadVariables, check_logits, logit_errors
from softhat.proof.stock.storage import ROOT, SECOND, SMALL, SMOOTH, U, need, smooth_tail
from softhat.proof.stock.variables import BitCell


class Bounds(Sums):
    """The bounds of one checkpoint for one storage format and attention kernel."""

    def __init__(
        self, derivation: GPT2Derivation, fused: bool, storage: Format, margin: float | None
    ):
        super().__init__(derivation, fused, storage)
        self.margin = margin
        self.variance = variance(derivation.cells[0], self.c.d_model)
        self.weight = norm_weight(self.c)
        self.bounds: dict[str, float] = {}

    def check(self) -> None:
        """Everything but what depends on the length."""
        self._weights_fit()
        self.bit = self._bit_errors()
        # By induction over the blocks: if earlier outputs are off by at most this, then by at most
        # what follows from it, and again with that.
        self.output = 2.0**-9 if self.storage.wide else 2.0**-20
        for _ in range(3):
            self.norm = [self._layer_norm(number) for number in range(self.c.blocks + 1)]
            lookups = [lookup(self, head) for head in self.heads() if not head.uniform]
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

    def check_length(self, n: int) -> None:
        """What gets worse with the length: stored scores, and the means of counts."""
        check_scores(self, n)
        self.bounds["mean of a count, of the least"] = check_counts(self, n)

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

    def _bit_errors(self) -> Vector:
        """How far each stored ±1 may be off. Where a term holds, its gate adds w(h₁ - h₂): both
        units see the same sum, so only their own rounding counts. Units of terms that fail are 0
        (gelu_new: below 2^-24 of their input, and where sums stay nearer to the clip than SMOOTH,
        by its tail more). Exactly 0 in small formats, see `_gates`."""
        errors = np.zeros(self.pairs)
        smooth = self.c.activation == "gelu_new"
        for block in self.derivation.blocks if self.storage.wide else ():
            hidden = block.matrices.c_fc, block.matrices.c_fc_bias
            rounding = self.rounding(*hidden, mean=2.0**-7)
            reach = self.reach(*hidden, mean=2.0**-7)
            terms: dict[int, list[tuple[float, float, float]]] = {}
            for gate in block.gates:
                units = list(gate.units)
                tail = self._tail(gate, float(reach[units].sum())) if smooth else 0.0
                moved = gate.out * float(rounding[units].sum())
                # Each unit is off by less than an eighth of what both see (`_gates`).
                held = 1.25 * gate.out * (gate.low + gate.high)
                terms.setdefault(gate.target, []).append((moved, tail, held))
            for at, entries in terms.items():
                holding = max(moved for moved, _, _ in entries)
                failing = sum(tail for _, tail, _ in entries)
                held = max(size for _, _, size in entries)
                added = 2 * len(entries) + (4 if smooth else 1)
                errors[at] = holding + failing + held * added * U + 2 * U
        return errors

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
        bits = self.bit[[isinstance(cell, BitCell) for cell in self.derivation.cells[number]]]
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
        """What gates clip stays on its side of the clip. In small formats hidden units are off by
        less than half a spacing, so that they are rounded to their exact values."""
        block = self.derivation.blocks[number]
        hidden = block.matrices.c_fc, block.matrices.c_fc_bias
        columns = self.column_error(number, *hidden)
        worst = 0.0
        for gate in block.gates:
            far = self._far(gate)
            error = float(columns[list(gate.units)].max())
            worst = max(worst, error / max(gate.low - gate.fails, gate.out**-1))
            if gate.never:
                room = -gate.fails - far
            elif self.storage.wide:
                room = min(gate.low - far, -gate.fails - far, (gate.low + gate.high) / 8)
            else:
                room = self.storage.unit * 2.0 ** floor(log2(gate.low)) / 2
                room = min(room, gate.low - far, -gate.fails - far)
                for held in (gate.low, gate.high):
                    cast = float(np.float32(held).astype(self.storage.storage))
                    need(cast == held, "gates: a hidden unit has too many digits")
            need(error <= room, "gates: a sum of literals may be off too far")
        reach = self.reach(*hidden, self.norm[number][0])
        need(float(reach.max()) <= self.storage.largest, "gates: hidden units overflow")
        return worst

    def _read_out(self) -> None:
        """The logits keep their sign, and an lm head its margin."""
        lm = self.c.head == "lm"
        weights = self.c.tensors["lm_head.weight" if lm else "classifier.weight"]
        stored = weights.astype(self.storage.storage)
        rows, cast = (2 * matrix[:, 0::2].astype(np.float64) for matrix in (weights, stored))
        wide = self.storage.wide  # small formats read what is stored exactly
        scale = self.norm[-1][1] + 3 * U if wide else 0.0
        read = ReadVariables(self.derivation.cells[-1], self.bit, scale, self.norm[-1][0])
        errors = logit_errors(rows, cast, 2, read, self.storage, lm)
        self.bounds |= check_logits(self.derivation.logits, errors.tolist(), self.margin)
