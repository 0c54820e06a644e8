"""The positions of a word in blocks, each twice as long as the one before.

Within a block a position feature (i, 1/i, i² …) varies by a small factor, so that the rounding of
what is made from it is known in proportion, and keys that are far away are known to be far below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.model import AHAT, BOS, EOS, Mask, Sink
from softhat.numbers.positions import (
    PLACES,
    SHARES,
    DigitFeature,
    Feature,
    Holds,
    Mod,
    Named,
    Table,
)

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PositionBlock:
    """Positions `first` … `last`, as far as a word has them; a sink is a block of its own."""

    first: int
    last: int
    sink: Sink | None = None

    @property
    def count(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of words of length `low` … `high`."""

    low: int
    high: int
    parts: tuple[PositionBlock, ...]

    @property
    def counts(self) -> npt.NDArray[np.float64]:
        return np.array([1 if b.sink else b.count for b in self.parts], dtype=np.float64)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The least and greatest length, and those between at which a block ends."""
        ends = {b.last for b in self.parts if b.sink is None and self.low <= b.last < self.high}
        return tuple(sorted({self.low, self.high, *ends, *(e + 1 for e in ends)}))

    def shares(self, n: int, eos: bool) -> npt.NDArray[np.float64]:
        """Of the positions 1 … n, `<bos>` and (if asked for) `<eos>`, the share in each block."""
        counts = np.array(
            [
                max(0, min(b.last, n) - b.first + 1) if b.sink is None else b.sink == BOS or eos
                for b in self.parts
            ],
            dtype=np.float64,
        )
        shares: npt.NDArray[np.float64] = counts / counts.sum()
        return shares

    def seen(self, mask: Mask) -> Truths:
        """[I, J]: may a query of block I see a key of block J?"""
        first = np.array([b.first for b in self.parts])
        last = np.array([b.last for b in self.parts])
        match mask:
            case "none":
                return np.ones((len(first), len(first)), dtype=bool)
            case "<=":
                visible = first[None, :] <= last[:, None]
            case "<":
                visible = first[None, :] < last[:, None]
            case ">=":
                visible = last[None, :] >= first[:, None]
            case ">":
                visible = last[None, :] > first[:, None]
        return np.asarray(visible)

    def surely(self, mask: Mask) -> Truths:
        """[I, J]: does every query of block I see at least one key of block J?"""
        sees = np.diag([mask in ("none", "<=", ">=")] * len(self.parts))
        for a, q in enumerate(self.parts):
            for b, k in enumerate(self.parts):
                sees[a, b] |= a != b and self._must_see(mask, q, k)
        return sees

    def _must_see(self, mask: Mask, q: PositionBlock, k: PositionBlock) -> bool:
        if k.sink is not None:
            return mask == "none" or (mask in ("<=", "<")) == (k.sink == BOS)
        if mask == "none":
            return k.first <= self.low
        if mask not in ("<=", "<") or q.sink == BOS:
            return False
        # The query stands at q.first or later, `<eos>` after `low` or more positions.
        return k.first <= self.low if q.sink == EOS else k.first < q.first

    def feature(self, feature: Feature, block: PositionBlock, bos: bool) -> tuple[float, float]:
        """The range of a position feature over a block, at these lengths."""
        low, high, first, last = self.low, self.high, block.first, block.last
        match feature:
            case Named("1"):
                return 1.0, 1.0
            case Named("n"):
                return float(low), float(high)
            case Named("(-1)^i"):
                return -1.0, 1.0
            case Mod():
                return 0.0, 1.0
            case Named(name) if name in PLACES:
                if block.sink is not None:
                    first, last = (0, 0) if block.sink == BOS else (low + 1, high + 1)
                k, n = PLACES[name], float(max(low, first - (block.sink == EOS)))
                return first / float(high) ** k, min(float(last), n + 1) / n**k
            case Named() | DigitFeature() | Holds() if block.sink is not None:
                return 0.0, 0.0
            case Named("ordinary"):
                return 1.0, 1.0
            case Named("i"):
                return float(first), float(last)
            case Named("i^2"):
                return float(first) ** 2, float(last) ** 2
            case Named("1/i"):
                return 1 / last, 1 / first
            case Named("r"):
                return float(max(1, low + 1 - last)), float(max(1, high + 1 - first))
            case Named("i/n"):
                return first / high, min(1.0, last / low)
            case Named(name) if name in SHARES:
                k, n = SHARES[name], float(max(low, first))  # the least length that has it
                return first / float(high) ** k, min(float(last), n) / n**k
            case Named("first"):
                return float(last == 1), float(first == 1)
            case Named() | DigitFeature() | Holds():
                return 0.0, 1.0
            case Table(entries):
                if block.sink == EOS:
                    return 0.0, 0.0
                start = first if bos else first - 1
                part = [float(e) for e in entries[start : start + block.count]] or [0.0]
                return min(part), max(part)


def blocks(model: AHAT, low: int, high: int) -> Blocks:
    """The blocks of a model's words at these lengths; one for all where positions do not matter."""
    parts: list[PositionBlock] = [PositionBlock(0, 0, BOS)] if model.bos else []
    first, apart = 1, model.bos or _tell_apart(model.positions)
    while first <= high:
        last = min(high, 2 * first - 1) if apart else high
        parts.append(PositionBlock(first, last))
        first = last + 1
    if model.eos:
        parts.append(PositionBlock(low + 1, high + 1, EOS))
    return Blocks(low, high, tuple(parts))


def _tell_apart(features: Sequence[Feature]) -> bool:
    """Are there features whose size depends on the position?"""
    flat = ("1", "n", "(-1)^i", "ordinary", "last")
    return any(isinstance(f, Named) and f.name not in flat for f in features)
