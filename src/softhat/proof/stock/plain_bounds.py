"""Why a plain checkpoint is right in floating point: what all architectures argue alike.

An architecture bounds what its norms, heads and hidden units are off. That clips then hold on their
sides, that means of counts keep their signs and that logits say what they must is argued here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import floor, log2
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from softhat.numerics.formats import Format
from softhat.numerics.kernels import EAGER, SDPA
from softhat.proof.stock.checkpoint import StockCheckpoint
from softhat.proof.stock.counts import MeanCount
from softhat.proof.stock.derivation import Derivation
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.kind import KEPT
from softhat.proof.stock.logits import ReadVariables, check_logits, logit_errors
from softhat.proof.stock.storage import SMALL, U, need

Vector = NDArray[np.float64]
C = TypeVar("C", bound=StockCheckpoint)
M = TypeVar("M")


class PlainBounds(ABC, Generic[C, M]):
    """The bounds of one checkpoint for one storage format and attention kernel."""

    def __init__(
        self, derivation: Derivation[C, M], fused: bool, storage: Format, margin: float | None
    ) -> None:
        self.derivation, self.c = derivation, derivation.checkpoint
        self.fused, self.storage, self.margin = fused, storage, margin
        self.kernel = SDPA if fused else EAGER
        self.bounds: dict[str, float] = {}
        self.kept_share = KEPT[0]
        """The share of their size that means of counts must keep."""

    @abstractmethod
    def check(self) -> None:
        """Everything but what gets worse with the length."""

    def check_length(self, n: int) -> None:
        """The mean of a count over i+1 <= n+1 positions keeps its sign, and the share of its size
        that Sign heads need, a tenth at least: the error is below the rest of the least |mean|,
        least/(i+1), here in units of that."""
        worst = max(self.mean_errors(n + 1), default=0.0)
        self.bounds["mean of a count, of the least"] = worst
        room = 1 - self.kept_share
        need(worst <= room, "counts: for longer words a mean's error may reach its size")

    @abstractmethod
    def mean_errors(self, positions: int) -> Iterator[float]:
        """The errors of all means whose signs are read, in units of the least |mean|."""

    def mean_error(
        self, count: MeanCount, positions: int, value: float, exact: bool, drowned: float
    ) -> float:
        """What a mean over so many positions is off by before it is read, in units of the least
        |mean|, if its values are off by `value`, and by `drowned` what is lost beside it. Sums of
        values that are held exactly are exact up to float32's integers, where no weights are stored
        before; then two sums are divided, and the quotient is scaled."""
        # No value is larger as it is read, nor the share of that of `<bos>`.
        sizes = count.size + value + abs(count.bos) / positions + value
        added = self.kernel.roundings(positions) * U * sizes
        if exact:
            whole = positions * sizes / count.grid <= 2.0**24
            need(whole or self.storage.wide, "counts: sums beyond float32's integers")
            if whole and self.fused:
                added = 4 * U * sizes / positions
        off = value + added + drowned
        need(off <= SMALL * count.most, "counts: a mean may be off by too much of its size")
        return positions * off / count.least

    def gate_room(self, gate: Gate, far: float, least: float = 1.0) -> float:
        """What the sum that a gate clips may be off by and stay on its side of the clip, at least
        `far` from it, if what it reads is scaled by `least` or more. In small formats hidden units
        are off by less than half a spacing, so that they are rounded to their exact values."""
        room = -gate.fails * least - far
        if gate.never:
            return room
        room = min(room, gate.low * least - far)
        if self.storage.wide:
            return room
        for held in (gate.low, gate.high):
            cast = float(np.float32(held).astype(self.storage.storage))
            need(cast == held, "gates: a hidden unit has too many digits")
        return min(room, self.storage.unit * 2.0 ** floor(log2(gate.low)) / 2)

    def check_read_out(
        self, rows: Vector, stored: Vector, products: int, read: ReadVariables
    ) -> None:
        """The logits keep their sign, and an lm head its margin."""
        errors = logit_errors(rows, stored, products, read, self.storage, self.c.head == "lm")
        self.bounds |= check_logits(self.derivation.logits, errors.tolist(), self.margin)
