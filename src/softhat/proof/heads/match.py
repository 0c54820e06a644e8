"""Match: the value at the keys that match, or their mean; 0 where none does.

    score = b·T[i, j], T ∈ {0, 1}; b/2 on the sinks

**Theorem 7** (`match_found`, `match_none` of proofs/Match.v). Where w >= 1 keys match, all but
n·e^-b + 2·e^(-b/2) of the attention is equally on them; where none does, all but n·e^(-b/2) is on
the sinks, whose value is 0. So a value that the matching keys agree on is returned within
n·e^(-b/2), at most 1/64 up to n = e^(b/2)/64, where the proof ends. That they agree is known of
what the claim reads; anything else is a mean, which no gate may read as a bit.

**In floats** scores are three numbers, 0, b/2 and b, which must be representable; then nothing is
off but softmax itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from softhat.io.errors import VoidError
from softhat.numbers.rationals import grid_of
from softhat.numerics.formats import Format
from softhat.proof.cells import Cell, Raw, bits_of, literal
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.reading import HeadWeights
from softhat.proof.heads.selection import Codes, SelectionTable
from softhat.proof.program_atoms import Chosen, ProgramAtoms
from softhat.proof.softmax import RowFact
from softhat.transformer.weights import Attention, Mask

NAMES = {
    "Match": "looks at the positions whose category matches",
    "At": "looks at the position with the same code",
}


@dataclass(frozen=True, slots=True)
class Selects(Kind):
    """Softmax over scores that are 0 for the best keys, -C for others, -C/2 for the sinks."""

    NUMBERS = ("gap", "reach")
    bounds_weights = True

    kind: str
    attention: Attention
    mask: Mask
    gap: float
    size: float
    """The largest score."""
    weights: tuple[float, ...]
    sharpness: float
    spread: float = 1.0
    """Of values that are numbers: the largest."""

    @property
    def name(self) -> str:
        return self.kind

    @property
    def min_gap(self) -> float:
        return self.gap / 2

    @property
    def reach(self) -> int:
        """The length up to which at most 1/64 leaks."""
        return int(min(2.0**53, exp(min(700.0, self.gap / 2)) / 64))

    @property
    def leak(self) -> float:
        """At `reach`, where the proof ends."""
        return 0.0 if self.attention == "hard" else 1 / 64 + 2 * exp(-self.gap / 2)

    def losers(self, n: int) -> tuple[float, float]:
        """The losers' weight relative to the winners': where a key matches, and where none does."""
        return n * exp(-self.gap) + 2 * exp(-self.gap / 2), n * exp(-self.gap / 2)

    def row(self, n: int, form: Format) -> RowFact:
        """Those that match tie, exactly; then the sinks, then all others."""
        scores_fit(self.weights, self.size, self.gap / 2, self.sharpness, form)
        if self.attention == "hard":
            return RowFact("tied")
        if n > self.reach:
            raise VoidError("too many positions for its sharpness")
        leak, none = self.losers(n)
        return RowFact("tied", leak, none, n + 2.0, min(none, (n + 2) * form.held.normal))


def scores_fit(
    weights: tuple[float, ...], size: float, grid: float, sharpness: float, form: Format
) -> None:
    """Weights are stored as they are and all scores, multiples of `grid`, are exact: they are
    multiples of the power of two in it."""
    if any(form.stored(weight) != weight for weight in weights):
        raise VoidError("its weights are not representable")
    whole = grid > 0 and grid == int(grid) and sharpness == int(sharpness)
    fine = grid_of(grid) if whole else 1.0
    if not whole or max(size / fine, sharpness) > 2.0**form.digits or size > form.largest:
        raise VoidError("its scores are not representable")


def made_of(
    head: HeadWeights,
    cells: list[Cell],
    selection: SelectionTable | Codes,
    number: int,
    level: int,
    atoms: ProgramAtoms,
) -> tuple[Kind, list[Cell]]:
    """The kind of a Match or an At and what its value rows return."""
    gap, sink = float(selection.gain), float(selection.sink)
    if isinstance(selection, SelectionTable):
        kind, best, key = "Match", gap, atoms.selection(selection.mask, selection.pairs)
    else:
        kind, best = "At", gap / 2 * len(selection.digits)
        key = atoms.code(selection.mask, selection.digits)
    if gap <= 0 or sink != best - gap / 2:
        raise VoidError("the sinks do not stand halfway between a match and the rest")
    returned: list[Cell] = []
    spread = 1.0
    for form in head.value:
        function = literal(cells, form, atoms)
        if function is not None and atoms.agree(key, function):
            read = atoms.read(key, function, level)
            returned.append(Raw(read, number, mean=(key, function)))
            continue
        terms = bits_of(form, cells, atoms)
        spread = max(spread, sum(abs(w) for w, _ in terms))
        returned.append(Chosen(key, tuple(terms), number))
    numbers = tuple(sorted({*selection.weights, *(w for row in head.value for w in row.values())}))
    # Exact where the scores are: `scores_fit` wants half the gap to be a whole number.
    size = max(best, abs(sink))
    return Selects(
        kind, head.attention, head.mask, gap, size, numbers, selection.sharpness, spread
    ), returned
