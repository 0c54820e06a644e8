"""What every disguise is made of: random directions, split neurons, distractors.

A disguised model computes the same function in a random basis. All randomness is that of the
seed, and all sums are NumPy's own, not those of a BLAS, whose last digit may depend on how many
threads it has: the same seed gives the same bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.logic.fragments import describe
from softhat.logic.random import BOOLEAN, PAST, random_formula
from softhat.program.build import build
from softhat.program.draft import Draft
from softhat.program.heads import Sign
from softhat.program.literals import Literal
from softhat.program.signals import Program, moved
from softhat.transformer.directions import Directions, DisguisedUnits
from softhat.transformer.lowering.stock.trunk import TrunkUnits

Array = NDArray[np.float64]
DISTRACTORS = 2
"""Formulas that are computed in the same trunk and read by nobody. Means of counts drown in what
others round, so beside them there is one distractor, of the first block."""
TRIES = 64


@dataclass(frozen=True)
class Disguise(ABC):
    """A trunk in a random basis: where it has put what the plain trunk's numbers name."""

    residual: Array
    """The directions of variables before they were rounded, (variables, d_model)."""
    directions: Directions
    """What is claimed of all this, rounded, in the format of `directions.safetensors`."""

    width: int
    """Coordinates of a variable: the second has the other sign."""

    def rows(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        """Read-out rows over variables as rows over the new basis."""
        forms = rows[:, : len(self.residual)].astype(np.float64)
        return as_float32(product(forms, self.residual))

    def variable(self, coordinate: int) -> int | None:
        """The variable that a coordinate is labelled as; None if another coordinate is."""
        at, half = divmod(coordinate, self.width)
        return None if half or at >= len(self.residual) else at

    def direction(self, coordinate: int) -> Array:
        """The direction of the residual stream that was a coordinate."""
        at, half = divmod(coordinate, self.width)
        row: Array = self.residual[at]
        return -row if half else row

    @abstractmethod
    def head_place(self, layer: int, head: int) -> int:
        """The number that a head has now."""

    @abstractmethod
    def value_rows(self, layer: int, head: int) -> Array:
        """The directions of a head's values, a row each."""


def product(a: Array, b: Array) -> Array:
    """The product of two matrices, the same on any number of threads."""
    result: Array = np.einsum("ij,jk->ik", a, b)
    return result


def orthonormal(
    rng: np.random.Generator, size: int, count: int, against: Array | None = None
) -> Array:
    """`count` random orthonormal rows of `size` numbers, orthogonal to the rows of `against`."""
    rows = np.zeros((0, size)) if against is None else against
    first = len(rows)
    for row in rng.standard_normal((count, size)):
        for _ in range(2):  # once more for what the first pass rounded off
            row = row - np.einsum("i,ij->j", np.einsum("ij,j->i", rows, row), rows)
        rows = np.vstack([rows, row / np.sqrt(np.sum(row * row))])
    return rows[first:]


def split_units(rng: np.random.Generator, sides: int, total: int) -> DisguisedUnits:
    """`total` hidden units for `sides` sides of clips: permuted, split with random shares and
    scales; what is left comes in groups that cancel."""
    copies = [int(rng.integers(1, 3)) for _ in range(sides)]
    while sum(copies) > total:
        copies[int(np.argmax(copies))] -= 1
    if total - sum(copies) == 1:
        copies[0] += 1  # one unit alone cannot cancel
    part: list[int] = []
    share: list[float] = []
    for side, count in enumerate(copies):
        part += [side] * count
        share += list(_shares(rng, count, 1.0))
    group = 0
    while len(part) < total:
        group -= 1
        left = total - len(part)
        count = 2 if left in (2, 4) else min(3, left)
        part += [group] * count
        share += list(_shares(rng, count, 0.0))
    order = rng.permutation(total)
    factor = 2.0 ** rng.uniform(-0.5, 0.5, total)
    return DisguisedUnits(
        np.array(part, np.int64)[order],
        factor.astype(np.float32),
        np.array(share, np.float64)[order].astype(np.float32),
    )


def dense_units(
    rng: np.random.Generator,
    block: TrunkUnits,
    hidden: int,
    basis: Array,
    written: float,
    against: Array | None = None,
) -> tuple[DisguisedUnits, Array, Array, Array]:
    """A block's clips, split and permuted, and units that cancel, which write vectors of the norm
    `written`: what they read, their constants or second factors, and what they write, a row each.
    `basis` are the directions of variables, orthogonal to `against`. Factors scale second factors
    or, where there are none, all that is read; what is written has its share over its factor."""
    sides, (variables, d) = block.sides, basis.shape
    units = split_units(rng, sides, hidden)

    def over(rows: NDArray[Any]) -> Array:
        return product(rows[:sides, :variables].astype(np.float64), basis)

    def noise() -> Array:
        size: Array = rng.standard_normal(d) * d**-0.5
        return size if block.up is None else size / 2

    second = block.gate_constants[:sides].astype(np.float64) if block.up is None else over(block.up)
    own = over(block.gate), second, over(block.down.T)
    idle = {
        int(group): (
            noise(),
            float(rng.standard_normal()) * 0.5 if block.up is None else noise(),
            orthonormal(rng, d, 1, against)[0] * written,
        )
        for group in np.unique(units.part[units.part < 0])
    }
    reads, seconds, writes = (
        np.array([rows[k] if k >= 0 else idle[k][at] for k in units.part.tolist()])
        for at, rows in enumerate(own)
    )
    factor = units.factor.astype(np.float64)
    writes = (units.share.astype(np.float64) / factor)[:, None] * writes
    if block.up is None:
        return units, factor[:, None] * reads, factor * seconds, writes
    return units, reads, factor[:, None] * seconds, writes


def _shares(rng: np.random.Generator, count: int, total: float) -> Array:
    """Positive shares of 1, or shares of both signs that add up to 0."""
    raw = rng.uniform(0.5, 1.5, count)
    if total:
        return raw / raw.sum()
    raw[-1] = -raw[:-1].sum()
    return raw


def spare_units(largest: int) -> int:
    """How many hidden units a block has whose largest neighbour needs `largest` sides of clips."""
    return max(8, -(-5 * largest // 4 // 8) * 8)


def with_distractors(rng: np.random.Generator, program: Program, depth: int) -> Program:
    """A program that also computes other formulas, no deeper than `depth`, for no output's sake."""
    draft = Draft.of(program)
    outputs = dict(program.outputs)
    count, most = 0, DISTRACTORS
    if any(isinstance(signal, Sign) for signal in program.signals):
        depth = most = 1
    for _ in range(TRIES):
        if count == most:
            break
        size = int(rng.integers(2, 6))
        formula = random_formula(rng, size, program.symbols, BOOLEAN - {"true", "false"} | PAST)
        if not 1 <= describe(formula).temporal_depth <= max(1, depth):
            continue
        other = build({"distractor": formula}, program.symbols, program.propositional)
        ((_, literal),) = other.outputs
        if literal.signal < 0:
            continue  # it is a constant
        before = len(draft.signals)
        added = _added(draft, other, literal)
        if len(draft.signals) > before:
            count += 1
            outputs[f"distractor {count}: {formula}"] = added
    return draft.finish(outputs)


def _added(draft: Draft, other: Program, output: Literal) -> Literal:
    places = {-1: -1}
    for at, (signal, label) in enumerate(zip(other.signals, other.labels, strict=True)):
        places[at] = draft.add(moved(signal, places), label).signal
    return output.moved(places)


def seeded(seed: int, *path: int) -> np.random.Generator:
    """The generator of one part of a disguise."""
    return np.random.default_rng([seed, *path])


def as_float32(array: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(array, dtype=np.float32)
