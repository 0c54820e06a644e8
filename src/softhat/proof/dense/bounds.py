"""The errors of reading, scoring and writing in a basis in which every coordinate holds a little of
everything, in float32.

The residual stream is x = Σ (v_p + β_p)·û_p + n: what the plain checkpoint holds, errors β along
its directions (of stored bits, raw outputs, means), and noise n, whose norm alone is known.
The norm multiplies by 1 + ρ, adds noise of its own and (LayerNorm) a shift of all coordinates. A
dot product of K terms in float32, added up in any order, passes through sums of some of its terms;
none of these exceeds half of Σ|terms| + |total|, so it is off by at most 2^-24 times K of these and
Σ|terms| once more. Clips bring bits back to ±1 up to the rounding of their own two sums, so errors
do not grow with depth.

What an architecture is, is data: its norm takes a mean off or not, its hidden units have second
factors or not, its activation is relu up to a tail. Only scores are its own, `DenseScores`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from math import expm1
from typing import ClassVar

import numpy as np

from softhat.io.errors import VoidError
from softhat.numerics.kernels import EAGER, EVEN, NEAR, SDPA
from softhat.proof.dense.matrices import (
    SLACK,
    MatrixReading,
    MatrixValues,
    frobenius,
    head_values,
    lifted,
    reading,
    row_norms,
    widened,
)
from softhat.proof.dense.plain import Undisguised
from softhat.proof.dense.rows import HeldValues, NormedStream, NormError, Vector, rounding
from softhat.proof.dense.squares import Squares, squares_off
from softhat.proof.dense.units import ClipTerm, HiddenUnits, clipped, hidden_units, idle_terms
from softhat.proof.stock.checkpoint import Array
from softhat.proof.stock.derivation import StockDerivation
from softhat.proof.stock.kind import DIFFER, StockHead, StockScores
from softhat.proof.stock.logits import check_logits
from softhat.proof.stock.storage import HUGE, ROOT, SCALED, SECOND, U, need
from softhat.proof.stock.variables import Cell, MeanCell, magnitude
from softhat.transformer.directions import Directions

SILENT = NormError(0.0, 0.0, 0.0, 0.0)


class DenseScores(ABC):
    """What the queries and keys of a disguised checkpoint make of its streams. Positions that turn
    and positions that are learned leave different parts of them alone."""

    scale: ClassVar[float]
    """By how much a norm's factor may be off, for what is said of scores."""

    @abstractmethod
    def scores(self, head: StockHead, off: Vector, norm: NormError, n: int) -> StockScores:
        """The scores of a head on words of up to n symbols."""

    @abstractmethod
    def largest(self, at: int, h: int, off: Vector, norm: NormError) -> float:
        """No query or key, nor a product of them, is larger. Of all heads: infinite scores are no
        numbers after the softmax."""

    @abstractmethod
    def uneven(self, head: StockHead, off: Vector, norm: NormError) -> float:
        """How far the scores of an Average may be off 0."""


