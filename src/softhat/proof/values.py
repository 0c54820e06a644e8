"""Heads and gates of programs of values: Match, Width, At, and the counts that steps decode.

No formula needs them, so the checker of formulas does not load them; that of programs passes them
to it as `PARTS`.
"""

from __future__ import annotations

from collections.abc import Sequence

from softhat.io.errors import VoidError
from softhat.proof import heads
from softhat.proof.atoms import Atoms
from softhat.proof.cells import Cell, Feature, Groups, Raw, Share, Whole
from softhat.proof.gates import count_of
from softhat.proof.heads import match, width
from softhat.proof.heads.kind import Kind, ProgramParts
from softhat.proof.heads.reading import HeadWeights
from softhat.proof.heads.selection import SelectionTable, is_selection, read_selection
from softhat.proof.heads.width import WidthKind
from softhat.proof.steps import Decoded, Step, steps_of_share, steps_of_whole, turns_of, whole_of

NAMES: dict[str, str] = {
    name: does for kind in (*heads.KINDS, match, width) for name, does in kind.NAMES.items()
}
"""What a head of each name does, in words: those of formulas too."""


def _recognise(
    head: HeadWeights, cells: list[Cell], number: int, atoms: Atoms, level: int
) -> tuple[Kind, list[Cell]]:
    """Match, Width or At."""
    if head.mask in (">=", ">") and head.sinks < 2:
        raise VoidError("it looks to the right, but there is no sink at the end")
    selection = read_selection(head, cells, atoms)
    counts = [cells[at] for form in head.value for at in form if isinstance(cells[at], Feature)]
    if isinstance(selection, SelectionTable) and Feature("1", 0) in counts:
        return width.made_of(head, cells, selection, number, atoms)
    return match.made_of(head, cells, selection, number, level, atoms)


def _decode(
    groups: Groups, cells: list[Cell], atoms: Atoms, kinds: Sequence[Kind], where: str
) -> tuple[Kind, Cell]:
    """What steps of counts add up to: a bit of one of them, or a whole number."""
    of: list[tuple[WidthKind | Decoded, int, tuple[Step, ...]]] = []
    counts: list[Share | Whole] = []
    for incoming, units in groups.items():
        cell = count_of(incoming, cells)
        assert cell is not None
        kind = kinds[cell.head]
        try:
            if isinstance(cell, Share):
                assert isinstance(kind, WidthKind)
                of.append((kind, cell.sinks, steps_of_share(units, cell.sinks)))
            else:
                assert isinstance(kind, Decoded)
                of.append((kind, 0, steps_of_whole(units)))
        except VoidError as error:
            raise VoidError(f"{where}: {error}") from None
        counts.append(cell)
    number = len(kinds)
    turns = turns_of(of[0][2]) if len(of) == 1 else None
    if turns is not None:
        cell = counts[0]
        terms = ((1, cell.selection),) if isinstance(cell, Share) else cell.terms
        level = (1 << 49) + (number << 20)
        bit = Raw(atoms.steps(terms, turns, level), number, signed=True)
        return Decoded(tuple(of), is_bit=True), bit
    summed: list[tuple[int, int]] = []
    for (_, _, steps), cell in zip(of, counts, strict=True):
        whole = whole_of(steps)
        if whole is None or not isinstance(cell, Share):
            raise VoidError(f"{where} adds steps that are neither a bit nor a count")
        summed.append((whole[0], cell.selection))
        atoms.limit(whole[1])
    return Decoded(tuple(of), is_bit=False), Whole(tuple(sorted(summed)), number)


PARTS = ProgramParts(is_selection, _recognise, _decode)
