"""Why a disguised Llama is right in float32: its RMSNorm and its rotary scores.

What carries errors from block to block is in `dense.bounds`, what SwiGLU units do in `dense_units`.
A rotation within a rotary pair changes no score, so queries and keys are measured pair by pair,
turned back. A pair that a head does not use has queries or keys that read 0, up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, inf

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.dense.bounds import ClipTerm, DenseBounds, NormError, PlainStream, Vector
from softhat.proof.dense.matrices import SLACK, Matrix, frobenius, reading, values
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.llama.dense_rows import HeldValues, RowGroups, read
from softhat.proof.llama.dense_units import clipped, hidden_units, idle_terms
from softhat.proof.llama.kinds import LlamaHead
from softhat.proof.llama.reading import LlamaDerivation
from softhat.proof.llama.rope import ERROR
from softhat.proof.llama.scores import RotaryScores
from softhat.proof.llama.squares import Squares, squares_off
from softhat.proof.llama.undisguise import PlainLlama, attention, hidden
from softhat.proof.stock.storage import LEAST_GAP, SECOND, STORAGES, U, need
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, MeanCell
from softhat.transformer.directions import Directions


class LlamaDenseBounds(DenseBounds[LlamaHead]):
    """The bounds of one disguised checkpoint for one attention kernel, in float32."""

    norm_name = "RMSNorm"

    def __init__(
        self,
        found: LlamaDerivation,
        plain: PlainLlama,
        c: LlamaCheckpoint,
        directions: Directions,
        fused: bool,
        margin: float | None,
    ) -> None:
        self.found, self.c, self.plain = found, c, plain
        stream = PlainStream(found.cells, found.after_attention, float(c.d_model))
        super().__init__(plain.basis, stream, fused, margin, c.d_model**0.5)
        u = self.u
        if frobenius(u.T @ u - np.eye(self.variables)) > SLACK:
            raise VoidError("the directions of the residual stream are not orthonormal")
        embedded = c.tensor("model.embed_tokens.weight").astype(np.float64)
        stood = plain.checkpoint.tensor("model.embed_tokens.weight").astype(np.float64)
        apart = embedded - stood @ u.T
        slack = SLACK * np.sqrt((embedded**2).sum(axis=1))
        self.embedded_off = float((np.sqrt((apart**2).sum(axis=1)) + slack).max())
        self.output_terms = c.n_head * c.head_dim
        self.scores = RotaryScores(STORAGES[0], fused, found.frequencies, c.context)
        self.between, self.stated = found.margin, found.stated
        self.kinds = {
            (head.block, head.head): head for block in found.blocks for head in block.heads
        }
        self.queries: list[list[RowGroups]] = []
        self.keys: list[list[RowGroups]] = []
        self.extents: list[list[float]] = []
        for at in range(c.blocks):
            self._read_heads(at)
        self.units = [
            hidden_units(
                self.u,
                hidden(c, at),
                hidden(plain.checkpoint, at),
                self.found.blocks[at].gates,
                units,
                f"block {at}",
            )
            for at, units in enumerate(directions.units)
        ]

    # What the weights are

    def _read_heads(self, at: int) -> None:
        c, size, half = self.c, self.c.head_dim, self.c.head_dim // 2
        actual, plain = attention(c, at), attention(self.plain.checkpoint, at)
        queries, keys, written = [], [], []
        held = HeldValues.of(self.stream.cells[at], self.size)
        self.extents.append([])
        for g, rows in enumerate(self.plain.shared_values[at]):
            # Heads that share values have all of them in every sum.
            form = plain[2][g * size : g * size + len(rows)]
            largest = held.largest(form[:, None])
            matrix = np.vstack([actual[2][g * size : (g + 1) * size].T, np.zeros(size)])
            bare = np.vstack([form.T, np.zeros(len(rows))])
            self.extents[at].append(self.extent(reading(self.u, matrix, bare, rows), largest))
        for h in range(c.n_head):
            g = h // (c.n_head // c.n_kv)
            own, shared = slice(h * size, (h + 1) * size), slice(g * size, (g + 1) * size)
            turn = self.plain.turns[at][g]

            def paired(matrix: Matrix) -> Matrix:
                return np.stack([matrix[:half], matrix[half:]], axis=1)

            queries.append(
                RowGroups.of(paired(turn @ actual[0][own]), paired(plain[0][own]), self.u)
            )
            keys.append(
                RowGroups.of(paired(turn @ actual[1][shared]), paired(plain[1][shared]), self.u)
            )
            place = [g * size + p for p in self.plain.places[at][h]]
            columns = [h * size + p for p in self.plain.places[at][h]]
            written.append(
                values(
                    self.u,
                    np.vstack([actual[2][shared].T, np.zeros(size)]),
                    actual[3][:, own].T,
                    np.vstack([plain[2][place].T, np.zeros(len(place))]),
                    plain[3][:, columns].T,
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
        """|w + n|² is within 2|w||n| + |n|² of |w|²."""
        relative = noise / self.norm_of_x
        need(relative < 2.0**-8, "RMSNorm: the noise is not small")
        apart = 2.1 * relative + 2 * SLACK + self.c.epsilon
        squares = self.squares.widened(apart)
        need(squares.most < 0.045, "RMSNorm: the norm is not constant enough")
        rounding = 0.51 * min(self.d + 4, 256) * U + 4 * U
        self.factor_off = 0.54 * apart + rounding
        low, high = squares.factors(rounding)
        scale = max(abs(low), abs(high))
        need(scale < 0.025, "RMSNorm's error is not small")
        self.record("RMSNorm, scale", scale)
        return NormError(scale, 1.03 * noise + 5 * U * self.reach, 0.0, (high - low) / 2)

    def _attended(self, at: int, before: Vector, off: Vector) -> None:
        """What heads write are bits, of size 1, and means."""
        old, new = self.stream.cells[at], self.stream.after_attention[at]
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
            own = 4.1 * self.factor_off + max(term.unscaled for term in terms) + float(before[p])
            need(own < 0.05, "gates: the error of a bit may be too large")
            by += 2.3 * own + 2.1 * float(before[p])
        self.squares = self.squares.clipped(len(clips) / self.d, by / self.d)

    def _value_sizes(self, head: LlamaHead | None, at: int, h: int) -> tuple[Vector, Vector]:
        held = HeldValues.of(self.stream.cells[at], self.size)
        form = self.values[at][h].reading.form.T
        varying = np.abs(form) @ held.varying
        sizes = np.abs(form @ held.constants) + varying[:, None]
        return sizes[:, 0], sizes[:, 1]

    def _value_extent(self, at: int, h: int, largest: Vector) -> float:
        return self.extents[at][h // (self.c.n_head // self.c.n_kv)]

    # Scores

    def _score_error(
        self,
        head: LlamaHead,
        off: Vector,
        norm: NormError,
        key: tuple[HeldValues, Vector] | None = None,
    ) -> float:
        """How far a score may be off, but for the factor of the query's position, which scales all
        of its scores. `key`: what keys that are not ruled out hold, and how far it is off; then
        also but for a factor that is common to all keys."""
        q, q_off, k, k_off = self._pairs(head.block, head.head, off, norm, key)
        query, keys = q + q_off, (1 + norm.scale) * k + k_off
        products = query * keys
        total = q_off * keys + q * k_off + products * self._turns(head)
        total = total + (self.c.head_dim + 6) * 1.05 * U * products
        root = self.c.head_dim**0.5
        if key is None:
            return 1.03 * (float(total.sum()) + norm.scale * float(q @ k)) / root
        saved = norm.noise * self._apart_noise(head, q)
        return 1.03 * ((float(total.sum()) - saved) / root + norm.spread * head.reach)

    def _apart_noise(self, head: LlamaHead, q: Vector) -> float:
        """How much more noise slow pairs seem to read one by one than they read together: they
        hardly turn, and what all of them read of a key is one row, of the constants' queries."""
        slow = [pair.pair for pair in head.pairs if pair.role == "content"]
        if not slow:
            return 0.0
        keys, queries = self.keys[head.block][head.head], self.queries[head.block][head.head]
        constants = HeldValues.of(self.stream.cells[head.block], self.size).constants[:, 0]
        combined = queries.form[slow, 0] @ constants @ keys.actual[slow, 0]
        whole = q[slow] * keys.whole[slow]
        turned = self.found.frequencies[slow] * self.c.context * (1 + ERROR)
        together = frobenius(combined) + float(whole @ (turned + SLACK))
        return max(0.0, float(whole.sum()) - together)

    def _pairs(
        self,
        at: int,
        h: int,
        off: Vector,
        norm: NormError,
        key: tuple[HeldValues, Vector] | None = None,
    ) -> tuple[Vector, Vector, Vector, Vector]:
        """Of each rotary pair: the size of the plain query, its error, and those of the key."""
        held = HeldValues.of(self.stream.cells[at], self.size)
        keys, keys_off = (held, off) if key is None else key
        query = read(self, self.queries[at][h], held, off, norm)
        return (*query, *read(self, self.keys[at][h], keys, keys_off, norm))

    def _largest_score(self, at: int, h: int, off: Vector, norm: NormError) -> float:
        q, q_off, k, k_off = self._pairs(at, h, off, norm)
        query, key = 1.03 * float((q + q_off).sum()), 1.03 * float((k + k_off).sum())
        return max(query, key, query * key)

    def _turns(self, head: LlamaHead) -> Vector:
        """The share of each pair's product by which turning may change it."""
        content = {pair.pair for pair in head.pairs if pair.role == "content"}
        shares = [self.scores.dense(p, p in content) for p in range(self.c.head_dim // 2)]
        used = {pair.pair for pair in head.pairs}
        # What is no part of the plain score is counted whole, however it turns.
        return np.array([share if p in used else 0.0 for p, share in enumerate(shares)])

    def _leak(self, head: LlamaHead, off: Vector, norm: NormError, n: int) -> tuple[float, float]:
        if head.kind == "Sign":
            return self._sign(head, off, norm, n), 2 * self.summation(n)
        if head.kind == "Digit":
            return self._digit(head, off, norm, n)
        need(head.kind != "Recall", "Recall heads: nothing is proved of a disguised one")
        free = self._score_error(head, off, norm, self._free(head, off))
        gap = head.gap * (1 - norm.scale) ** 2 - 2 * free
        need(
            gap >= LEAST_GAP / 2,
            f"{head.kind} heads: scores may be off by more than a step",
        )
        if head.kind in ("Previous", "Shift"):
            leak = (n + 1) * exp(-gap)
            return leak, self.kernel.lookup_roundings(n + 1, leak, U)
        # Keys without bad, and those with it.
        leak = exp(-gap) / (1 - exp(-gap))
        if head.clear < inf:
            off_all = free + self._score_error(head, off, norm)
            leak += (n + 1) * exp(min(700.0, off_all - head.clear * (1 - norm.scale)))
        return leak, self.kernel.lookup_roundings(n + 1, leak, U)

    def _digit(self, head: LlamaHead, off: Vector, norm: NormError, n: int) -> tuple[float, float]:
        """A Digit's leak and units of rounding. Where the word's own positions win, they have the
        same weight, up to errors of scores, and the same value, but for idle rows. n equal terms,
        added up in any order, pass through sums of n²/2 of them at most, not of n²."""
        assert head.scores is not None
        error = self._score_error(head, off, norm)
        least = float(np.abs(head.scores[1 : n + 1]).min())
        decision = least * (1 - 2 * norm.scale) - 2 * error
        need(decision >= LEAST_GAP / 2, "Digit heads: the sign of a sine may be wrong")
        held = HeldValues.of(self.stream.cells[head.block], self.size)
        own = HeldValues(held.constants[:, [0, 0]], held.varying)  # where all scores are 0
        uneven = self._score_error(head, off, norm, (own, off))
        need(uneven < 0.5, "Digit heads: scores may be off too far")
        extent = self._value_extent(head.block, head.head, np.zeros(0))
        form = self.values[head.block][head.head].reading.form.T
        same = min(1.0, float(np.sqrt(((form @ held.constants[:, 0]) ** 2).sum())) / extent)
        share = same / 2 + (1 - same) + 0.5
        units = SECOND * exp(2 * uneven) * share * self.summation(n) + 8
        leak = (n + 1) * exp(-decision)
        return leak, max(units, self.kernel.lookup_roundings(n + 1, leak, U))  # <bos> wins

    def _free(self, head: LlamaHead, off: Vector) -> tuple[HeldValues, Vector]:
        """What keys hold that a Latest head does not rule out, and their errors: the bit by which
        it rules out has one of its two values there; and a gate's bit is exact where it keeps the
        one with which it starts."""
        cells = list(self.stream.cells[head.block])
        constants = HeldValues.of(cells, self.size).constants[:, 0]
        queries, keys = self.queries[head.block][head.head], self.keys[head.block][head.head]
        weights = np.zeros(self.variables)
        for pair in head.pairs if head.kind == "Latest" else ():
            if pair.role == "content":
                query = float(queries.form[pair.pair, 0] @ constants)
                weights += query * keys.form[pair.pair, 0] / self.c.head_dim**0.5
        exact = off.copy()
        # What rules out is worth more than a ruled-out key lies below all others.
        for p in np.flatnonzero(2.01 * np.abs(weights) >= head.clear).tolist():
            start = self.stream.cells[0][p]
            if isinstance(cells[p], BitCell):
                free = -1.0 if weights[p] < 0 else 1.0
                cells[p] = ConstantCell(free, -1.0)
                if isinstance(start, ConstantCell) and start.ordinary == free and self._gated(p):
                    exact[p] = 0.0
        return HeldValues.of(cells, self.size), exact

    def _gated(self, p: int) -> bool:
        """A variable is a constant until a gate writes it (a head's output is never exact)."""
        stages = zip(self.stream.after_attention, self.stream.cells[1:], strict=True)
        return any(isinstance(a[p], ConstantCell) and isinstance(b[p], BitCell) for a, b in stages)

    def _uneven(self, head: LlamaHead, off: Vector, norm: NormError) -> float:
        return self._score_error(head, off, norm)

    def _sign(self, head: LlamaHead, off: Vector, norm: NormError, n: int) -> float:
        """The leak of a Sign head whose mean keeps its sign and a twentieth of its size: errors are
        relative to the query, which may be large, or not, and those count against the least
        |score|. The query's error moves scores only by how far keys are apart."""
        held = HeldValues.of(self.stream.cells[head.block], self.size)
        q, q_off, k, k_off = self._pairs(head.block, head.head, off, norm)
        (pair,) = head.pairs
        p, scale, root = pair.pair, norm.scale, self.c.head_dim**0.5
        turn, dot = float(self._turns(head)[p]), (self.c.head_dim + 6) * 1.05 * U
        form = self.keys[head.block][head.head].form[p, 0]
        key = abs(float(form @ held.constants[:, 0]))
        need(key > 0, "Sign heads: there are no scores")
        most = (1 + scale) * float(k[p]) + float(k_off[p])
        apart = most + float(k_off[p])
        own = float(q_off[p]) * (apart + 2 * (turn + dot) * most)
        others = (q + q_off) * ((1 + scale) * k + k_off) * (1 + dot) * SECOND
        fixed = own + 2 * float(np.delete(others, p).sum())
        relative = 2.1 * scale + 1.03 * (2 * float(k_off[p]) + 2 * (turn + dot) * most) / key
        least = head.decision * self.c.context / (n + 1)
        if head.scores is not None:
            least = float(head.scores[1 : n + 1].min())
        worst = 1.03 * fixed / root / least
        self.record("mean of a count, of the least", worst)
        need(relative <= 0.05, "Sign heads: scores may be off too far")
        need(worst + relative <= 0.95, "counts: for longer words a mean's error may reach its size")
        return (n + 1) * exp(min(700.0, 2 - least / 20))

    # Hidden units and the read-out

    def _clips(self, at: int, off: Vector, norm: NormError) -> dict[int, list[ClipTerm]]:
        found: dict[int, list[ClipTerm]] = {}
        held = HeldValues.of(self.stream.after_attention[at], self.size)
        for clip in self.units[at].clips:
            found.setdefault(clip.gate.target, []).append(clipped(self, clip, held, off, norm))
        return found

    def _idle_units(self, at: int, norm: NormError) -> list[ClipTerm]:
        return idle_terms(self, self.units[at])

    def _logits(self) -> tuple[Matrix, Matrix, float]:
        name = "lm_head.weight" if self.c.head == "lm" else "score.weight"
        plain = self.plain.checkpoint.tensor(name).astype(np.float64)
        return self.c.tensor(name).astype(np.float64), plain, self.plain.scale