class DenseBounds:
    """The bounds of one disguised checkpoint for one attention kernel, in float32: `stands_for` is
    the plain checkpoint and its bases, `derivation` what was derived of it."""

    def __init__(
        self,
        stands_for: Undisguised,
        derivation: StockDerivation,
        directions: Directions,
        fused: bool,
        margin: float | None,
        scores: Callable[[DenseBounds], DenseScores],
    ) -> None:
        self.derivation, self.fused, self.margin = derivation, fused, margin
        self.stands_for, self.plain = stands_for, stands_for.checkpoint
        self.c = self.plain.disguised
        self.u, self.architecture = stands_for.basis, self.c.architecture
        self.kernel = SDPA if fused else EAGER
        self.bounds: dict[str, float] = {}
        self.d, self.variables = self.u.shape
        self._measure_basis()
        self.size = np.zeros(self.variables)
        """No variable is ever larger."""
        for cells in (*derivation.cells, *derivation.after_attention):
            for p, cell in enumerate(cells):
                self.size[p] = max(self.size[p], magnitude(cell))
        self.plain_norm = self.c.norm(derivation.cells[0])
        self.norm_of_x = self.plain_norm.square**0.5
        self.stored = 1.05 * U * self.norm_of_x
        """Rounding of what is added to the residual stream, whose mean square is off by less than
        0.045 (norms refuse more), its norm by less than 0.023 of it, before and after."""
        self.gain = self.plain_norm.gain * self.d**0.5
        """Norm of what a norm returns."""
        self.reach = self.gain * (1 + 2.0**-8)
        self.squares = Squares(0.0, 0.0)
        """The mean square of a stream whose bits gates write with second factors."""
        self.factor_off = 0.0
        """How far the last norm's factor is off what the mean square makes of it."""
        self.actual = [self.c.over_coordinates(at) for at in range(self.architecture.blocks)]
        self.gated = self.actual[0].up is not None
        self.values = [self._values(at) for at in range(len(self.actual))]
        self.kinds = {(head.block, head.head): head for head in derivation.heads()}
        self.scores = scores(self)
        self.units = [self._units(at, directions) for at in range(len(self.actual))]

    # What the weights are

    def _measure_basis(self) -> None:
        """How far the directions are from orthonormal, and what is embedded from what they say."""
        self.wide = widened(self.u)
        self.skew = frobenius(self.u.T @ self.u - np.eye(self.variables)) + SLACK
        if self.skew > 2.0**-10:
            raise VoidError("the directions of the residual stream are not orthonormal")
        self.ones = np.abs(self.u.sum(axis=0)) / self.d**0.5 + SLACK
        tables, plain = self.c.tables(), self.plain.table
        pairs = (tables.tokens, plain.tokens), (tables.positions, plain.positions)
        self.embedded_off = sum(self._off(*pair) for pair in pairs)
        """Norm of what an embedded token (padding too) and position are off."""

    def _off(self, table: Array, plain: Array) -> float:
        embedded = table.astype(np.float64)
        off = embedded - plain.astype(np.float64) @ self.u.T
        return float((row_norms(off) + SLACK * row_norms(embedded)).max())

    def _values(self, at: int) -> list[MatrixValues]:
        actual, plain, a = self.actual[at], self.plain.blocks[at], self.architecture
        heads = []
        for h, rows in enumerate(self.stands_for.values[at]):
            own, shared = a.rows_of(h)
            places = np.array(self.stands_for.places[at][h], int)
            heads.append(
                head_values(
                    self.u,
                    lifted(actual.value[shared]).T,
                    actual.output[:, own].T.astype(np.float64),
                    lifted(plain.value[shared.start + places]).T,
                    plain.output[:, own.start + places].T.astype(np.float64),
                    rows,
                )
            )
        return heads

    def _units(self, at: int, directions: Directions) -> HiddenUnits:
        gates, near = self.derivation.blocks[at].gates, self.architecture.activation.near
        assert near is not None
        matrices = self.actual[at], self.plain.blocks[at]
        return hidden_units(self.wide, *matrices, gates, directions.units[at], near, f"block {at}")

    @property
    def blocks(self) -> int:
        return len(self.values)

    def check(self, n: int) -> None:
        """Every answer on words of up to n symbols is right."""
        names = ("noise", "stored bit", f"{self.plain_norm.name}, scale", "head output")
        self.bounds.clear()
        self.bounds |= dict.fromkeys((*names, "sum that a gate clips"), 0.0)
        off = np.zeros(self.variables)
        noise = self.embedded_off + U * self.norm_of_x * SECOND
        self.squares = Squares(0.0, 0.0)
        for at in range(self.blocks):
            noise = self._attend(at, off, noise, n)
            noise = self._feed_forward(at, off, noise)
        self._read_out(off, noise)
        self.bounds["noise"] = noise

    def record(self, name: str, value: float) -> None:
        self.bounds[name] = max(self.bounds.get(name, 0.0), value)

    # Norms

    def _norm(self, off: Vector, noise: float, cells: list[Cell]) -> NormError:
        """The norm of a residual stream that holds `cells`. |w + n|² is within 2|w||n| + |n|² of
        |w|². In units of the plain norm |w| is at most √1.045 < 1.023 and |n| below 2^-8: that is
        less than 2.1·|n|; and directions that are not quite orthonormal change |w|² by a share of
        it. Where a mean is taken off, what directions have of it is noise, and its own rounding
        shifts all coordinates. A coordinate is rounded five times at most: without the mean, times
        the factor, times the weight, with the bias, and as it is stored."""
        norm = self.plain_norm
        if norm.centres:
            noise = noise + float(self.ones @ (self.size + off))
        relative = noise / self.norm_of_x
        need(relative < 2.0**-8, f"{norm.name}: the noise is not small")
        apart = 2.1 * relative + 1.05 * self.skew + self.c.epsilon * self.d / norm.square
        squares = self._squares(off, cells).widened(apart)
        need(squares.most < 0.045, f"{norm.name}: the norm is not constant enough")
        # The reciprocal root is two units in the last place off, four roundings.
        rounded = SCALED * (ROOT * norm.statistics + 4 * U)
        # The slope of (1 + E)^(-1/2) is at most 0.955^(-3/2)/2 < 0.54 from E = -0.045 on.
        self.factor_off = 0.54 * apart + rounded
        low, high = squares.factors(rounded)
        weight = abs(self.gain / self.norm_of_x - 1)
        scale = (1 + max(abs(low), abs(high))) * (1 + weight) - 1
        need(scale < self.scores.scale, f"{norm.name}'s error is not small")
        self.record(f"{norm.name}, scale", scale)
        return NormError(
            scale=scale,
            noise=SCALED * noise + 5 * U * self.reach,
            shift=SCALED * norm.statistics * self.norm_of_x if norm.centres else 0.0,
            spread=(high - low) / 2 * (1 + weight),
        )

    def _squares(self, off: Vector, cells: list[Cell]) -> Squares:
        """The mean square without noise, less 1."""
        if self.gated:
            return self.squares
        means = sum(magnitude(cell) ** 2 for cell in cells if isinstance(cell, MeanCell))
        changed = float((2 * self.size * off + off**2).sum())
        square = self.plain_norm.square
        return Squares(0.0, 0.0).attended(changed / square, means / square)

    def _attended(self, at: int, before: Vector, off: Vector) -> None:
        """What heads write are bits, of size 1, and means."""
        old, new = self.derivation.cells[at], self.derivation.after_attention[at]
        changed = [a != b for a, b in zip(old, new, strict=True)]
        written = np.array(changed) | (off != before)
        means = np.array([isinstance(cell, MeanCell) for cell in new])
        squares = float(((self.size + off)[written & means] ** 2).sum())
        by = squares_off(written & ~means, before, off)
        self.squares = self.squares.attended(by / self.d, squares / self.d)

    def _clipped(self, before: Vector, clips: Mapping[int, list[ClipTerm]]) -> None:
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

    # What is read

    def held(self, cells: list[Cell]) -> HeldValues:
        return HeldValues.of(cells, self.size)

    def stream(self, cells: list[Cell], off: Vector, norm: NormError) -> NormedStream:
        """What a norm returns of variables that hold `cells`."""
        return NormedStream(self.d, self.reach, self.held(cells), off, norm)

    def rounding(self, terms: int, magnitudes: float, total: float) -> float:
        """Of a dot product: see the module's docstring."""
        return float(rounding(terms, np.array(magnitudes), np.array(total)))

    def along(self, form: Vector, off: Vector, norm: NormError, size: Vector) -> Vector:
        """Errors of Σ form·v that come along the directions, for each column."""
        errors: Vector = ((1 + norm.scale) * off + norm.scale * size) @ np.abs(form)
        return errors

    def spread(self, reading: MatrixReading, largest: float, norm: NormError) -> float:
        """Norm of what a reading is off by rounding and noise."""
        magnitudes = reading.whole * self.reach + reading.offset
        rounding = self.rounding(self.d, magnitudes, largest)
        return rounding + reading.stretch * norm.noise + reading.ones * norm.shift

    def extent(self, reading: MatrixReading, rows: Vector) -> float:
        """Norm of a whole query, key or value."""
        own = 1.07 * float(np.sqrt((rows**2).sum()))  # off by at most 2^-4 of them: 1 + 1/16 < 1.07
        return own + reading.idle * self.reach * SECOND + reading.idle_bias

    def wide_size(self, off: Vector, norm: NormError) -> Vector:
        """No variable, as read, is larger; and 1."""
        return np.append((1 + norm.scale) * (self.size + off), 1.0)

    # Attention

    def _attend(self, at: int, off: Vector, noise: float, n: int) -> float:
        """Values are read with noise, rounded, added up over keys and written: along the
        direction of each value, but for what idle dimensions pass on."""
        norm = self._norm(off, noise, self.derivation.cells[at])
        before = off.copy()
        v_hat = self.wide_size(before, norm)
        magnitudes = total = 0.0
        for h, values in enumerate(self.values[at]):
            head = self.kinds.get((at, h))
            sizes = self._value_sizes(at, h)
            largest = np.maximum(*sizes)
            extent = self.value_extent(at, h)
            need(extent < HUGE, "heads: values overflow")
            read_off = self.along(values.reading.form, before, norm, self.size)
            read_off += values.rows * norm.noise + values.rows_ones * norm.shift
            need(
                (read_off**2).sum() <= (largest**2).sum() / 256,
                "heads: the error of a value may be too large",
            )
            need(self.scores.largest(at, h, before, norm) < HUGE, "heads: scores overflow")
            added, along = self._looked_up(head, values, sizes, before, norm, n)
            rounding = self.spread(values.reading, extent, SILENT) + added * U * extent
            along += values.rows * norm.noise + values.rows_ones * norm.shift + SECOND * rounding
            off += along @ np.abs(values.written)
            noise += float(values.off @ v_hat)
            noise += values.through * (norm.noise + norm.shift) + values.writing * rounding
            magnitudes += extent * values.whole
            total += float(largest @ np.sqrt((values.written**2).sum(axis=1)))
            if head is not None and not head.uniform:
                output = float(along.max(initial=0.0))
                need(output < 2.0**-4, "heads: the error of an output may be too large")
                self.record("head output", output)
        if self.gated:
            self._attended(at, before, off)
        terms = self.architecture.n_head * self.architecture.head_size
        return noise + self.rounding(terms, magnitudes, total) + self.stored

    def _looked_up(
        self,
        head: StockHead | None,
        values: MatrixValues,
        sizes: tuple[Vector, Vector],
        off: Vector,
        norm: NormError,
        n: int,
    ) -> tuple[float, Vector]:
        """How many units of rounding a sum over keys has, and errors of outputs along their
        directions."""
        form = values.reading.form
        along = self.along(form, off, norm, self.size)
        if head is None:
            return 2 * self.kernel.roundings(n + 1), along
        if head.uniform:
            # Of values at the word's own positions and at `<bos>`, which has a share of 1/(n+1),
            # and of the weights, which are not quite equal.
            uneven = self.scores.uneven(head, off, norm)
            need(uneven < EVEN, "Average heads: scores may be off too far")
            uneven = SECOND * expm1(2 * uneven) + 2 * NEAR * U
            read = np.vstack([form, np.zeros(form.shape[1])]).T  # the factor scales no constants
            held = self.held(self.derivation.cells[head.block]).at_ends(read)
            own = (1 + norm.scale) * off @ np.abs(form) + norm.scale * held[:, 0]
            start = norm.scale * held[:, 1]
            whole = sizes[0] + sizes[1] / (n + 1)
            along = (1 + uneven) * (own + start / (n + 1)) + uneven * whole
            return self.kernel.roundings(n + 1), along
        scores = self.scores.scores(head, off, norm, n)
        fact = head.fact(scores)
        return head.roundings(scores, fact), along + DIFFER * fact.no * np.maximum(*sizes)

    def _value_sizes(self, at: int, h: int) -> tuple[Vector, Vector]:
        """The largest value of each row at the word's own positions, and at `<bos>`: of what a mean
        is taken of, as large as the mean's theorem says, for not all bits are true together."""
        head = self.values[at][h]
        form = np.vstack([head.reading.form, head.reading.bias]).T
        sizes = self.held(self.derivation.cells[at]).at_ends(form)
        for r, p in np.argwhere(head.written).tolist():
            mean = self.derivation.after_attention[at][p]
            if isinstance(mean, MeanCell):
                sizes[r] = np.minimum(sizes[r], (mean.size, abs(float(mean.bos))))
        return sizes[:, 0], sizes[:, 1]

    def value_extent(self, at: int, h: int) -> float:
        """Norm of a whole value. Heads that share values have all of them in every sum."""
        a, plain = self.architecture, self.plain.blocks[at]
        if a.n_kv == a.n_head:
            largest = np.maximum(*self._value_sizes(at, h))
            return self.extent(self.values[at][h].reading, largest)
        _, shared = a.rows_of(h)
        rows = self.stands_for.shared_values[at][h // (a.n_head // a.n_kv)]
        form = lifted(plain.value[shared][: len(rows)])
        matrix = lifted(self.actual[at].value[shared])
        largest = self.held(self.derivation.cells[at]).largest(form[:, None])
        return self.extent(reading(self.u, matrix.T, form.T, rows), largest)

    def compared(self, head: StockHead, worst: float, relative: float, share: float) -> float:
        """What is left of the least |score| of a head that reads a mean's sign, as a share of it:
        `worst` is what it may lose, `relative` what every score may."""
        self.record("mean of a count, of the least", worst)
        need(relative <= 0.05, f"{head.kind} heads: scores may be off too far")
        far = "counts: for longer words a mean's error may reach its size"
        need(worst + relative <= 1 - share, far)
        return share

    # Feed-forward layers and the read-out

    def _feed_forward(self, at: int, off: Vector, noise: float) -> float:
        norm = self._norm(off, noise, self.derivation.after_attention[at])
        magnitudes, units = 0.0, 1
        before = off.copy()
        clips = self._clips(at, before, norm)
        for p, terms in clips.items():  # at most one of its terms holds
            off[p] += max(term.bit for term in terms)
            noise += max(term.noise for term in terms)
            magnitudes += max(term.magnitudes for term in terms)
            units += max(term.units for term in terms)
            self.record("stored bit", float(off[p]))
        stream = self.stream(self.derivation.after_attention[at], before, norm)
        for term in idle_terms(self.units[at], stream):
            noise += term.noise
            magnitudes += term.magnitudes
            units += term.units
        need(magnitudes < HUGE, "hidden units overflow")
        if self.gated:
            self._clipped(before, clips)
        # A gate moves its bit from one of ±1 to the other, up to that bit's error.
        total = sum(2 + max(term.bit for term in terms) for terms in clips.values())
        return noise + self.rounding(units, magnitudes, total) + self.stored

    def _clips(self, at: int, off: Vector, norm: NormError) -> dict[int, list[ClipTerm]]:
        """What the terms of each variable that a block's gates write add to it."""
        units, clips = self.units[at], dict[int, list[ClipTerm]]()
        stream = self.stream(self.derivation.after_attention[at], off, norm)
        for clip in units.clips:
            term = clipped(clip, units.activation, stream)
            self.record("sum that a gate clips", term.worst)
            clips.setdefault(clip.gate.target, []).append(term)
        return clips

    def _read_out(self, off: Vector, noise: float) -> None:
        """The logits keep their sign, and an lm head its margin."""
        norm = self._norm(off, noise, self.derivation.cells[-1])
        rows, scale = self.c.tensor(self.c.readout).astype(np.float64), self.plain.scale
        plain = self.plain.rows.weights.astype(np.float64)
        v_hat = (1 + norm.scale) * (self.size + off)
        mismatch = np.abs(rows @ self.u - scale * plain)
        norms = np.sqrt((rows**2).sum(axis=1))
        errors = scale * self.along(plain.T, off, norm, self.size) + mismatch @ v_hat
        errors += norms * (norm.noise + SLACK) + np.abs(rows.sum(axis=1)) / self.d**0.5 * norm.shift
        errors += np.array([self.rounding(self.d, w * self.reach, w * self.reach) for w in norms])
        # A head with log-weights is read in its own unit.
        self.bounds |= check_logits(self.derivation.logits, errors.tolist(), self.margin, scale)
