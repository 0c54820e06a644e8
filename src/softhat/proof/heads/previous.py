"""Previous (mirrored: Next): the value at i-1, or at the sink.

    score = B(j - i) - A0 - A1·(-1)^(i+j),  2·A1 > B

**Theorem 3** (`previous_shape` of proofs/Previous.v). All but (e^-2B + e^(B - 2·A1))/(1 - e^-2B) of
the attention is on j = i-1, for every n: positions of i's own parity lose 2·A1 - B, then 2B a
step, those of the other parity 2B a step, and i-1 (`<bos>` for i = 1) is the first of them.

**In floats** (`previous_float` of proofs/Floats.v for the scores). The alternation adds A1 for
keys of the other parity and -A1 for those of i's own, so the two have errors of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, expm1

from softhat.io.errors import VoidError
from softhat.numbers.rationals import power_of_two
from softhat.numerics.formats import Format
from softhat.proof.cells import Cell, Raw
from softhat.proof.heads.kind import Kind, SlopedKind
from softhat.proof.heads.reading import NO_KIND, Reading, refuse_averages, slope_of
from softhat.proof.scores import Row, rounded, rows_of, total_of
from softhat.proof.softmax import Ladder, RowFact, one_winner

NAMES = {"Previous": "looks at the position before", "Next": "looks at the position after"}

_SIGN = "(-1)^i"


@dataclass(frozen=True, slots=True)
class PreviousKind(SlopedKind):
    """Softmax of B(j - i) - A0 - A1·(-1)^(i+j)."""

    CALLED = tuple(NAMES)
    NUMBERS = ("slope", "offset", "alternation")

    offset: float
    alternation: float

    @property
    def min_gap(self) -> float:
        return min(2 * self.slope, 2 * self.alternation - self.slope)

    @property
    def leak(self) -> float:
        """`previous_leak`."""
        if self.scores.attention == "hard":
            return 0.0
        losers = exp(-2 * self.slope) + exp(self.slope - 2 * self.alternation)
        return losers / -expm1(-2 * self.slope)

    def row(self, n: int, form: Format) -> RowFact:
        """Gaps are 2B, 4B, … for the other keys of i-1's parity, 2·A1 - B, + 2B, … for i's."""
        rows = rows_of(self.scores, n, form)
        sharpness = self.scores.sharpness
        # i-1 and keys of its parity gain by the alternation what keys of i's own parity lose.
        near = total_of(self._with_parity(rows, own=False), sharpness, form)
        away = total_of(self._with_parity(rows, own=True), sharpness, form)
        if max(near.size, away.size) > form.held.largest:
            raise VoidError("scores overflow")
        winner = abs(self.alternation - self.offset - self.slope)
        far = 0.0
        errors = []
        for total in (near, away):
            # Scores beyond what storage holds exactly are losers by nearly that much.
            exact = 2.0**form.held.digits * total.grid
            size = total.size
            beyond = form.u_score and size > exact > winner
            if beyond and not total.error and power_of_two(sharpness):
                far = (n + 2) * exp(-min(700.0, exact - winner))
                size = exact
            errors.append(rounded(total, sharpness, size, form))
        error, own_error = errors
        step = 2 * self.slope
        other = Ladder(step, step, 2 * error)
        own = Ladder(2 * self.alternation - self.slope, step, error + own_error)
        return one_winner((other, own), n, form, self.scores.attention == "hard", far)

    def _with_parity(self, rows: list[Row], own: bool) -> list[Row]:
        """The rows for keys of the query's own parity, or of the other.

        The one row that alternates is -A1 for the former and A1 for the latter.
        """
        signs = [[e.base == _SIGN for side in row for e in side] for row in self.scores.rows]
        if sum(map(any, signs)) != 1:
            return rows
        at = next(k for k, row_signs in enumerate(signs) if any(row_signs))
        if not all(signs[at]):
            return rows
        changed = replace(rows[at], high=0.0) if own else replace(rows[at], low=0.0)
        return [*rows[:at], changed, *rows[at + 1 :]]


def fits(reading: Reading) -> bool:
    return any(query == _SIGN for query, _, _ in reading.terms)


def recognise(reading: Reading) -> tuple[Kind, list[Cell]]:
    terms = dict(reading.terms)
    refuse_averages(reading.scores)
    slope = slope_of(terms, reading.here)
    alternation = -terms.pop((_SIGN, _SIGN, 0), Fraction(0))
    ones = (terms.pop((one, "1", 0), Fraction(0)) for one in ("1", "ordinary"))
    offset = -sum(ones, Fraction(0))
    if terms:
        raise VoidError(NO_KIND)
    if 2 * alternation <= slope:
        raise VoidError("keys of the query's own parity are not ruled out")
    raws: list[Cell] = [
        Raw(reading.atoms.previous(value, reading.direction, reading.level), reading.number)
        for value in reading.values()
    ]
    numbers = (float(slope), float(offset), float(alternation))
    return PreviousKind(reading.direction, reading.scores, *numbers), raws
