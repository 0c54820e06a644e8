"""Which hidden units of a disguised checkpoint share the work of which side of a clip.

That is a claim, and nothing here needs to be right: what the units do beside it is measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.dense.matrices import Matrix, lifted
from softhat.proof.stock.checkpoint import BlockMatrices
from softhat.transformer.directions import DisguisedUnits


@dataclass(frozen=True)
class Sharing:
    """The shares of `units` in `sides`, and their scales."""

    shares: Matrix  # (sides, units)
    factor: NDArray[np.float64]

    def mean(self, read: Matrix) -> Matrix:
        """What units read, a row each and in units of their factors, for each side."""
        means: Matrix = self.shares @ read
        return means

    def total(self, written: Matrix) -> Matrix:
        """What units write, a row each, for each side: each unit's output has its factor."""
        totals: Matrix = (self.shares != 0) @ (written * self.factor[:, None])
        return totals


def sharing(units: DisguisedUnits, count: int, at: int) -> Sharing:
    """Of a block that has so many hidden units."""
    if units.part.shape != (count,) or not np.isfinite(units.share).all():
        raise VoidError(f"block {at}: the directions are not of these hidden units")
    if not (units.factor > 0).all() or not np.isfinite(units.factor).all():
        raise VoidError(f"block {at}: a hidden unit's factor is not positive")
    sides = max(int(units.part.max(initial=-1)) + 1, 0)
    if sides > count:
        raise VoidError(f"block {at}: more sides of clips than hidden units")
    shares = np.zeros((sides, count))
    own = np.flatnonzero(units.part >= 0)
    shares[units.part[own], own] = units.share[own]
    return Sharing(shares, units.factor.astype(np.float64))


def sides(
    block: BlockMatrices, units: DisguisedUnits, at: int
) -> tuple[Matrix, Matrix | None, Matrix]:
    """What the sides of a block's clips read, with a constant each, their second factors, if they
    have any, and what they write: what scales units, scales second factors where there are some."""
    shared = sharing(units, len(block.gate.constants), at)
    gate, down = lifted(block.gate), shared.total(block.down.T.astype(np.float64))
    factor = shared.factor[:, None]
    if block.up is None:
        return shared.mean(gate / factor), None, down
    return shared.mean(gate), shared.mean(lifted(block.up) / factor), down
