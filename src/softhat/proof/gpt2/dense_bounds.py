"""Why a disguised GPT-2 is right in float32: its LayerNorm, its scores and its clips.

What carries errors from block to block is in `dense.bounds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softhat.proof.dense.bounds import ClipTerm, DenseBounds, NormError, Vector
from softhat.proof.dense.matrices import Matrix, MatrixReading
from softhat.proof.dense.plain import PlainCheckpoint
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint, norm_weight
from softhat.proof.gpt2.dense import Basis, CancellingUnits, DenseUnit, HeadMatrices
from softhat.proof.stock.derivation import Derivation
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.kind import KEPT, Gaps, Lookup, StockHead, StockScores
from softhat.proof.stock.storage import ROOT, SCALED, SECOND, STORAGES, U, need
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, MeanCell, magnitude
from softhat.transformer.directions import Directions


class GPT2DenseBounds(DenseBounds):
    """The bounds of one disguised checkpoint for one attention kernel, in float32."""

    def __init__(
        self,
        derivation: Derivation,
        c: GPT2Checkpoint,
        plain: PlainCheckpoint,
        directions: Directions,
        fused: bool,
        margin: float | None,
    ) -> None:
        self.c, self.plain = c, plain
        self.basis = Basis(c, directions, plain)
        norm = c.norm(derivation.cells[0])
        gain = norm_weight(c) * self.basis.d**0.5
        super().__init__(self.basis.u, derivation, norm, fused, margin, gain)
        self.embedded_off = self.basis.embedded_off
        self.matrices = [c.block(at).cast(np.float64) for at in range(c.blocks)]
        self.heads = [
            [self.basis.head(self.matrices[at], head, at, h) for h, head in enumerate(heads)]
            for at, heads in enumerate(directions.heads)
        ]
        self.values = [[head.values for head in block] for block in self.heads]
        self.units = [
            self.basis.units(self.matrices[at], units, at)
            for at, units in enumerate(directions.units)
        ]
        self.gates = [self._gates(at) for at in range(c.blocks)]

    # LayerNorm and sizes: what they are depends on the residual stream alone

    def _embedded(self) -> None: ...

    def _attended(self, at: int, before: Vector, off: Vector) -> None: ...

    def _clipped(
        self, before: Vector, norm: NormError, clips: Mapping[int, list[ClipTerm]]
    ) -> None: ...

    def _norm(self, off: Vector, noise: float, cells: list[Cell]) -> NormError:
        square, statistics = self.plain_norm.square, self.plain_norm.statistics
        means = sum(magnitude(cell) ** 2 for cell in cells if isinstance(cell, MeanCell))
        squares = (float((2 * self.size * off + off**2).sum()) + means) / square
        squares += self.basis.skew + self.c.epsilon * self.d / square
        need(squares < 0.025, "LayerNorm: the norm is not constant enough")
        out_of_span = noise + float(self.basis.ones @ (self.size + off))
        relative = out_of_span / self.norm_of_x
        # Noise r moves the square by 2r + r², of a norm that is off by less than 0.0125 itself:
        # ROOT·(2·1.013 + 2^-6) < 1.05. Of two factors that are off by less than 2^-6 together, the
        # product of errors is less than 2^-8 of them.
        scale = ROOT * (squares + statistics) + 1.05 * relative + 4 * U
        scale = 1.02 * (scale + abs(self.gain / self.norm_of_x - 1))
        need(scale < 2.0**-6, "LayerNorm's error is not small")
        self.record("LayerNorm, scale", scale)
        return NormError(
            scale,
            SCALED * out_of_span + 5 * U * self.reach,
            SCALED * statistics * self.norm_of_x,
            scale,
        )

    def largest(self, reading: MatrixReading, off: Vector, norm: NormError) -> Vector:
        """Of each row of a plain form."""
        whole = (1 + norm.scale) * (self.size + off)
        largest: Vector = whole @ np.abs(reading.form) + np.abs(reading.bias)
        return largest

    def _value_sizes(self, head: StockHead | None, at: int, h: int) -> tuple[Vector, Vector]:
        if head is not None and head.uniform:
            counts = head.counts
            return np.array([c.size for c in counts]), np.array([abs(c.bos) for c in counts])
        ones = np.ones(len(self.values[at][h].written))
        return ones, ones

    # Scores

    def _scores(self, head: StockHead, off: Vector, norm: NormError, n: int) -> StockScores:
        return DensePairScores(
            storage=STORAGES[0],
            fused=self.fused,
            keys=n + 1,
            bounds=self,
            matrices=self.heads[head.block][head.head],
            off=off,
            norm=norm,
        )

    def _largest_score(self, at: int, h: int, off: Vector, norm: NormError) -> float:
        parts = (self.heads[at][h].query, self.heads[at][h].key)
        q, k = (self.extent(part, self.largest(part, off, norm)) for part in parts)
        return max(q, k, q * k)

    def _uneven(self, head: StockHead, off: Vector, norm: NormError) -> float:
        return sum(self.score_errors(self.heads[head.block][head.head], off, norm))

    def not_ruled_out(self, head: StockHead, off: Vector) -> Vector:
        """Errors at keys that a head with constant queries does not rule out: there the bit by
        which it rules out has one of its two values, and the value with which a bit starts is
        exact."""
        matrices = self.heads[head.block][head.head]
        if matrices.query.form.any():
            return off
        weights = matrices.key.form @ matrices.query.bias
        exact = off.copy()
        for p in np.flatnonzero(weights):
            start, now = self.derivation.cells[0][p], self.derivation.cells[head.block][p]
            free = -1.0 if weights[p] < 0 else 1.0  # the bit where the key is not ruled out
            if (
                isinstance(now, BitCell)
                and isinstance(start, ConstantCell)
                and start.ordinary == free
            ):
                exact[p] = 0.0
        return exact

    def score_errors(
        self, matrices: HeadMatrices, off: Vector, norm: NormError, head: Lookup | None = None
    ) -> tuple[float, float]:
        """Of one score: what comes from the query, and what from the key and the product. `head`:
        of a score that is not ruled out, whose size is known."""
        query, key = matrices.query, matrices.key
        q, k = self.largest(query, off, norm), self.largest(key, off, norm)
        q_extent, k_extent = self.extent(query, q), self.extent(key, k)
        q_off, k_off = self.spread(query, q_extent, norm), self.spread(key, k_extent, norm)
        scaled, size = 0.0, self.size
        if head is not None and not (query.form.any() and (query.bias.any() or key.bias.any())):
            # LayerNorm's scale multiplies the whole score, but for a product of constants.
            constants = abs(float(query.bias @ key.bias)) / self.c.d_head**0.5
            scaled = (2 * norm.scale + norm.scale**2) * (head.reach + constants)
            if not query.form.any():
                scaled = norm.scale * (head.reach + constants)
            size = np.zeros_like(self.size)
        q_along = self.along(query.form, off, norm, size)
        k_along = self.along(key.form, off, norm, size)
        v_hat = np.append((1 + norm.scale) * (self.size + off), 1.0)
        root = self.c.d_head**0.5
        of_query = q_off * (k_extent + k_off) + float(q_along @ (k + k_along))
        of_key = q_extent * k_off + float(q @ k_along)
        of_key += float(v_hat @ matrices.scores_off @ v_hat)
        of_key += (self.c.d_head + 2) * SECOND * U * (q_extent + q_off) * (k_extent + k_off)
        return of_query / root, of_key / root + scaled

    # Hidden units and the read-out

    def _gates(self, at: int) -> list[tuple[Gate, list[DenseUnit]]]:
        """The gates with the units that share their work; there are no other units."""
        sides, _ = self.units[at]
        gates = [
            (gate, [unit for side in gate.units for unit in sides.get(side, [])])
            for gate in self.derivation.blocks[at].gates
        ]
        known = {side for gate in self.derivation.blocks[at].gates for side in gate.units}
        need(known >= set(sides), f"block {at}: a hidden unit belongs to no gate")
        return gates

    def _clips(self, at: int, off: Vector, norm: NormError) -> dict[int, list[ClipTerm]]:
        v_hat = self.wide_size(off, norm)
        clips: dict[int, list[ClipTerm]] = {}
        for gate, units in self.gates[at]:
            clips.setdefault(gate.target, []).append(self._clip(at, gate, units, off, norm, v_hat))
        return clips

    def _clip(
        self,
        at: int,
        gate: Gate,
        units: list[DenseUnit],
        off: Vector,
        norm: NormError,
        v_hat: Vector,
    ) -> ClipTerm:
        plain = self.plain.blocks[at]
        form = plain.gate.weights[gate.units[0]].astype(np.float64)
        along = float(self.along(form[:, None], off, norm, self.size)[0])
        reach = float(v_hat[:-1] @ np.abs(form))
        roundings, worst = [], 0.0
        for unit in units:
            rounding = self.rounding(
                self.d, unit.reach * self.reach + unit.bias, reach + unit.bias + 1.0
            )
            error = along + rounding + unit.reach * norm.noise + unit.ones * norm.shift
            worst = max(worst, error + float(unit.off @ v_hat))
            roundings.append(rounding)
        room = -gate.fails if gate.never else min(gate.low, -gate.fails)
        need(worst <= room, "gates: a sum of literals may be off too far")
        self.record("sum that a gate clips", worst)
        if gate.never:
            return ClipTerm(0.0, 0.0, 0.0, 0)
        block, members = self.matrices[at], [unit.number for unit in units]
        into, bias = block.c_fc[:, members], block.c_fc_bias[members]
        out = block.mlp_proj[members]
        factors = np.array([unit.out for unit in units])
        sizes = np.sqrt((out**2).sum(axis=1))
        scaled = np.array(roundings) * np.divide(factors, sizes, where=sizes > 0, out=sizes * 0)
        direction = self.u[:, gate.target]
        product, constant = into @ out, bias @ out
        along_out = out @ direction
        across_out = out - np.outer(along_out, direction)
        first, second = gate.units
        biases = plain.gate.constants.astype(np.float64)
        step = float(plain.down[gate.target, first] * (biases[first] - biases[second]))
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
        return ClipTerm(SECOND * bit, SECOND * loose, SECOND * float(held), len(units))

    def _idle_units(self, at: int, norm: NormError) -> list[ClipTerm]:
        return [self._idle(group, norm) for group in self.units[at][1]]

    def _idle(self, group: CancellingUnits, norm: NormError) -> ClipTerm:
        """Units that cancel: what they write all the same."""
        reach_y = self.reach + norm.shift
        largest = max(unit.reach * reach_y + unit.bias for unit in group.units)
        left = group.left * largest + group.apart * reach_y + group.apart_bias
        for unit in group.units:
            left += self.rounding(self.d, largest, largest) * unit.out
        magnitudes = SECOND * largest * sum(unit.out for unit in group.units)
        return ClipTerm(0.0, SECOND * left, magnitudes, len(group.units))

    def _logits(self) -> tuple[Matrix, Matrix, float]:
        rows = self.c.tensor(self.c.readout).astype(np.float64)
        return rows, self.plain.rows.weights.astype(np.float64), self.plain.scale


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DensePairScores(StockScores):
    """The scores of one head of a disguised GPT-2."""

    bounds: GPT2DenseBounds
    matrices: HeadMatrices
    off: Vector
    """How far variables are off."""
    norm: NormError

    @property
    def shares(self) -> tuple[float, ...]:
        return KEPT[:1]

    def gaps(self, head: Lookup) -> Gaps:
        bounds, norm = self.bounds, self.norm
        competing = bounds.not_ruled_out(head, self.off)
        free = sum(bounds.score_errors(self.matrices, competing, norm, head))
        ruled = sum(bounds.score_errors(self.matrices, self.off, norm))
        return Gaps(head.gap - 2 * free, head.clear - free - ruled)

    def left(self, head: StockHead, key: float, least: float, share: float) -> float:
        """Errors are relative to the query, which may be large, or not, and those count against the
        least |score|. The query's error moves scores only by how far keys are apart."""
        bounds, norm, d_head = self.bounds, self.norm, self.bounds.c.d_head
        query, keys = self.matrices.query, self.matrices.key
        (means,) = np.nonzero(query.form.any(axis=1))
        need(query.form.shape[1] == len(means) == 1, f"{head.kind} heads: not one row of one mean")
        p = int(means[0])
        weight = float(abs(query.form[p, 0]))
        rows = bounds.largest(keys, self.off, norm)
        extent = bounds.extent(keys, rows)
        key_off = bounds.spread(keys, extent, norm)
        key_off += float(bounds.along(keys.form, self.off, norm, bounds.size).max())
        apart = SECOND * float(rows[0]) + 2 * SECOND * keys.idle * bounds.reach + 2 * key_off
        idle = query.idle * bounds.reach * SECOND + query.idle_bias
        magnitudes = query.whole * bounds.reach + query.offset
        query_off = bounds.rounding(bounds.d, magnitudes, idle) + query.stretch * norm.noise
        query_off += query.ones * norm.shift
        held = bounds.wide_size(self.off, norm)
        product_off = self.matrices.scores_off @ held
        others = np.delete(held, p) @ np.delete(product_off, p)
        dot = (d_head + 2) * SECOND * U
        fixed = (query_off + (1 + norm.scale) * weight * float(self.off[p])) * apart
        fixed += 2 * (idle + query_off) * (key_off + dot * (extent + key_off)) + 2 * float(others)
        relative = norm.scale + (2 * key_off + bounds.d * U * apart) / key
        # Of both of two scores, which are off by less than a twentieth of them (`compared`).
        relative += 2.1 * dot * (extent + key_off) / key
        relative += 2 * float(product_off[p]) / (weight * key)
        relative += 2 * self.kernel.roundings(self.keys) * U
        return bounds.compared(head, fixed / d_head**0.5 / least, relative, share) * least
