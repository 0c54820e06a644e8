"""Why a disguised Llama is right in float32: its RMSNorm and its rotary scores.

What carries errors from block to block is in `dense.bounds`, what SwiGLU units do in `dense_units`.
A rotation within a rotary pair changes no score, so queries and keys are measured pair by pair,
turned back. A pair that a head does not use has queries or keys that read 0, up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.dense.bounds import ClipTerm, DenseBounds, NormError, Vector
from softhat.proof.dense.matrices import SLACK, Matrix, frobenius, reading, values
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.llama.dense_rows import HeldValues, RowGroups, read
from softhat.proof.llama.dense_units import HiddenUnits, clipped, hidden_units, idle_terms
from softhat.proof.llama.squares import Squares, squares_off
from softhat.proof.llama.undisguise import PlainLlama
from softhat.proof.stock.checkpoint import VariableBlock
from softhat.proof.stock.derivation import Derivation
from softhat.proof.stock.heads.digit import DigitHead
from softhat.proof.stock.kind import Gaps, Lookup, StockHead, StockScores
from softhat.proof.stock.rotary import ERROR, RotaryScores
from softhat.proof.stock.storage import ROOT, SCALED, SECOND, STORAGES, U, need
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, MeanCell
from softhat.transformer.decoders import LlamaBlock
from softhat.transformer.directions import Directions


class LlamaDenseBounds(DenseBounds):
    """The bounds of one disguised checkpoint for one attention kernel, in float32."""

    def __init__(
        self,
        derivation: Derivation,
        plain: PlainLlama,
        c: LlamaCheckpoint,
        directions: Directions,
        fused: bool,
        margin: float | None,
    ) -> None:
        self.c, self.plain = c, plain
        norm = c.norm(derivation.cells[0])
        super().__init__(plain.basis, derivation, norm, fused, margin, norm.square**0.5)
        u = self.u
        if frobenius(u.T @ u - np.eye(self.variables)) > SLACK:
            raise VoidError("the directions of the residual stream are not orthonormal")
        embedded = c.tensor("model.embed_tokens.weight").astype(np.float64)
        stood = plain.checkpoint.table.tokens.astype(np.float64)
        apart = embedded - stood @ u.T
        slack = SLACK * np.sqrt((embedded**2).sum(axis=1))
        self.embedded_off = float((np.sqrt((apart**2).sum(axis=1)) + slack).max())
        self.output_terms = c.n_head * c.head_dim
        self.rotary = RotaryScores(STORAGES[0], fused, c.frequencies, c.context)
        self.queries: list[list[RowGroups]] = []
        self.keys: list[list[RowGroups]] = []
        self.extents: list[list[float]] = []
        self.units: list[HiddenUnits] = []
        for at, units in enumerate(directions.units):
            actual, stood_for = c.block(at).cast(np.float64), plain.checkpoint.blocks[at]
            self._read_heads(at, actual, stood_for)
            gates = self.derivation.blocks[at].gates
            self.units.append(hidden_units(u, actual, stood_for, gates, units, f"block {at}"))

    # What the weights are

    def _read_heads(self, at: int, actual: LlamaBlock, stood_for: VariableBlock) -> None:
        plain_query, plain_key, plain_value = (
            rows.weights.astype(np.float64)
            for rows in (stood_for.query, stood_for.key, stood_for.value)
        )
        plain_output = stood_for.output.astype(np.float64)
        c, size, half = self.c, self.c.head_dim, self.c.head_dim // 2
        queries, keys, written = [], [], []
        held = HeldValues.of(self.derivation.cells[at], self.size)
        self.extents.append([])
        for g, rows in enumerate(self.plain.shared_values[at]):
            # Heads that share values have all of them in every sum.
            form = plain_value[g * size : g * size + len(rows)]
            largest = held.largest(form[:, None])
            matrix = np.vstack([actual.value[g * size : (g + 1) * size].T, np.zeros(size)])
            bare = np.vstack([form.T, np.zeros(len(rows))])
            self.extents[at].append(self.extent(reading(self.u, matrix, bare, rows), largest))
        for h in range(c.n_head):
            g = h // (c.n_head // c.n_kv)
            own, shared = slice(h * size, (h + 1) * size), slice(g * size, (g + 1) * size)
            turn = self.plain.turns[at][g]

            def paired(matrix: Matrix) -> Matrix:
                return np.stack([matrix[:half], matrix[half:]], axis=1)

            queries.append(
                RowGroups.of(paired(turn @ actual.query[own]), paired(plain_query[own]), self.u)
            )
            keys.append(
                RowGroups.of(paired(turn @ actual.key[shared]), paired(plain_key[shared]), self.u)
            )
            place = [g * size + p for p in self.plain.places[at][h]]
            columns = [h * size + p for p in self.plain.places[at][h]]
            written.append(
                values(
                    self.u,
                    np.vstack([actual.value[shared].T, np.zeros(size)]),
                    actual.output[:, own].T,
                    np.vstack([plain_value[place].T, np.zeros(len(place))]),
                    plain_output[:, columns].T,
                    self.plain.values[at][h],
                )
            )
        self.queries.append(queries)
        self.keys.append(keys)
        self.values.append(written)

    # RMSNorm and sizes

    def _embedded(self) -> None:
        self.squares = Squares(0.0, 0.0)

    def _norm(self, off: Vector, noise: float, cells: list[Cell]) -> NormError:
        """|w + n|² is within 2|w||n| + |n|² of |w|². In units of the plain norm |w| is at most
        √1.045 < 1.023 and |n| below 2^-8: that is less than 2.1·|n|."""
        relative = noise / self.norm_of_x
        need(relative < 2.0**-8, "RMSNorm: the noise is not small")
        apart = 2.1 * relative + 2 * SLACK + self.c.epsilon
        squares = self.squares.widened(apart)
        need(squares.most < 0.045, "RMSNorm: the norm is not constant enough")
        rounding = ROOT * self.plain_norm.statistics + 4 * U
        # The slope of (1 + E)^(-1/2) is at most 0.955^(-3/2)/2 < 0.54 from E = -0.045 on.
        self.factor_off = 0.54 * apart + rounding
        low, high = squares.factors(rounding)
        scale = max(abs(low), abs(high))
        need(scale < 0.025, "RMSNorm's error is not small")
        self.record("RMSNorm, scale", scale)
        return NormError(scale, SCALED * noise + 5 * U * self.reach, 0.0, (high - low) / 2)

    def _attended(self, at: int, before: Vector, off: Vector) -> None:
        """What heads write are bits, of size 1, and means."""
        old, new = self.derivation.cells[at], self.derivation.after_attention[at]
        changed = [a != b for a, b in zip(old, new, strict=True)]
        written = np.array(changed) | (off != before)
        means = np.array([isinstance(cell, MeanCell) for cell in new])
        squares = float(((self.size + off)[written & means] ** 2).sum())
        by = squares_off(written & ~means, before, off)
        self.squares = self.squares.attended(by / self.d, squares / self.d)

    def _clipped(
        self, before: Vector, norm: NormError, clips: Mapping[int, list[ClipTerm]]
    ) -> None:
        """A bit is (1 - E)/(1 + E) in size, below 1.1, and off that by what is not the factor's,
        by what the factor is off (1 + E)^(-1/2), and by what it was off before."""
        by = 0.0
        for p, terms in clips.items():
            # 2f² moves by 4f times what f does, f ≤ 1.025; then |b|² by 2·1.1·own + own²; before it
            # was ±1.
            own = 4.1 * self.factor_off + max(term.unscaled for term in terms) + float(before[p])
            need(own < 0.05, "gates: the error of a bit may be too large")
            by += 2.3 * own + 2.1 * float(before[p])
        self.squares = self.squares.clipped(len(clips) / self.d, by / self.d)

    def _value_sizes(self, head: StockHead | None, at: int, h: int) -> tuple[Vector, Vector]:
        held = HeldValues.of(self.derivation.cells[at], self.size)
        form = self.values[at][h].reading.form.T
        varying = np.abs(form) @ held.varying
        sizes = np.abs(form @ held.constants) + varying[:, None]
        return sizes[:, 0], sizes[:, 1]

    def value_extent(self, at: int, h: int, largest: Vector) -> float:
        return self.extents[at][h // (self.c.n_head // self.c.n_kv)]

    # Scores

    @property
    def dot(self) -> float:
        """Of a score's sum, as a share of |query||key|: turning lengthens neither by more than
        2^-7, and (1 + 2^-7)²·((1 + U)^k - 1) ≤ 1.05·k·U."""
        return (self.c.head_dim + 6) * 1.05 * U

    def score_error(
        self,
        head: StockHead,
        off: Vector,
        norm: NormError,
        key: tuple[HeldValues, Vector] | None = None,
        reach: float = 0.0,
    ) -> float:
        """How far a score may be off, but for the factor of the query's position, which scales all
        of its scores. `key`: what keys that are not ruled out hold, and how far it is off; then
        also but for a factor that is common to all keys, whose |scores| are at most `reach`."""
        q, q_off, k, k_off = self.read_pairs(head.block, head.head, off, norm, key)
        query, keys = q + q_off, (1 + norm.scale) * k + k_off
        products = query * keys
        total = q_off * keys + q * k_off + products * self.turns(head)
        total = total + self.dot * products
        root = self.c.head_dim**0.5
        if key is None:
            return SCALED * (float(total.sum()) + norm.scale * float(q @ k)) / root
        saved = norm.noise * self._apart_noise(head, q)
        return SCALED * ((float(total.sum()) - saved) / root + norm.spread * reach)

    def _apart_noise(self, head: StockHead, q: Vector) -> float:
        """How much more noise slow pairs seem to read one by one than they read together: they
        hardly turn, and what all of them read of a key is one row, of the constants' queries."""
        slow = [pair.pair for pair in head.pairs if pair.role == "content"]
        if not slow:
            return 0.0
        keys, queries = self.keys[head.block][head.head], self.queries[head.block][head.head]
        constants = HeldValues.of(self.derivation.cells[head.block], self.size).constants[:, 0]
        combined = queries.form[slow, 0] @ constants @ keys.actual[slow, 0]
        whole = q[slow] * keys.whole[slow]
        turned = self.rotary.frequencies[slow] * self.c.context * (1 + ERROR)
        together = frobenius(combined) + float(whole @ (turned + SLACK))
        return max(0.0, float(whole.sum()) - together)

    def read_pairs(
        self,
        at: int,
        h: int,
        off: Vector,
        norm: NormError,
        key: tuple[HeldValues, Vector] | None = None,
    ) -> tuple[Vector, Vector, Vector, Vector]:
        """Of each rotary pair: the size of the plain query, its error, and those of the key."""
        held = HeldValues.of(self.derivation.cells[at], self.size)
        keys, keys_off = (held, off) if key is None else key
        query = read(self, self.queries[at][h], held, off, norm)
        return (*query, *read(self, self.keys[at][h], keys, keys_off, norm))

    def _largest_score(self, at: int, h: int, off: Vector, norm: NormError) -> float:
        q, q_off, k, k_off = self.read_pairs(at, h, off, norm)
        query, key = SCALED * float((q + q_off).sum()), SCALED * float((k + k_off).sum())
        return max(query, key, query * key)

    def turns(self, head: StockHead) -> Vector:
        """The share of each pair's product by which turning may change it."""
        content = {pair.pair for pair in head.pairs if pair.role == "content"}
        shares = [self.rotary.dense(p, p in content) for p in range(self.c.head_dim // 2)]
        used = {pair.pair for pair in head.pairs}
        # What is no part of the plain score is counted whole, however it turns.
        return np.array([share if p in used else 0.0 for p, share in enumerate(shares)])

    def _scores(self, head: StockHead, off: Vector, norm: NormError, n: int) -> StockScores:
        return DenseTurnedScores(
            storage=STORAGES[0], fused=self.fused, keys=n + 1, bounds=self, off=off, norm=norm
        )

    def free(self, head: Lookup, off: Vector) -> tuple[HeldValues, Vector]:
        """What keys hold that a head with constant queries does not rule out, and their errors: the
        bit by which it rules out has one of its two values there; and a gate's bit is exact where
        it keeps the one with which it starts."""
        cells = list(self.derivation.cells[head.block])
        constants = HeldValues.of(cells, self.size).constants[:, 0]
        queries, keys = self.queries[head.block][head.head], self.keys[head.block][head.head]
        weights = np.zeros(self.variables)
        for pair in head.pairs:
            if pair.role == "content":
                query = float(queries.form[pair.pair, 0] @ constants)
                weights += query * keys.form[pair.pair, 0] / self.c.head_dim**0.5
        exact = off.copy()
        # What rules out is worth more than a ruled-out key lies below all others.
        for p in np.flatnonzero(2.01 * np.abs(weights) >= head.clear).tolist():
            start = self.derivation.cells[0][p]
            if isinstance(cells[p], BitCell):
                free = -1.0 if weights[p] < 0 else 1.0
                cells[p] = ConstantCell(free, -1.0)
                if isinstance(start, ConstantCell) and start.ordinary == free and self._gated(p):
                    exact[p] = 0.0
        return HeldValues.of(cells, self.size), exact

    def _gated(self, p: int) -> bool:
        """A variable is a constant until a gate writes it (a head's output is never exact)."""
        stages = zip(self.derivation.after_attention, self.derivation.cells[1:], strict=True)
        return any(isinstance(a[p], ConstantCell) and isinstance(b[p], BitCell) for a, b in stages)

    def _uneven(self, head: StockHead, off: Vector, norm: NormError) -> float:
        return self.score_error(head, off, norm)

    # Hidden units and the read-out

    def _clips(self, at: int, off: Vector, norm: NormError) -> dict[int, list[ClipTerm]]:
        clips: dict[int, list[ClipTerm]] = {}
        held = HeldValues.of(self.derivation.after_attention[at], self.size)
        for clip in self.units[at].clips:
            clips.setdefault(clip.gate.target, []).append(clipped(self, clip, held, off, norm))
        return clips

    def _idle_units(self, at: int, norm: NormError) -> list[ClipTerm]:
        return idle_terms(self, self.units[at])

    def _logits(self) -> tuple[Matrix, Matrix, float]:
        rows, plain = self.c.tensor(self.c.readout), self.plain.checkpoint
        return rows.astype(np.float64), plain.rows.weights.astype(np.float64), plain.scale


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DenseTurnedScores(StockScores):
    """The scores of one head of a disguised Llama."""

    constant_queries = True

    bounds: LlamaDenseBounds
    off: Vector
    """How far variables are off."""
    norm: NormError

    @property
    def shares(self) -> tuple[float, ...]:
        return (1 / 20,)

    def gaps(self, head: Lookup) -> Gaps:
        bounds, scale = self.bounds, self.norm.scale
        competing = bounds.free(head, self.off)
        free = bounds.score_error(head, self.off, self.norm, competing, head.reach)
        gap = head.gap * (1 - scale) ** 2 - 2 * free
        if head.clear == inf:
            return Gaps(gap, inf)
        ruled = bounds.score_error(head, self.off, self.norm)
        return Gaps(gap, head.clear * (1 - scale) - free - ruled)

    def left(self, head: StockHead, key: float, least: float, share: float) -> float:
        """Errors are relative to the query, which may be large, or not, and those count against the
        least |score|. The query's error moves scores only by how far keys are apart."""
        bounds, scale, head_dim = self.bounds, self.norm.scale, self.bounds.c.head_dim
        q, q_off, k, k_off = bounds.read_pairs(head.block, head.head, self.off, self.norm)
        (pair,) = head.pairs
        p = pair.pair
        turn, dot = float(bounds.turns(head)[p]), bounds.dot
        most = (1 + scale) * float(k[p]) + float(k_off[p])
        apart = most + float(k_off[p])
        own = float(q_off[p]) * (apart + 2 * (turn + dot) * most)
        others = (q + q_off) * ((1 + scale) * k + k_off) * (1 + dot) * SECOND
        fixed = own + 2 * float(np.delete(others, p).sum())
        # (1 + scale)² - 1 ≤ 2.1·scale, because scale < 0.025.
        relative = 2.1 * scale + SCALED * (2 * float(k_off[p]) + 2 * (turn + dot) * most) / key
        worst = SCALED * fixed / head_dim**0.5 / least
        return bounds.compared(head, worst, relative, share) * least

    def decision(self, head: StockHead, scores: Vector) -> float:
        error = self.bounds.score_error(head, self.off, self.norm)
        least = float(np.abs(scores[1 : self.keys]).min())
        return least * (1 - 2 * self.norm.scale) - 2 * error

    def shared_roundings(self, head: StockHead) -> float:
        """Where all scores of the word's own positions are 0 they have the same weight, up to
        errors of scores, and the same value, but for idle rows. n equal terms, added up in any
        order, pass through sums of n²/2 of them at most, not of n²."""
        bounds, at = self.bounds, head.block
        everywhere = 2 * self.kernel.roundings(self.keys)
        if not isinstance(head, DigitHead):
            return everywhere
        held = HeldValues.of(bounds.derivation.cells[at], bounds.size)
        own = HeldValues(held.constants[:, [0, 0]], held.varying)
        uneven = bounds.score_error(head, self.off, self.norm, (own, self.off))
        need(uneven < 0.5, f"{head.kind} heads: scores may be off too far")
        extent = bounds.value_extent(at, head.head, np.zeros(0))
        form = bounds.values[at][head.head].reading.form.T
        same = min(1.0, float(np.sqrt(((form @ held.constants[:, 0]) ** 2).sum())) / extent)
        share = same / 2 + (1 - same) + 0.5
        return SECOND * exp(2 * uneven) * share * self.kernel.roundings(self.keys) + 8
