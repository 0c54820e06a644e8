"""The errors of reading, scoring and writing in a basis in which every coordinate holds a little of
everything, in float32.

The residual stream is x = Σ (v_p + β_p)·û_p + n: what the plain checkpoint holds, errors β along
its directions (of stored bits, raw outputs, means), and noise n, whose norm alone is known.
The norm multiplies by 1 + ρ, adds noise of its own and (LayerNorm) a shift of all coordinates. A
dot product of K terms in float32, added up in any order, passes through sums of some of its terms;
none of these exceeds half of Σ|terms| + |total|, so it is off by at most 2^-24 times K of these and
Σ|terms| once more. Clips bring bits back to ±1 up to the rounding of their own two sums, so errors
do not grow with depth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import expm1

import numpy as np
from numpy.typing import NDArray

from softhat.numerics.kernels import EAGER, EVEN, NEAR, SDPA
from softhat.proof.dense.matrices import SLACK, Matrix, MatrixReading, MatrixValues
from softhat.proof.stock.derivation import Derivation
from softhat.proof.stock.kind import DIFFER, StockHead, StockScores
from softhat.proof.stock.logits import check_logits
from softhat.proof.stock.norms import Norm
from softhat.proof.stock.storage import HUGE, SECOND, U, need
from softhat.proof.stock.variables import Cell, ConstantCell, magnitude

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class NormError:
    """What a norm does: a relative error of the scale, noise, and a shift of everything. `spread`:
    the scales of any two positions differ by at most twice this."""

    scale: float
    noise: float
    shift: float
    spread: float


SILENT = NormError(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ClipTerm:
    """What a clip that holds writes: the error of its bit, noise, Σ|hidden·outgoing|, how many
    units do not write 0, and what of the bit's error is not the norm's scale."""

    bit: float
    noise: float
    magnitudes: float
    units: int
    unscaled: float = 0.0


class DenseBounds(ABC):
    """The bounds of one disguised checkpoint for one attention kernel: `plain` is what was derived
    of the plain checkpoint that it stands for, `norm` what its norms do."""

    def __init__(
        self,
        u: Matrix,
        plain: Derivation,
        norm: Norm,
        fused: bool,
        margin: float | None,
        gain: float,
    ) -> None:
        self.u, self.derivation, self.fused, self.margin = u, plain, fused, margin
        self.kernel = SDPA if fused else EAGER
        self.bounds: dict[str, float] = {}
        self.d, self.variables = u.shape
        count = self.variables
        self.size, self.own, self.bos = np.zeros(count), np.zeros(count), np.zeros(count)
        for cells in (*plain.cells, *plain.after_attention):
            for p, cell in enumerate(cells):
                self.size[p] = max(self.size[p], magnitude(cell))
        for p, cell in enumerate(plain.cells[0]):
            self.own[p] = self.bos[p] = self.size[p]
            if isinstance(cell, ConstantCell) and cell == plain.cells[-1][p]:
                self.own[p], self.bos[p] = abs(cell.ordinary), abs(cell.bos)
        self.plain_norm = norm
        self.norm_of_x = norm.square**0.5
        self.stored = 1.05 * U * self.norm_of_x
        """Rounding of what is added to the residual stream, whose mean square is off by less than
        0.045 (norms refuse more), its norm by less than 0.023 of it, before and after."""
        self.gain = gain
        """Norm of what a norm returns."""
        self.reach = gain * (1 + 2.0**-8)
        self.embedded_off = 0.0
        """Norm of what embeddings are off."""
        self.output_terms = self.d
        """How many numbers a row of the output matrix adds up."""
        self.values: list[list[MatrixValues]] = []
        self.kinds = {(head.block, head.head): head for head in plain.heads()}

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
        self._embedded()
        for at in range(self.blocks):
            noise = self._attend(at, off, noise, n)
            noise = self._feed_forward(at, off, noise)
        self._read_out(off, noise)
        self.bounds["noise"] = noise

    def record(self, name: str, value: float) -> None:
        self.bounds[name] = max(self.bounds.get(name, 0.0), value)

    # What an architecture does

    @abstractmethod
    def _embedded(self) -> None:
        """The residual stream is what it starts with."""

    @abstractmethod
    def _attended(self, at: int, before: Vector, off: Vector) -> None:
        """A block's heads have written: what was off by `before` is off by `off`."""

    @abstractmethod
    def _clipped(
        self, before: Vector, norm: NormError, clips: Mapping[int, list[ClipTerm]]
    ) -> None:
        """A block's gates have written."""

    @abstractmethod
    def _norm(self, off: Vector, noise: float, cells: list[Cell]) -> NormError:
        """The norm of a residual stream that holds `cells`."""

    @abstractmethod
    def _scores(self, head: StockHead, off: Vector, norm: NormError, n: int) -> StockScores:
        """The scores of a head on words of up to n symbols."""

    @abstractmethod
    def _largest_score(self, at: int, h: int, off: Vector, norm: NormError) -> float:
        """No query or key, nor a product of them, is larger. Of all heads: infinite scores are no
        numbers after the softmax."""

    @abstractmethod
    def _uneven(self, head: StockHead, off: Vector, norm: NormError) -> float:
        """How far the scores of an Average may be off 0."""

    @abstractmethod
    def _value_sizes(self, head: StockHead | None, at: int, h: int) -> tuple[Vector, Vector]:
        """The largest value of each row at the word's own positions, and at `<bos>`."""

    def value_extent(self, at: int, h: int, largest: Vector) -> float:
        """Norm of a whole value of a head, whose own rows are at most `largest`."""
        return self.extent(self.values[at][h].reading, largest)

    @abstractmethod
    def _clips(self, at: int, off: Vector, norm: NormError) -> dict[int, list[ClipTerm]]:
        """What the terms of each variable that a block's gates write add to it."""

    @abstractmethod
    def _idle_units(self, at: int, norm: NormError) -> list[ClipTerm]:
        """What units write that cancel, or that do not hold."""

    @abstractmethod
    def _logits(self) -> tuple[Matrix, Matrix, float]:
        """The read-out's rows, the plain rows over variables, and their unit."""

    # Dot products

    def rounding(self, terms: int, magnitudes: float, total: float) -> float:
        """Of a dot product: see the module's docstring."""
        return SECOND * U * (terms / 2 * (magnitudes + min(total, magnitudes)) + magnitudes)

    def roundings(self, magnitudes: Vector, totals: Vector) -> Vector:
        """Of dot products with the residual stream."""
        each = magnitudes + np.minimum(totals, magnitudes)
        rounding: Vector = SECOND * U * (self.d / 2 * each + magnitudes)
        return rounding

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

    def summation(self, n: int) -> float:
        """The error of a sum over the keys of n symbols and `<bos>`, in units of Σ |terms|."""
        return self.kernel.roundings(n + 1)

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
            sizes = self._value_sizes(head, at, h)
            largest = np.maximum(*sizes)
            extent = self.value_extent(at, h, largest)
            need(extent < HUGE, "heads: values overflow")
            read_off = self.along(values.reading.form, before, norm, self.size)
            read_off += values.rows * norm.noise + values.rows_ones * norm.shift
            need(
                (read_off**2).sum() <= (largest**2).sum() / 256,
                "heads: the error of a value may be too large",
            )
            need(self._largest_score(at, h, before, norm) < HUGE, "heads: scores overflow")
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
        self._attended(at, before, off)
        rounding = self.rounding(self.output_terms, magnitudes, total)
        return noise + rounding + self.stored

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
            return 2 * self.summation(n), along
        if head.uniform:
            # Of values at the word's own positions and at `<bos>`, which has a share of 1/(n+1),
            # and of the weights, which are not quite equal.
            uneven = self._uneven(head, off, norm)
            need(uneven < EVEN, "Average heads: scores may be off too far")
            uneven = SECOND * expm1(2 * uneven) + 2 * NEAR * U
            own = self.along(form, off, norm, self.own)
            start = self.along(form, np.zeros_like(off), norm, self.bos)
            whole = sizes[0] + sizes[1] / (n + 1)
            return self.summation(n), (1 + uneven) * (own + start / (n + 1)) + uneven * whole
        scores = self._scores(head, off, norm, n)
        fact = head.fact(scores)
        return head.roundings(scores, fact), along + DIFFER * fact.no * np.maximum(*sizes)

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
        for term in self._idle_units(at, norm):
            noise += term.noise
            magnitudes += term.magnitudes
            units += term.units
        need(magnitudes < HUGE, "hidden units overflow")
        self._clipped(before, norm, clips)
        # A gate moves its bit from one of ±1 to the other, up to that bit's error.
        total = sum(2 + max(term.bit for term in terms) for terms in clips.values())
        return noise + self.rounding(units, magnitudes, total) + self.stored

    def _read_out(self, off: Vector, noise: float) -> None:
        """The logits keep their sign, and an lm head its margin."""
        norm = self._norm(off, noise, self.derivation.cells[-1])
        rows, plain, scale = self._logits()
        v_hat = (1 + norm.scale) * (self.size + off)
        mismatch = np.abs(rows @ self.u - scale * plain)
        norms = np.sqrt((rows**2).sum(axis=1))
        errors = scale * self.along(plain.T, off, norm, self.size) + mismatch @ v_hat
        errors += norms * (norm.noise + SLACK) + np.abs(rows.sum(axis=1)) / self.d**0.5 * norm.shift
        errors += np.array([self.rounding(self.d, w * self.reach, w * self.reach) for w in norms])
        # A head with log-weights is read in its own unit.
        self.bounds |= check_logits(self.derivation.logits, errors.tolist(), self.margin, scale)
