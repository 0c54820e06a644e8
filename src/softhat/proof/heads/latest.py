"""Latest (mirrored: Earliest): the value at the last j <= i that is not ruled out.

    score = B(j - i) - A·i·bad_j,  A >= 2B   (with temperature scaling A·P·bad_j)

**Theorem 1** (`latest_leak`, `latest_unbounded`, `latest_temperature` of proofs/Latest.v; what it
computes: `since_latest`). All but e^-B of the attention is on the last j without bad, for every
n: the next candidates are 1, 2, … positions away, so gaps are B, 2B, …, and those of keys that
are ruled out are at least as large.

**Theorem 2** (`strict_latest_leak` of proofs/StrictLatest.v): StrictLatest (mirrored:
StrictEarliest), the same over j < i. A key less can only raise the winner's share. `<bos>` is never
bad, so it is there to be found; it sees no key itself and gets 0. So the head computes Y of what
Latest computes, and Latest's bounds hold.

**In floats** (`latest_float` of proofs/Floats.v for the scores). The one row that rules keys out
is exactly 0 for all others, so their scores are only B·j and -B·i, exact while these are; a
ruled-out key's score is off by a share of its own size.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp

from softhat.io.errors import VoidError
from softhat.numerics.formats import Format
from softhat.proof.cells import Cell, Feature, Form, Raw, literal
from softhat.proof.heads.kind import Kind, SlopedKind
from softhat.proof.heads.reading import NO_KIND, Key, Reading, refuse_averages, slope_of
from softhat.proof.scores import CARE, rounded, rows_of, total_of
from softhat.proof.softmax import Ladder, RowFact, one_winner

STRICT = ("<", ">")
"""Masks that hide the query's own position."""
NAMES = {
    "Latest": "looks back to the last position that decides",
    "Earliest": "looks ahead to the first position that decides",
    "StrictLatest": "looks back to the last position before it that decides",
    "StrictEarliest": "looks ahead to the first position after it that decides",
}


@dataclass(frozen=True, slots=True)
class LatestKind(SlopedKind):
    """Softmax of B(j - i) - A·i·bad_j."""

    CALLED = tuple(NAMES)[:2]
    NUMBERS = ("slope", "penalty")

    penalty: float

    @property
    def min_gap(self) -> float:
        return self.slope

    @property
    def leak(self) -> float:
        """e^-B = Σ e^-kB / (1 + Σ e^-kB): `latest_leak`."""
        return 0.0 if self.scores.attention == "hard" else exp(-self.slope)

    def row(self, n: int, form: Format) -> RowFact:
        """Gaps are B, 2B, …, less twice the error of a score; those of ruled-out keys larger."""
        rows = rows_of(self.scores, n, form)
        keys = [key for _, key in self.scores.rows]
        ruling = [any(e.base in ("bit", "ordinary") for e in key) for key in keys]
        plain_rows = [row for row, rules in zip(rows, ruling, strict=True) if not rules]
        sharpness = self.scores.sharpness
        total = total_of(plain_rows, sharpness, form)
        if total.size > form.held.largest:
            raise VoidError("scores overflow")
        error = rounded(total, sharpness, total.size, form)
        # A ruled-out key's score is off by a share of its own size, (A + 2B)·i at most, and of
        # what its other rows hold beyond the 2B·i of B·j and B·i.
        share = (len(rows) + 3) * 2 * form.u_sum + 4 * 2.0**-form.digits
        held = sharpness * sum(max(-row.low, row.high) for row in plain_rows)
        if any(ruling):
            error += share * max(0.0, held - 2 * self.slope * n * CARE)
        ruled = share * (self.penalty + 2 * self.slope) / self.slope if any(ruling) else 0.0
        ladder = Ladder(self.slope, self.slope, 2 * error + self.slope * ruled, min(ruled, 0.9))
        return one_winner((ladder,), n, form, self.scores.attention == "hard")


@dataclass(frozen=True, slots=True)
class StrictLatestKind(LatestKind):
    """The same over j < i."""

    CALLED = tuple(NAMES)[2:]


def fits(reading: Reading) -> bool:
    return (reading.here, "1", 0) in reading.terms


def recognise(reading: Reading) -> tuple[Kind, list[Cell]]:
    cells, atoms, terms = reading.cells, reading.atoms, dict(reading.terms)
    slope = slope_of(terms, reading.here)
    # The penalty of a bad key: A·i with unbounded positions, A·P with temperature scaling.
    across = ("1", 1) if reading.head.attention == "temperature" else (reading.here, 0)
    form: Form = {}
    penalty = max((abs(value) for value in terms.values()), default=Fraction(0))
    for (query, key, power), value in terms.items():
        if (query, power) != across or not (isinstance(key, int) or key == "ordinary"):
            raise VoidError(NO_KIND)
        at = key if isinstance(key, int) else cells.index(Feature("ordinary", 0))
        form[at] = float(-value / penalty)
    bad = literal(cells, form, atoms)
    if bad is None:
        raise VoidError("the keys that it rules out are not a stored bit or the negation of one")
    if form and penalty < 2 * slope:
        raise VoidError(
            f"ruling out a key costs {float(penalty)}·{reading.here}, less than twice the slope"
        )
    refuse_averages(reading.scores)
    _one_row_rules_out(reading, bad, across)
    strict = reading.head.mask in STRICT
    raws: list[Cell] = []
    for held in reading.values():
        if atoms.space.both(bad, held) != atoms.space.false:
            raise VoidError("its value does not imply that the key is not ruled out")
        function = atoms.since(bad, held, reading.direction, reading.level)
        if strict:
            function = atoms.previous(function, reading.direction, reading.level)
        raws.append(Raw(function, reading.number))
    kind = StrictLatestKind if strict else LatestKind
    return kind(reading.direction, reading.scores, float(slope), float(penalty)), raws


def _one_row_rules_out(reading: Reading, bad: int, across: tuple[Key, int]) -> None:
    """Keys are ruled out by one row, whose key is a multiple of `bad` and whose query has one
    sign: so the penalty of other keys is exactly 0, and that of these is off by a share of it."""
    head, what = reading.head, reading.what
    ruling = [
        (query, key)
        for query, key in zip(head.query, head.key, strict=True)
        if any(isinstance(what(at)[0], int) or what(at)[0] == "ordinary" for at in key)
    ]
    if len(ruling) > 1:
        raise VoidError("several rows rule out keys, and could cancel")
    for query, key in ruling:
        scaled = head.attention == "temperature"
        if any((what(at)[0], what(at)[1] + scaled) != across for at in query):
            raise VoidError("the row that rules out keys has a query of another form")
        if min(query.values()) < 0 < max(query.values()):
            raise VoidError("the weights that rule out keys cancel")
        size = max(map(abs, key.values())) * (-1 if min(query.values()) > 0 else 1)
        if literal(reading.cells, {at: w / size for at, w in key.items()}, reading.atoms) != bad:
            raise VoidError("a row mixes positions with the keys that it rules out")
