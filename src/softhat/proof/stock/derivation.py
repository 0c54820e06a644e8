"""What a stock checkpoint computes, derived block by block from its weights.

Nothing of the passes that write a checkpoint is used. Embeddings say what each variable holds;
heads and gates are recognised from their matrices and add what they compute; the read-out's
functions must be those of the claimed formulas. What does not fit is a `VoidError`. An architecture
says how its tensors are read as forms over variables, and no more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.boolean import Space
from softhat.proof.stock.automata import Claimed, claims_of
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.checkpoint import StockCheckpoint
from softhat.proof.stock.distribution import ReadHead, read_head
from softhat.proof.stock.gates import Gate, Unit, feed_forward
from softhat.proof.stock.heads import recognise
from softhat.proof.stock.kind import HeadForms, StockHead
from softhat.proof.stock.readout import Readout
from softhat.proof.stock.variables import Cell, ConstantCell, Form, MeanCell, RawCell, TableCell

C = TypeVar("C", bound=StockCheckpoint)
M = TypeVar("M")


@dataclass(slots=True)
class DerivedBlock(Generic[M]):
    """A block's matrices, its heads and its gates."""

    matrices: M
    heads: list[StockHead] = field(default_factory=list)
    targets: list[list[int]] = field(default_factory=list)
    """Which variables each of `heads` writes."""
    gates: list[Gate] = field(default_factory=list)


@dataclass(slots=True)
class Derivation(Generic[C, M]):
    """What was read: per block its parts, and what the variables hold before it and at the end."""

    checkpoint: C
    blocks: list[DerivedBlock[M]]
    cells: list[list[Cell]]
    """Before each block, and after the last."""
    after_attention: list[list[Cell]] = field(default_factory=list)
    logits: ReadHead = field(default_factory=ReadHead)

    def heads(self) -> Iterator[StockHead]:
        return (head for block in self.blocks for head in block.heads)


@dataclass(frozen=True)
class PlacedHead:
    """A head, and the variables that its values are added to."""

    forms: HeadForms
    places: list[int]


@dataclass(frozen=True)
class Architecture(ABC, Generic[C, M]):
    """How a checkpoint's tensors are read."""

    least_logit: ClassVar[float] = 0.0
    """Logits must be larger than this in size."""

    checkpoint: C
    context: int
    blocks: int
    reuse: bool = False
    """Its bounds add up what a variable is off by, so one may be used again."""

    @abstractmethod
    def check_shape(self) -> None: ...

    @abstractmethod
    def has_recalls(self) -> bool:
        """Have its heads room for the digits of a recall? Then `last[…]` is an atom of its own."""

    @abstractmethod
    def embedded(self, atoms: BoundedAtoms) -> list[Cell]:
        """The variables before the first block; norms leave them as they are."""

    @abstractmethod
    def matrices(self, at: int) -> M:
        """The matrices of a block."""

    @abstractmethod
    def head(self, block: M, at: int, h: int, number: int) -> PlacedHead | None:
        """A head of a block; None if it is none."""

    @abstractmethod
    def hidden(
        self, block: M, cells: list[Cell], at: int
    ) -> tuple[dict[int, Unit], NDArray[np.float64]]:
        """The hidden units of a block that write something, and what all write: (units,
        variables)."""

    @abstractmethod
    def logits(self) -> tuple[list[Form], bool]:
        """The read-out's rows, and whether there is a bias."""


def derive(architecture: Architecture[C, M], formulas: Mapping[str, Claimed]) -> Derivation[C, M]:
    """Read a checkpoint that is claimed to compute `formulas`."""
    c = architecture.checkpoint
    architecture.check_shape()
    space = Space(c.symbols, c.propositional)
    recalls = architecture.has_recalls()
    atoms, claims = claims_of(space, architecture.context - 1, formulas, has_recalls=recalls)
    cells = architecture.embedded(atoms)
    derived: Derivation[C, M] = Derivation(c, [], [cells])
    number = 0
    digits: set[int] = set()
    for at in range(architecture.blocks):
        block = DerivedBlock(architecture.matrices(at))
        attended = list(cells)
        for h in range(c.n_head):
            placed = architecture.head(block.matrices, at, h, number)
            if placed is None:
                continue
            number += 1
            head, written = recognise(placed.forms, cells, atoms)
            block.heads.append(head)
            block.targets.append(placed.places)
            for place, cell in zip(placed.places, written, strict=True):
                if not _waits(attended[place], cell, architecture.reuse, space):
                    where = f"{placed.forms.where} writes variable {place}"
                    raise VoidError(f"{where}, which does not wait for a head")
                attended[place] = cell
                if isinstance(cell, TableCell):
                    digits.add(place)
        derived.after_attention.append(attended)
        units, outgoing = architecture.hidden(block.matrices, attended, at)
        cells, block.gates = feed_forward(
            units, outgoing, attended, digits, atoms, at, architecture.reuse
        )
        derived.blocks.append(block)
        derived.cells.append(cells)
    readout = Readout(cells, atoms, claims, formulas, architecture.least_logit)
    derived.logits = read_head(c, *architecture.logits(), readout)
    return derived


def _waits(held: Cell, cell: Cell, reuse: bool, space: Space) -> bool:
    """What a head writes is added to what a variable starts as, or to a raw output that was taken
    off again."""
    match held, cell:
        case RawCell(function, amplitude), RawCell():
            return reuse and (function, amplitude) == (space.false, cell.amplitude)
        case _, RawCell(amplitude=amplitude):
            start = -amplitude
        case _, MeanCell():
            start = 0.0
        case _:
            start = -1.0
    return held == ConstantCell(start, start)


def squares_of(cells: list[Cell]) -> tuple[Fraction, Fraction]:
    """Σ v² on the word and at `<bos>`: variables keep their squares, whatever they come to hold."""
    own = start = Fraction(0)
    for cell in cells:
        if isinstance(cell, ConstantCell):
            own += Fraction(cell.ordinary) ** 2
            start += Fraction(cell.bos) ** 2
        else:
            own, start = own + 1, start + 1
    return own, start
