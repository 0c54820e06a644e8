"""Shift (mirrored: ShiftAhead): the value at i-c, told from others by residues.

    score = B(j - i) - A·[j ≢ i-c mod m],  0 < c < m,  A >= (c+2)B
            (with temperature scaling A·P for A, A >= 2B)

`<bos>` has no residue and is never penalised.

**Theorem 4** (`shift_leak` of proofs/Shift.v). All but
e^-B + e^-g/(1 - e^-B) + e^-mB/(1 - e^-mB), g = A - cB, of the attention is on i-c, or on `<bos>`
where that is no position, for every n: `<bos>` is at least one position further, keys of other
residues lose g and B more for each step from i, those of the winner's residue lose mB, 2mB, …

**In floats.** A row that penalises is 0 times something, or something times 0, for keys of the
winner's residue and for `<bos>`: their scores are only B·j and -B·i, exact while these are. A
penalised key has one term more, and its gap has room for the two additions to round.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, inf

from softhat.io.errors import VoidError
from softhat.numbers.rationals import power_of_two
from softhat.numerics.formats import NARROW, Format
from softhat.proof.cells import Bit, Cell, Feature, Form, Raw
from softhat.proof.heads.kind import Kind, SlopedKind
from softhat.proof.heads.reading import NO_KIND, Reading, refuse_averages, slope_of
from softhat.proof.scores import CARE, rounded, rows_of, scale, total_of
from softhat.proof.softmax import Ladder, RowFact, one_winner

NAMES = {
    "Shift": "looks at the position a fixed distance before",
    "ShiftAhead": "looks at the position a fixed distance after",
}


@dataclass(frozen=True, slots=True)
class ShiftKind(SlopedKind):
    """Softmax of B(j - i) - A·[j ≢ i-c mod m]."""

    CALLED = tuple(NAMES)
    NUMBERS = ("slope", "penalty", "distance", "modulus")

    penalty: float
    distance: int
    modulus: int

    @property
    def min_gap(self) -> float:
        return min(self.slope, self._gap)

    @property
    def _gap(self) -> float:
        """g for every n. With temperature scaling P >= n+2 and A >= 2B, and the winner gives up
        at most B·n: at least B(n + 4) >= 5B."""
        if self.scores.attention == "temperature":
            return 5 * self.slope
        return self.penalty - self.slope * self.distance

    @property
    def leak(self) -> float:
        """`shift_leak`."""
        if self.scores.attention == "hard":
            return 0.0
        slope, far = self.slope, self.modulus * self.slope
        others = exp(-self._gap) / -expm1(-slope)
        return exp(-slope) + others + exp(-far) / -expm1(-far)

    def row(self, n: int, form: Format) -> RowFact:
        """Gaps are B for `<bos>`, mB, 2mB, … for keys of the winner's residue, g, g + B, … for
        the penalised ones, each less the errors of the two scores."""
        rows = rows_of(self.scores, n, form)
        sharpness = self.scores.sharpness
        ruling = [any(e.base == "bit" for e in query) for query, _ in self.scores.rows]
        plain_rows = [row for row, rules in zip(rows, ruling, strict=True) if not rules]
        penalties = [row for row, rules in zip(rows, ruling, strict=True) if rules]
        plain = total_of(plain_rows, sharpness, form)
        error = rounded(plain, sharpness, plain.size, form)
        # Three terms of a penalised score are not 0, so two additions can be off, each by half
        # the spacing of the largest partial sum; then it is multiplied by β and stored.
        lost = max(-row.low for row in penalties)
        size = max(sum(row.high for row in plain_rows), sum(-row.low for row in plain_rows) + lost)
        operands = sum(row.error for row in plain_rows) + max(row.error for row in penalties)
        grid = min(row.grid for row in rows)
        spacing = form.grid_of_score(size + operands, len(rows))
        off = (operands + (spacing if spacing > grid else 0.0)) * sharpness * CARE
        logit = size * sharpness * CARE
        digits = form.wide_digits if len(rows) > NARROW else form.sum_digits
        if not power_of_two(sharpness) or operands:
            off += (logit + off) * (3 * form.u_sum + 2 * 2.0**-form.digits)
        elif form.digits < digits and not form.holds(size * sharpness, grid * sharpness):
            off += (logit + off) * 2.0**-form.digits
        if logit + off > form.largest:
            raise VoidError("scores overflow")
        slope, far = self.slope, self.modulus * self.slope
        # The winner gives up B·c, or B·i to `<bos>` where i <= c.
        gap = self.penalty * scale(self.scores.attention, n) - slope * min(self.distance, n)
        sink, same = Ladder(slope, inf, 2 * error), Ladder(far, far, 2 * error)
        others = Ladder(gap, slope, error + off * CARE)  # from i on
        return one_winner((sink, same, others), n, form, self.scores.attention == "hard")


def fits(reading: Reading) -> bool:
    anchored = (reading.here, "1", 0) in reading.terms
    return anchored and any(isinstance(query, int) for query, _, _ in reading.terms)


def recognise(reading: Reading) -> tuple[Kind, list[Cell]]:
    terms = dict(reading.terms)
    refuse_averages(reading.scores)
    slope = slope_of(terms, reading.here)
    power = 1 if reading.head.attention == "temperature" else 0
    penalties = {-value if key == "ordinary" else value for (_, key, _), value in terms.items()}
    if any(not isinstance(query, int) or p != power for query, _, p in terms):
        raise VoidError(NO_KIND)
    if len(penalties) != 1:
        raise VoidError("keys of other residues do not all lose the same")
    moduli, residues, distances = set[int](), list[int](), set[int]()
    for query, key in zip(reading.head.query, reading.head.key, strict=True):
        if not query or all(isinstance(reading.cells[at], Feature) for at in (*query, *key)):
            continue
        (modulus, i), (other, j) = _penalised(reading, query, key)
        moduli |= {modulus, other}
        residues.append(i)
        distances.add((i - j if reading.direction == "past" else j - i) % modulus)
    if len(moduli) != 1 or len(distances) != 1 or sorted(residues) != list(range(*moduli)):
        raise VoidError("its residues are not all those of one modulus, at one distance")
    ((modulus,), (distance,), (penalty,)) = moduli, distances, penalties
    if not distance or penalty < (2 * slope if power else slope * (distance + 2)):
        raise VoidError("keys of other residues are not ruled out")
    raws: list[Cell] = []
    for value in reading.values():
        for _ in range(distance):
            value = reading.atoms.previous(value, reading.direction, reading.level)
        raws.append(Raw(value, reading.number))
    numbers = (float(slope), float(penalty), distance, modulus)
    return ShiftKind(reading.direction, reading.scores, *numbers), raws


def _penalised(reading: Reading, query: Form, key: Form) -> tuple[tuple[int, int], tuple[int, int]]:
    """The residues of a row that is one residue of the query times (ordinary - another) of the key:
    exactly 0 for a key of that other residue, whatever the weights are."""
    keys = {reading.what(at)[0]: weight for at, weight in key.items()}
    plain = keys.pop("ordinary", None)
    if len(query) != 1 or len(key) != 2 or plain is None or list(keys.values()) != [-plain]:
        raise VoidError(NO_KIND)
    ((one, _),) = query.items()
    ((other, _),) = keys.items()
    return _residue(reading, one), _residue(reading, other)


def _residue(reading: Reading, at: int | str) -> tuple[int, int]:
    cell = reading.cells[at] if isinstance(at, int) else None
    residue = reading.atoms.residues.get(cell.function) if isinstance(cell, Bit) else None
    if residue is None:
        raise VoidError("it compares something that is no residue of the position")
    return residue
