"""The scores of a disguised Llama, whose positions turn: a rotation within a rotary pair changes no
score, so queries and keys are measured pair by pair, turned back. A pair that a head does not use
has queries or keys that read 0, up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, inf

import numpy as np

from softhat.proof.dense.bounds import DenseBounds, DenseScores
from softhat.proof.dense.matrices import SLACK, Matrix, frobenius, lifted
from softhat.proof.dense.rows import HeldValues, NormError, RowGroups, Vector, read
from softhat.proof.stock.heads.digit import DigitHead
from softhat.proof.stock.kind import Gaps, Lookup, StockHead, StockScores
from softhat.proof.stock.rotary import ERROR, RotaryScores
from softhat.proof.stock.storage import SCALED, SECOND, STORAGES, U, need
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, Rows


class DenseTurns(DenseScores):
    """What scores of one disguised checkpoint are off."""

    scale = 0.025

    def __init__(self, bounds: DenseBounds) -> None:
        self.bounds, self.architecture = bounds, bounds.architecture
        a = self.architecture
        self.rotary = RotaryScores(STORAGES[0], bounds.fused, a.frequencies, a.context)
        self.queries: list[list[RowGroups]] = [[] for _ in range(a.blocks)]
        self.keys: list[list[RowGroups]] = [[] for _ in range(a.blocks)]
        for at, turns in enumerate(bounds.stands_for.scored):
            actual, plain = bounds.actual[at], bounds.plain.blocks[at]
            for own, shared in map(a.rows_of, range(a.n_head)):
                turn = turns[shared.start // a.head_size]
                self.queries[at].append(self._pairs(actual.query[own], plain.query[own], turn))
                self.keys[at].append(self._pairs(actual.key[shared], plain.key[shared], turn))

    def _pairs(self, actual: Rows, plain: Rows, turn: Matrix) -> RowGroups:
        """A head's rows by rotary pair, turned back."""
        half = self.architecture.head_size // 2

        def paired(matrix: Matrix) -> Matrix:
            return np.stack([matrix[:half], matrix[half:]], axis=1)

        return RowGroups.of(paired(turn @ lifted(actual)), paired(lifted(plain)), self.bounds.wide)

    def scores(self, head: StockHead, off: Vector, norm: NormError, n: int) -> StockScores:
        return DenseTurnedScores(
            storage=STORAGES[0], fused=self.bounds.fused, keys=n + 1, turns=self, off=off, norm=norm
        )

    def largest(self, at: int, h: int, off: Vector, norm: NormError) -> float:
        q, q_off, k, k_off = self.read_pairs(at, h, off, norm)
        query, key = SCALED * float((q + q_off).sum()), SCALED * float((k + k_off).sum())
        return max(query, key, query * key)

    def uneven(self, head: StockHead, off: Vector, norm: NormError) -> float:
        return self.score_error(head, off, norm)

    def held(self, at: int) -> HeldValues:
        """What a block's heads read."""
        return self.bounds.held(self.bounds.derivation.cells[at])

    @property
    def dot(self) -> float:
        """Of a score's sum, as a share of |query||key|: turning lengthens neither by more than
        2^-7, and (1 + 2^-7)²·((1 + U)^k - 1) ≤ 1.05·k·U."""
        return (self.architecture.head_size + 6) * 1.05 * U

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
        total = q_off * keys + q * k_off + products * self.shares(head)
        total = total + self.dot * products
        root = self.architecture.head_size**0.5
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
        constants = self.held(head.block).constants[:, 0]
        combined = queries.form[slow, 0] @ constants @ keys.actual[slow, 0]
        whole = q[slow] * keys.whole[slow]
        turned = self.rotary.frequencies[slow] * self.architecture.context * (1 + ERROR)
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
        stream = self.bounds.stream(self.bounds.derivation.cells[at], off, norm)
        seen = stream if key is None else replace(stream, held=key[0], off=key[1])
        return (*read(self.queries[at][h], stream), *read(self.keys[at][h], seen))

    def shares(self, head: StockHead) -> Vector:
        """The share of each pair's product by which turning may change it."""
        content = {pair.pair for pair in head.pairs if pair.role == "content"}
        shares = [
            self.rotary.dense(p, p in content) for p in range(self.architecture.head_size // 2)
        ]
        used = {pair.pair for pair in head.pairs}
        # What is no part of the plain score is counted whole, however it turns.
        return np.array([share if p in used else 0.0 for p, share in enumerate(shares)])

    def free(self, head: Lookup, off: Vector) -> tuple[HeldValues, Vector]:
        """What keys hold that a head with constant queries does not rule out, and their errors: the
        bit by which it rules out has one of its two values there; and a gate's bit is exact where
        it keeps the one with which it starts."""
        derivation = self.bounds.derivation
        cells: list[Cell] = list(derivation.cells[head.block])
        constants = self.held(head.block).constants[:, 0]
        queries, keys = self.queries[head.block][head.head], self.keys[head.block][head.head]
        weights = np.zeros(self.bounds.variables + 1)
        for pair in head.pairs:
            if pair.role == "content":
                query = float(queries.form[pair.pair, 0] @ constants)
                weights += query * keys.form[pair.pair, 0] / self.architecture.head_size**0.5
        exact = off.copy()
        # What rules out is worth more than a ruled-out key lies below all others: its bit moves the
        # score by 2|w|, of which float64 rounds less than a hundredth.
        for p in np.flatnonzero(2.01 * np.abs(weights[:-1]) >= head.clear).tolist():
            start = derivation.cells[0][p]
            if isinstance(cells[p], BitCell):
                free = -1.0 if weights[p] < 0 else 1.0
                cells[p] = ConstantCell(free, -1.0)
                if isinstance(start, ConstantCell) and start.ordinary == free and self._gated(p):
                    exact[p] = 0.0
        return self.bounds.held(cells), exact

    def _gated(self, p: int) -> bool:
        """A variable is a constant until a gate writes it (a head's output is never exact)."""
        derivation = self.bounds.derivation
        stages = zip(derivation.after_attention, derivation.cells[1:], strict=True)
        return any(isinstance(a[p], ConstantCell) and isinstance(b[p], BitCell) for a, b in stages)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DenseTurnedScores(StockScores):
    """The scores of one head of a disguised Llama."""

    constant_queries = True

    turns: DenseTurns
    off: Vector
    """How far variables are off."""
    norm: NormError

    @property
    def shares(self) -> tuple[float, ...]:
        return (1 / 20,)

    def gaps(self, head: Lookup) -> Gaps:
        turns, scale = self.turns, self.norm.scale
        competing = turns.free(head, self.off)
        free = turns.score_error(head, self.off, self.norm, competing, head.reach)
        gap = head.gap * (1 - scale) ** 2 - 2 * free
        if head.clear == inf:
            return Gaps(gap, inf)
        ruled = turns.score_error(head, self.off, self.norm)
        return Gaps(gap, head.clear * (1 - scale) - free - ruled)

    def left(self, head: StockHead, key: float, least: float, share: float) -> float:
        """Errors are relative to the query, which may be large, or not, and those count against the
        least |score|. The query's error moves scores only by how far keys are apart."""
        turns, scale = self.turns, self.norm.scale
        q, q_off, k, k_off = turns.read_pairs(head.block, head.head, self.off, self.norm)
        (pair,) = head.pairs
        p = pair.pair
        turn, dot = float(turns.shares(head)[p]), turns.dot
        most = (1 + scale) * float(k[p]) + float(k_off[p])
        apart = most + float(k_off[p])
        own = float(q_off[p]) * (apart + 2 * (turn + dot) * most)
        others = (q + q_off) * ((1 + scale) * k + k_off) * (1 + dot) * SECOND
        fixed = own + 2 * float(np.delete(others, p).sum())
        # (1 + scale)² - 1 ≤ 2.1·scale, because scale < 0.025.
        relative = 2.1 * scale + SCALED * (2 * float(k_off[p]) + 2 * (turn + dot) * most) / key
        worst = SCALED * fixed / turns.architecture.root / least
        return turns.bounds.compared(head, worst, relative, share) * least

    def decision(self, head: StockHead, scores: Vector) -> float:
        error = self.turns.score_error(head, self.off, self.norm)
        least = float(np.abs(scores[1 : self.keys]).min())
        return least * (1 - 2 * self.norm.scale) - 2 * error

    def shared_roundings(self, head: StockHead) -> float:
        """Where all scores of the word's own positions are 0 they have the same weight, up to
        errors of scores, and the same value, but for idle rows. n equal terms, added up in any
        order, pass through sums of n²/2 of them at most, not of n²."""
        bounds, at = self.turns.bounds, head.block
        everywhere = 2 * self.kernel.roundings(self.keys)
        if not isinstance(head, DigitHead):
            return everywhere
        held = self.turns.held(at)
        own = HeldValues(held.constants[:, [0, 0]], held.varying)
        uneven = self.turns.score_error(head, self.off, self.norm, (own, self.off))
        need(uneven < 0.5, f"{head.kind} heads: scores may be off too far")
        extent = bounds.value_extent(at, head.head)
        form = bounds.values[at][head.head].reading.form.T
        same = min(1.0, float(np.sqrt(((form @ held.constants[:-1, 0]) ** 2).sum())) / extent)
        share = same / 2 + (1 - same) + 0.5
        # The product of a weight, the division (two roundings) and the result are not halved: 4, as
        # in `lookup_roundings`, and as much again for powers.
        return SECOND * exp(2 * uneven) * share * self.kernel.roundings(self.keys) + 8
