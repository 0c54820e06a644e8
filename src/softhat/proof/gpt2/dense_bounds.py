"""Why a disguised GPT-2 is right in float32: the errors of reading, scoring and writing in a basis
in which every coordinate holds a little of everything.

The residual stream is x = Σ (v_p + β_p)·û_p + n: what the plain checkpoint holds, errors β along
its directions (of stored bits, raw outputs, means), and noise n of which only the norm is known.
LayerNorm multiplies by 1 + ρ, adds noise of its own and a shift of all coordinates. A dot product
of K terms in float32, added up in any order, passes through sums of some of its terms; none of
these exceeds half of Σ|terms| + |total|, so it is off by at most 2^-24 times K of these and
Σ|terms| once more. Clips bring bits back to ±1 up to the rounding of their own two sums, so
errors do not grow with depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1

import numpy as np
from numpy.typing import NDArray

from softhat.proof.gpt2.checkpoint import Checkpoint
from softhat.proof.gpt2.dense import SLACK, Basis, Group, HeadMatrices, Reading, Unit
from softhat.proof.gpt2.gates import Gate
from softhat.proof.gpt2.kinds import Head
from softhat.proof.gpt2.pairs import Bit, Cell, Constant, Mean
from softhat.proof.gpt2.reading import Derivation, norm_weight
from softhat.proof.gpt2.storage import BLOCK, LEAST_GAP, U, need
from softhat.proof.gpt2.sums import magnitude
from softhat.proof.gpt2.undisguise import Plain
from softhat.transformer.directions import Directions

Vector = NDArray[np.float64]
EXP = 32 * U
"""Relative error of exp near 0: vectorised kernels state up to 20 units in the last place."""


@dataclass(frozen=True)
class Norm:
    """What a LayerNorm does: a relative error of the scale, noise, and a shift of everything."""

    scale: float
    noise: float
    shift: float


class DenseBounds:
    """The bounds of one disguised checkpoint for one attention kernel, in float32."""

    def __init__(
        self,
        found: Derivation,
        c: Checkpoint,
        plain: Plain,
        directions: Directions,
        fused: bool,
        margin: float | None,
    ) -> None:
        self.found, self.c, self.plain, self.fused, self.margin = found, c, plain, fused, margin
        self.bounds: dict[str, float] = {}
        self.basis = Basis(c, directions, plain)
        self.d, count = self.basis.d, self.basis.variables
        self.size = np.zeros(count)
        self.own = np.zeros(count)
        self.bos = np.zeros(count)
        for cells in (*found.cells, *found.after_attention):
            for p, cell in enumerate(cells[:count]):
                self.size[p] = max(self.size[p], magnitude(cell))
        for p, cell in enumerate(found.cells[0][:count]):
            constant = isinstance(cell, Constant) and cell == found.cells[-1][p]
            self.own[p] = abs(cell.ordinary) if constant else self.size[p]  # type: ignore[union-attr]
            self.bos[p] = abs(cell.bos) if constant else self.size[p]  # type: ignore[union-attr]
        self.square = found.variance * found.checkpoint.d_model / 2
        self.norm_of_x = self.square**0.5
        self.gain = norm_weight(c) * self.d**0.5
        self.reach = self.gain * (1 + 2.0**-8)
        self.heads = [
            [self.basis.head(at, h, directions, rows) for h, rows in enumerate(block)]
            for at, block in enumerate(plain.heads)
        ]
        self.kinds = {
            (head.block, head.head): head for block in found.blocks for head in block.heads
        }
        self.units = [
            self.basis.units(at, units, plain) for at, units in enumerate(directions.units)
        ]
        self.gates = [self._gates(at) for at in range(c.blocks)]

    def check(self, n: int) -> None:
        """Every answer on words of up to n symbols is right."""
        names = ("noise", "stored bit", "LayerNorm, scale", "head output", "sum that a gate clips")
        self.bounds.clear()
        self.bounds |= dict.fromkeys(names, 0.0)
        off = np.zeros(self.basis.variables)
        noise = self.basis.embedded_off + U * self.norm_of_x * 1.01
        for at in range(self.c.blocks):
            noise = self._attend(at, off, noise, n)
            noise = self._feed_forward(at, off, noise)
        self._read_out(off, noise)
        self.bounds["noise"] = noise

    # LayerNorm and dot products

    def _norm(self, off: Vector, noise: float, cells: list[Cell]) -> Norm:
        statistics = min(self.d + 64, 256) * U
        means = sum(magnitude(cell) ** 2 for cell in cells if isinstance(cell, Mean))
        squares = (float((2 * self.size * off + off**2).sum()) + means) / self.square
        squares += self.basis.skew + self.c.epsilon * self.d / self.square
        need(squares < 0.025, "LayerNorm: the norm is not constant enough")
        out_of_span = noise + float(self.basis.ones @ (self.size + off))
        relative = out_of_span / self.norm_of_x
        scale = 0.51 * (squares + statistics) + 1.05 * relative + 4 * U
        scale = 1.02 * (scale + abs(self.gain / self.norm_of_x - 1))
        need(scale < 2.0**-6, "LayerNorm's error is not small")
        self.bounds["LayerNorm, scale"] = max(self.bounds["LayerNorm, scale"], scale)
        return Norm(
            scale,
            1.03 * out_of_span + 5 * U * self.reach,
            1.03 * statistics * self.norm_of_x,
        )

    def _rounding(self, terms: int, magnitudes: float, total: float) -> float:
        """Of a dot product: see the module's docstring."""
        return 1.01 * U * (terms / 2 * (magnitudes + min(total, magnitudes)) + magnitudes)

    def _along(self, form: Vector, off: Vector, norm: Norm, size: Vector) -> Vector:
        """Errors of Σ form·v that come along the directions, for each column."""
        errors: Vector = ((1 + norm.scale) * off + norm.scale * size) @ np.abs(form)
        return errors

    def _largest(self, reading: Reading, off: Vector, norm: Norm) -> Vector:
        """Of each row of a plain form."""
        whole = (1 + norm.scale) * (self.size + off)
        largest: Vector = whole @ np.abs(reading.form) + np.abs(reading.bias)
        return largest

    def _spread(self, reading: Reading, largest: float, norm: Norm) -> float:
        """Norm of what a reading is off by rounding and noise."""
        magnitudes = reading.whole * self.reach + reading.offset
        rounding = self._rounding(self.d, magnitudes, largest)
        return rounding + reading.stretch * norm.noise + reading.ones * norm.shift

    def _extent(self, reading: Reading, rows: Vector) -> float:
        """Norm of a whole query, key or value."""
        own = 1.01 * float(np.sqrt((rows**2).sum()))
        return own + reading.idle * self.reach * 1.01 + reading.idle_bias

    # Attention

    def _attend(self, at: int, off: Vector, noise: float, n: int) -> float:
        """Values are read with noise, rounded, added up over keys and written: along the
        direction of each value, but for what idle dimensions pass on."""
        norm = self._norm(off, noise, self.found.cells[at])
        before = off.copy()
        magnitudes = total = 0.0
        for h, matrices in enumerate(self.heads[at]):
            head = self.kinds.get((at, h))
            values = np.ones(len(matrices.written))
            if head is not None and head.kind == "Average":
                values = np.array([max(count.size, abs(count.bos)) for count in head.counts])
            extent = self._extent(matrices.value, values)
            added, along = self._lookup(head, matrices, values, before, norm, n)
            rounding = self._spread(matrices.value, extent, Norm(0.0, 0.0, 0.0))
            rounding += added * U * extent
            along += matrices.rows * norm.noise + matrices.rows_ones * norm.shift + 1.01 * rounding
            off += along @ np.abs(matrices.written)
            v_hat = np.append((1 + norm.scale) * (self.size + before), 1.0)
            noise += float(matrices.writes_off @ v_hat)
            noise += matrices.through * (norm.noise + norm.shift) + matrices.writing * rounding
            magnitudes += extent * matrices.writing_whole
            total += float(values @ np.sqrt((matrices.written**2).sum(axis=1)))
            if head is not None and head.kind != "Average":
                largest = float(along.max(initial=0.0))
                need(largest < 2.0**-4, "heads: the error of an output may be too large")
                self.bounds["head output"] = max(self.bounds["head output"], largest)
        return noise + self._rounding(self.d, magnitudes, total) + U * self.norm_of_x * 1.05

    def _lookup(
        self,
        head: Head | None,
        matrices: HeadMatrices,
        values: Vector,
        off: Vector,
        norm: Norm,
        n: int,
    ) -> tuple[float, Vector]:
        """How many units of rounding a sum over keys has, and errors of outputs along their
        directions."""
        along = self._along(matrices.value.form, off, norm, self.size)
        summation = self._summation(n)
        if head is None:
            return 2 * summation, along
        if head.kind == "Average":
            return summation, self._mean(head, matrices, off, norm, n)
        if head.kind == "Sign":
            leak = self._sign(head, matrices, off, norm, n)
            added = 2 * summation
        else:
            free = sum(self._score_errors(matrices, self._not_ruled_out(head, off), norm, head))
            gap = head.gap - 2 * free
            need(gap >= head.gap / 4, f"{head.kind} heads: scores may be off by more than a step")
            if head.kind == "Previous":
                leak = (1 + exp(-gap)) ** head.digits - 1
            else:  # keys without bad, and those with it
                leak = exp(-gap) / (1 - exp(-gap))
                ruled = sum(self._score_errors(matrices, off, norm))
                leak += (n + 1) * exp(min(700.0, free + ruled - head.clear))
            added = 64.0 if gap >= LEAST_GAP else 2 * summation
        return added, along + 1.05 * leak * values

    def _summation(self, n: int) -> float:
        """The error of a sum over keys is at most this many units of Σ |terms|."""
        return float(min(n + 1, BLOCK + n / BLOCK + 3) if self.fused else n + 1)

    def _not_ruled_out(self, head: Head, off: Vector) -> Vector:
        """Errors at keys that a Latest head does not rule out: there the bit by which it rules out
        has one of its two values, and the value with which a bit starts is exact."""
        rows = self.plain.heads[head.block][head.head]
        weights = rows.key @ rows.query_bias
        exact = off.copy()
        for p in np.flatnonzero(weights):
            start, now = self.found.cells[0][p], self.found.cells[head.block][p]
            free = -1.0 if weights[p] < 0 else 1.0  # the bit where the key is not ruled out
            if isinstance(now, Bit) and isinstance(start, Constant) and start.ordinary == free:
                exact[p] = 0.0
        return exact

    def _score_errors(
        self, matrices: HeadMatrices, off: Vector, norm: Norm, head: Head | None = None
    ) -> tuple[float, float]:
        """Of one score: what comes from the query, and what from the key and the product. `head`:
        of a score that is not ruled out, whose size is known."""
        query, key = matrices.query, matrices.key
        q, k = self._largest(query, off, norm), self._largest(key, off, norm)
        q_extent, k_extent = self._extent(query, q), self._extent(key, k)
        q_off, k_off = self._spread(query, q_extent, norm), self._spread(key, k_extent, norm)
        scaled, size = 0.0, self.size
        if head is not None and not (query.form.any() and (query.bias.any() or key.bias.any())):
            # LayerNorm's scale multiplies the whole score, but for a product of constants.
            constants = abs(float(query.bias @ key.bias)) / self.c.d_head**0.5
            scaled = (2 * norm.scale + norm.scale**2) * (head.reach[-1] + constants)
            if not query.form.any():
                scaled = norm.scale * (head.reach[-1] + constants)
            size = np.zeros_like(self.size)
        q_along = self._along(query.form, off, norm, size)
        k_along = self._along(key.form, off, norm, size)
        v_hat = np.append((1 + norm.scale) * (self.size + off), 1.0)
        root = self.c.d_head**0.5
        of_query = q_off * (k_extent + k_off) + float(q_along @ (k + k_along))
        of_key = q_extent * k_off + float(q @ k_along)
        of_key += float(v_hat @ matrices.scores_off @ v_hat)
        of_key += (self.c.d_head + 2) * 1.01 * U * (q_extent + q_off) * (k_extent + k_off)
        need(q_extent * k_extent < 1e30, "heads: scores overflow")
        return of_query / root, of_key / root + scaled

    # Counts

    def _mean(self, head: Head, matrices: HeadMatrices, off: Vector, norm: Norm, n: int) -> Vector:
        """Errors of means along their directions: of the values, at the word's own positions and
        at `<bos>`, which has a share of 1/(n+1), and of the weights, which are not quite equal."""
        uneven = 1.01 * expm1(2 * sum(self._score_errors(matrices, off, norm))) + 2 * EXP
        own = self._along(matrices.value.form, off, norm, self.own)
        start = self._along(matrices.value.form, np.zeros_like(off), norm, self.bos)
        sizes = np.array([c.size + abs(c.bos) / (n + 1) for c in head.counts])
        errors: Vector = own + start / (n + 1) + uneven * 1.01 * sizes
        return errors

    def _sign(self, head: Head, matrices: HeadMatrices, off: Vector, norm: Norm, n: int) -> float:
        """The leak of a Sign head whose mean keeps its sign and a tenth of its size: errors are
        relative to the query, which may be large, or not, and those count against the least
        |score|."""
        query, key = matrices.query, matrices.key
        (means,) = np.nonzero(query.form.any(axis=1))
        need(query.form.shape[1] == len(means) == 1, "Sign heads: not one row of one mean")
        p = int(means[0])
        weight = float(abs(query.form[p, 0]))
        cells = self.found.cells[head.block]
        k = float(key.bias[0])  # at the word's own positions; at <bos> it is 0
        for at in np.flatnonzero(key.form[:, 0]):
            cell = cells[at]
            assert isinstance(cell, Constant)
            k += float(key.form[at, 0]) * cell.ordinary
        k = abs(k)
        rows = self._largest(key, off, norm)
        k_extent = self._extent(key, rows)
        k_off = self._spread(key, k_extent, norm) + float(
            self._along(key.form, off, norm, self.size).max()
        )
        apart = 1.01 * float(rows[0]) + 2.02 * key.idle * self.reach + 2 * k_off
        idle = query.idle * self.reach * 1.01 + query.idle_bias
        magnitudes = query.whole * self.reach + query.offset
        q_off = self._rounding(self.d, magnitudes, idle) + query.stretch * norm.noise
        q_off += query.ones * norm.shift
        v_hat = np.append((1 + norm.scale) * (self.size + off), 1.0)
        product_off = matrices.scores_off @ v_hat
        others = np.delete(v_hat, p) @ np.delete(product_off, p)
        dot = (self.c.d_head + 2) * 1.01 * U
        root = self.c.d_head**0.5
        fixed = (q_off + 1.01 * weight * float(off[p])) * apart
        fixed += 2 * (idle + q_off) * (k_off + dot * (k_extent + k_off)) + 2 * float(others)
        relative = norm.scale + (2 * k_off + self.d * U * apart) / k
        relative += 2.1 * dot * (k_extent + k_off) / k + 2 * float(product_off[p]) / (weight * k)
        relative += 2 * self._summation(n) * U
        least = head.decision * self.c.context / (n + 1)
        worst = fixed / root / least
        name = "mean of a count, of the least"
        self.bounds[name] = max(self.bounds.get(name, 0.0), worst)
        need(relative <= 0.05, "Sign heads: scores may be off too far")
        need(worst + relative <= 0.9, "counts: for longer words a mean's error may reach its size")
        return (n + 1) * exp(min(700.0, 2 - least / 10))

    # Feed-forward layers and the read-out

    def _gates(self, at: int) -> list[tuple[Gate, list[Unit]]]:
        """The gates with the units that share their work; there are no other units."""
        sides, _ = self.units[at]
        found = [
            (gate, [unit for side in gate.units for unit in sides.get(side, [])])
            for gate in self.found.blocks[at].gates
        ]
        known = {side for gate in self.found.blocks[at].gates for side in gate.units}
        need(known >= set(sides), f"block {at}: a hidden unit belongs to no gate")
        return found

    def _feed_forward(self, at: int, off: Vector, noise: float) -> float:
        norm = self._norm(off, noise, self.found.after_attention[at])
        before = off.copy()
        v_hat = np.append((1 + norm.scale) * (self.size + before), 1.0)
        bits: dict[int, list[tuple[float, float, float, int]]] = {}
        for gate, units in self.gates[at]:
            bits.setdefault(gate.pair, []).append(self._clip(at, gate, units, before, norm, v_hat))
        magnitudes, active = 0.0, 0
        for pair, terms in bits.items():  # at most one of its terms holds
            off[pair] += max(term[0] for term in terms)
            noise += max(term[1] for term in terms)
            magnitudes += max(term[2] for term in terms)
            active += max(term[3] for term in terms)
            self.bounds["stored bit"] = max(self.bounds["stored bit"], float(off[pair]))
        for group in self.units[at][1]:
            left, size = self._idle(group, norm)
            noise += left
            magnitudes += size
            active += len(group.units)
        total = 2.1 * len(bits)
        return noise + self._rounding(active + 1, magnitudes, total) + U * self.norm_of_x * 1.05

    def _clip(
        self, at: int, gate: Gate, units: list[Unit], off: Vector, norm: Norm, v_hat: Vector
    ) -> tuple[float, float, float, int]:
        """A term: the error of its bit, noise, Σ|hidden·outgoing|, and its units."""
        form = self.plain.into[at][:, [gate.units[0]]]
        along = float(self._along(form, off, norm, self.size)[0])
        reach = float(v_hat[:-1] @ np.abs(form[:, 0]))
        roundings, worst = [], 0.0
        for unit in units:
            rounding = self._rounding(
                self.d, unit.reach * self.reach + unit.bias, reach + unit.bias + 1.0
            )
            error = along + rounding + unit.reach * norm.noise + unit.ones * norm.shift
            worst = max(worst, error + float(unit.off @ v_hat))
            roundings.append(rounding)
        room = -gate.fails if gate.never else min(gate.low, -gate.fails)
        need(worst <= room, "gates: a sum of literals may be off too far")
        self.bounds["sum that a gate clips"] = max(self.bounds["sum that a gate clips"], worst)
        if gate.never:
            return 0.0, 0.0, 0.0, 0
        name = f"transformer.h.{at}.mlp"
        members = [unit.number for unit in units]
        into = self.c.tensor(f"{name}.c_fc.weight")[:, members].astype(np.float64)
        bias = self.c.tensor(f"{name}.c_fc.bias")[members].astype(np.float64)
        out = self.c.tensor(f"{name}.c_proj.weight")[members].astype(np.float64)
        factors = np.array([unit.out for unit in units])
        sizes = np.sqrt((out**2).sum(axis=1))
        scaled = np.array(roundings) * np.divide(factors, sizes, where=sizes > 0, out=sizes * 0)
        direction = self.basis.u[:, gate.pair]
        product, constant = into @ out, bias @ out
        along_out = out @ direction
        across_out = out - np.outer(along_out, direction)
        first, second = gate.units
        biases = self.plain.into_bias[at]
        step = float(self.plain.out[at][first, gate.pair] * (biases[first] - biases[second]))
        along_product = product @ direction
        across = product - np.outer(along_product, direction)
        reach_y = self.reach + norm.shift
        bit = reach_y * float(np.sqrt((along_product**2).sum()))
        bit += abs(float(constant @ direction) - step) + float(scaled @ np.abs(along_out))
        rest = constant - float(constant @ direction) * direction
        loose = reach_y * float(np.sqrt((across**2).sum())) + float(np.sqrt((rest**2).sum()))
        loose += float(scaled @ np.sqrt((across_out**2).sum(axis=1)))
        first_units = len(self.units[at][0][first])
        held = (gate.high + worst) * factors[:first_units].sum()
        held += (gate.low + worst) * factors[first_units:].sum()
        return 1.01 * bit, 1.01 * loose, 1.01 * float(held), len(units)

    def _idle(self, group: Group, norm: Norm) -> tuple[float, float]:
        """Units that cancel: what they write all the same, and Σ|hidden·outgoing|."""
        reach_y = self.reach + norm.shift
        largest = max(unit.reach * reach_y + unit.bias for unit in group.units)
        left = group.left * largest + group.apart * reach_y + group.apart_bias
        for unit in group.units:
            left += self._rounding(self.d, largest, largest) * unit.out
        return 1.01 * left, 1.01 * largest * sum(unit.out for unit in group.units)

    def _read_out(self, off: Vector, noise: float) -> None:
        """The logits keep their sign, and an lm head its margin."""
        norm = self._norm(off, noise, self.found.cells[-1])
        name = "lm_head.weight" if self.c.head == "lm" else "classifier.weight"
        rows = self.c.tensor(name).astype(np.float64)
        plain, scale = self.plain.readout, self.plain.scale
        v_hat = (1 + norm.scale) * (self.size + off)
        mismatch = np.abs(rows @ self.basis.u - scale * plain)
        norms = np.sqrt((rows**2).sum(axis=1))
        errors = scale * self._along(plain.T, off, norm, self.size) + mismatch @ v_hat
        errors += norms * (norm.noise + SLACK) + np.abs(rows.sum(axis=1)) / self.d**0.5 * norm.shift
        errors += [self._rounding(self.d, w * self.reach, w * self.reach) for w in norms]
        if self.c.head == "lm":
            assert self.found.margin is not None and self.margin is not None
            kept = scale * self.found.margin - 2 * float(errors.max())
            need(kept >= self.margin, "read-out: the margin may not be kept")
            return
        for row, error in zip(plain, errors, strict=True):
            (used,) = np.nonzero(row)
            need(len(used) == 1, "read-out: a logit does not read one variable")
            size = scale * float(abs(row[used[0]])) * float(self.own[used[0]])
            need(float(error) < size / 2, "read-out: logits may be off too far")
