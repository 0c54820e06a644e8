"""Width: how many keys match, as the share of attention that the sinks get.

    score = b·T[i, j], T ∈ {0, 1}; b on the sinks; value 1 on the sinks, 0 elsewhere

**Theorem 8** (`width_reads` of proofs/Width.v). With w matching keys and s sinks in sight the head
gives s/(s + w + ε), 0 <= ε <= n·e^-b; at most 1/64 up to n = e^b/64, where the proof ends.

**In floats** the sinks' and the matching keys' weights are exactly 1; what is off is the sum of
weights, one division and storage, all relative to what is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from softhat.io.errors import VoidError
from softhat.numerics.formats import Format
from softhat.proof.cells import Cell
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.match import scores_fit
from softhat.proof.heads.reading import HeadWeights
from softhat.proof.heads.selection import SelectionTable, is_sinks
from softhat.proof.program_atoms import ProgramAtoms, Share
from softhat.proof.scores import CARE
from softhat.proof.softmax import RowFact
from softhat.transformer.weights import Attention, Mask

NAMES = {"Width": "counts the positions whose category matches"}


@dataclass(frozen=True, slots=True)
class WidthKind(Kind):
    """The sinks' share s/(s + w + ε)."""

    CALLED = tuple(NAMES)
    NUMBERS = ("gap", "reach")
    bounds_weights = True

    attention: Attention
    mask: Mask
    gap: float
    weights: tuple[float, ...]
    sharpness: float

    @property
    def min_gap(self) -> float:
        return self.gap

    @property
    def reach(self) -> int:
        """The length up to which ε <= 1/64."""
        return int(min(2.0**53, exp(min(700.0, self.gap)) / 64))

    @property
    def blind(self) -> bool:
        """Whether a sink sees no key: then it returns 0 there, as if everything matched."""
        return self.mask in ("<", ">")

    @property
    def leak(self) -> float:
        return 0.0  # what leaks is part of the share, and counted where it is decoded

    def row(self, n: int, form: Format) -> RowFact:
        """That its scores are exact and its proof reaches n; the share's error is `share`."""
        scores_fit(self.weights, self.gap, self.gap, self.sharpness, form)
        if n > self.reach and self.attention != "hard":
            raise VoidError("too many positions for its sharpness")
        if n + 2 > 2.0**form.sum_digits:
            raise VoidError("the number of positions is not exact")
        return RowFact("tied")

    def share(self, n: int, form: Format) -> tuple[float, float]:
        """(ε, relative error) of what it returns."""
        if self.attention == "hard":
            return 0.0, (form.u + (1 + form.kernel.divisions) * form.u_sum) * CARE
        inflated = (1 + 2 * form.kernel.exp_units * form.u_sum) * (1 + form.u)
        inflated *= exp(2 * self.gap * form.u_sum)
        epsilon = n * exp(-self.gap) * inflated + n * form.held.normal
        return epsilon * CARE, ((n + 3 + form.kernel.between) * form.u_sum + form.u) * CARE


def made_of(
    head: HeadWeights,
    cells: list[Cell],
    selection: SelectionTable,
    number: int,
    atoms: ProgramAtoms,
) -> tuple[Kind, list[Cell]]:
    if selection.gain <= 0 or selection.sink != selection.gain:
        raise VoidError("the sinks do not score as a match does")
    if not all(is_sinks(form, cells) for form in head.value):
        raise VoidError("its value is not 1 at the sinks and 0 elsewhere")
    seen = head.sinks if head.mask == "none" else 1
    key = atoms.selection(selection.mask, selection.pairs)
    shares: list[Cell] = [Share(key, seen, number) for _ in head.value]
    return WidthKind(
        head.attention, head.mask, float(selection.gain), selection.weights, selection.sharpness
    ), shares
