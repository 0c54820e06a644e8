"""Heads and gates of programs of values: Match, Width, At, and the counts that steps decode.

No formula needs them, so the checker of formulas does not load them.
"""

from __future__ import annotations

from dataclasses import replace

from softhat.io.errors import VoidError
from softhat.numbers.laws import ONE, Constant, Law
from softhat.numerics.formats import FORMATS
from softhat.proof import heads
from softhat.proof.cells import Cell, Feature, Groups, Raw
from softhat.proof.derivation import Derivation, Stream
from softhat.proof.heads import match, width
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.reading import HeadWeights
from softhat.proof.heads.selection import SelectionTable, is_selection, read_selection
from softhat.proof.heads.width import WidthKind
from softhat.proof.lengths import Proof, ProvedHead
from softhat.proof.program_atoms import ProgramAtoms, Share, Whole
from softhat.proof.steps import (
    Decoded,
    DecodingStep,
    Unit,
    steps_of_share,
    steps_of_whole,
    turns_of,
    whole_of,
)
from softhat.transformer.weights import Transformer

NAMES: dict[str, str] = {
    name: does for kind in (*heads.KINDS, match, width) for name, does in kind.NAMES.items()
}
"""What a head of each name does, in words: those of formulas too."""


class ProgramDerivation(Derivation):
    """The derivation of a program's weights: heads may select, and units may decode counts."""

    def __init__(self, t: Transformer, atoms: ProgramAtoms, proof: Proof) -> None:
        super().__init__(t, atoms, proof)
        self.program_atoms = atoms

    def tempered(self, weights: HeadWeights, cells: Stream, law: Law) -> HeadWeights:
        """A head that selects has one inverse temperature for all lengths."""
        if not is_selection(weights, cells):
            return super().tempered(weights, cells, law)
        if not isinstance(law, Constant) or (law != ONE and weights.attention != "temperature"):
            raise VoidError(f"it has the inverse temperature {law.text}, not a constant")
        return replace(weights, sharpness=float(law.value))

    def recognised(
        self, weights: HeadWeights, cells: Stream, number: int, level: int
    ) -> tuple[Kind, list[Cell]]:
        """Match, Width or At, or what formulas have too."""
        if not is_selection(weights, cells):
            return super().recognised(weights, cells, number, level)
        if weights.mask in (">=", ">") and weights.sinks < 2:
            raise VoidError("it looks to the right, but there is no sink at the end")
        atoms = self.program_atoms
        selection = read_selection(weights, cells, atoms)
        features = [cells[at] for form in weights.value for at in form]
        if isinstance(selection, SelectionTable) and Feature("1", 0) in features:
            return width.made_of(weights, cells, selection, number, atoms)
        return match.made_of(weights, cells, selection, number, level, atoms)

    def decoded(self, units: Groups, cells: Stream) -> Cell:
        """What steps of counts add up to: a bit of one of them, or a whole number."""
        atoms, number = self.program_atoms, len(self.proof.heads)
        counts = [_count_of(incoming, cells) for incoming in units]
        of = [
            self._steps(count, group) for count, group in zip(counts, units.values(), strict=True)
        ]
        turns = turns_of(of[0][2]) if len(of) == 1 else None
        cell: Cell
        if turns is not None:
            terms = ((1, counts[0].selection),) if isinstance(counts[0], Share) else counts[0].terms
            level = (1 << 49) + (number << 20)
            cell = Raw(atoms.steps(terms, turns, level), number, signed=True)
        else:
            summed: list[tuple[int, int]] = []
            for (_, _, steps), count in zip(of, counts, strict=True):
                whole = whole_of(steps)
                if whole is None or not isinstance(count, Share):
                    raise VoidError("it adds steps that are neither a bit nor a count")
                summed.append((whole[0], count.selection))
                atoms.limit(whole[1])
            cell = Whole(tuple(sorted(summed)), number)
        kind = Decoded(tuple(of), is_bit=turns is not None)
        by_format: dict[str, Kind | str] = dict.fromkeys(FORMATS, kind)
        label = f"steps of layer {self.layer}"
        self.proof.heads.append(ProvedHead(self.layer, -1, label, kind, by_format))
        return cell

    def _steps(
        self, count: Share | Whole, units: list[Unit]
    ) -> tuple[WidthKind | Decoded, int, tuple[DecodingStep, ...]]:
        """The head or the steps that count, the sinks in its sight, and what units decode of it."""
        kind = self.proof.heads[count.head].kind
        if isinstance(count, Share):
            assert isinstance(kind, WidthKind)
            return kind, count.sinks, steps_of_share(units, count.sinks)
        assert isinstance(kind, Decoded)
        return kind, 0, steps_of_whole(units)


def _count_of(incoming: frozenset[tuple[int, float]], cells: Stream) -> Share | Whole:
    """The count that units read, which read nothing else."""
    match [(cells[at], weight) for at, weight in incoming]:
        case [(Share() as count, -1.0)]:
            return count
        case [(Whole() as count, 1.0)]:
            return count
    raise VoidError("it adds steps of counts and something else")
