"""What a stock checkpoint computes, derived block by block from its weights.

Nothing of the passes that write a checkpoint is used. Embeddings say what each variable holds;
heads and gates are recognised from their matrices over variables and add what they compute; the
read-out's functions must be those of the claimed formulas. What does not fit is a `VoidError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.boolean import Space
from softhat.proof.stock.automata import Claimed, claims_of
from softhat.proof.stock.checkpoint import BlockMatrices, DecoderFacts, StockCheckpoint
from softhat.proof.stock.distribution import ReadHead, read_head
from softhat.proof.stock.embedding import embedded
from softhat.proof.stock.gates import Gate, Unit, feed_forward
from softhat.proof.stock.heads import recognise
from softhat.proof.stock.kind import HeadForms, StockHead, is_read
from softhat.proof.stock.readout import Readout
from softhat.proof.stock.variables import Cell, ConstantCell, Form, MeanCell, RawCell, TableCell


@dataclass(slots=True)
class DerivedBlock:
    """A block's matrices, its heads and its gates."""

    matrices: BlockMatrices
    heads: list[StockHead] = field(default_factory=list)
    targets: list[list[int]] = field(default_factory=list)
    """Which variables each of `heads` writes."""
    gates: list[Gate] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StockDerivation:
    """What was read: per block its parts, and what the variables hold before it and at the end."""

    checkpoint: StockCheckpoint
    architecture: DecoderFacts
    blocks: list[DerivedBlock]
    cells: list[list[Cell]]
    """Before each block, and after the last."""
    after_attention: list[list[Cell]]
    readout: Readout
    logits: ReadHead

    def heads(self) -> Iterator[StockHead]:
        return (head for block in self.blocks for head in block.heads)

    def with_readout(self, checkpoint: StockCheckpoint) -> StockDerivation:
        """Of a checkpoint that differs in its norms and its read-out only."""
        logits = read_logits(checkpoint, self.readout)
        return replace(self, checkpoint=checkpoint, logits=logits)


@dataclass(frozen=True)
class WritingHead:
    """A head, and the variables that its values are added to."""

    forms: HeadForms
    places: list[int]


def derive(
    c: StockCheckpoint, formulas: Mapping[str, Claimed], reuse: bool = False
) -> StockDerivation:
    """Read a checkpoint that is claimed to compute `formulas`; `reuse`: by bounds that add up what
    a variable is off by, so that it may be used again."""
    architecture = c.architecture
    space = Space(c.symbols, c.propositional)
    recalls = architecture.has_recalls
    atoms, claims = claims_of(space, architecture.context - 1, formulas, has_recalls=recalls)
    cells = embedded(c, atoms)
    c.norm(cells)
    blocks: list[DerivedBlock] = []
    before, after_attention = [cells], []
    number = 0
    digits: set[int] = set()
    for at in range(architecture.blocks):
        matrices = c.over_variables(at)
        block = DerivedBlock(matrices)
        attended = list(cells)
        for h in range(architecture.n_head):
            placed = head_forms(architecture, matrices, at, h, number)
            if placed is None:
                continue
            number += 1
            head, written = recognise(placed.forms, cells, atoms)
            block.heads.append(head)
            block.targets.append(placed.places)
            for place, cell in zip(placed.places, written, strict=True):
                if not _waits(attended[place], cell, reuse, space):
                    where = f"{placed.forms.where} writes variable {place}"
                    raise VoidError(f"{where}, which does not wait for a head")
                attended[place] = cell
                if isinstance(cell, TableCell):
                    digits.add(place)
        after_attention.append(attended)
        units = hidden_units(matrices, attended, at)
        outgoing = matrices.down.T.astype(np.float64)
        cells, block.gates = feed_forward(units, outgoing, attended, digits, atoms, at, reuse)
        blocks.append(block)
        before.append(cells)
    readout = Readout(cells, atoms, claims, formulas, architecture.least_logit)
    logits = read_logits(c, readout)
    return StockDerivation(c, architecture, blocks, before, after_attention, readout, logits)


def read_logits(c: StockCheckpoint, readout: Readout) -> ReadHead:
    rows, biased = c.logit_rows()
    return read_head(c, rows.forms(), biased, readout)


def head_forms(
    architecture: DecoderFacts, block: BlockMatrices, at: int, h: int, number: int
) -> WritingHead | None:
    """A head's forms over variables; None if it writes nothing."""
    where = f"block {at}, head {h}"
    own, shared = architecture.rows_of(h)
    query, key, value = (
        rows.forms() for rows in (block.query[own], block.key[shared], block.value[shared])
    )
    columns, places = np.nonzero(block.output[:, own].T)
    if len(set(places.tolist())) != len(places):
        raise VoidError(f"{where} adds several values to one variable")
    alone = architecture.raw
    if alone and any(is_read(form) for r, form in enumerate(value) if r not in columns):
        raise VoidError(f"{where} has a value that is written nowhere")
    if not len(places):
        if any(map(is_read, query)) or (alone and any(map(is_read, key))):
            raise VoidError(f"{where} has scores, but writes nothing")
        return None
    rows = len(architecture.frequencies)
    nothing = [Form({}, 0.0)] * rows  # the second coordinates, where nothing turns
    forms = HeadForms(
        block=at,
        head=h,
        number=number,
        query=list(zip(query[:rows], query[rows:] or nothing, strict=True)),
        key=list(zip(key[:rows], key[rows:] or nothing, strict=True)),
        values=[value[column] for column in columns.tolist()],
        targets=block.output[:, own].T[columns, places].tolist(),
        frequencies=architecture.frequencies,
        root=architecture.root,
        context=architecture.context,
        raw=architecture.raw,
    )
    return WritingHead(forms, places.tolist())


def hidden_units(block: BlockMatrices, cells: list[Cell], at: int) -> dict[int, Unit]:
    """The hidden units of a block that write something.

    A second factor is exactly one variable that is always 1; then a unit's constant is read from
    variables that are the same everywhere. Without one, both units of a clip have the same weights,
    those on constants too: what the norm's factor moves, it moves in both, and biases it does not
    move."""
    incoming = block.gate.forms()
    factors = None if block.up is None else block.up.forms()
    units: dict[int, Unit] = {}
    for number in np.flatnonzero(block.down.any(axis=0)).tolist():
        constant, reads = Fraction(incoming[number].constant), []
        if factors is not None:
            factor = [(cells[p], w) for p, w in factors[number].weights.items()]
            if factor != [(ConstantCell(1.0, 1.0), 1.0)]:
                where = f"block {at}: the feed-forward"
                raise VoidError(f"{where} multiplies a unit by something that is not 1")
        for p, w in incoming[number].weights.items():
            cell = cells[p]
            if factors is not None and isinstance(cell, ConstantCell) and cell.ordinary == cell.bos:
                constant += Fraction(w) * Fraction(cell.ordinary)
            else:
                reads.append((p, w))
        units[number] = tuple(sorted(reads)), constant
    return units


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
