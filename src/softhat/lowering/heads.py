"""The attention heads: each kind as rows of its query and key matrices, with its theorem.

A row is a linear form over named residual coordinates; the score of key j for query i is
Σ_r query_r(x_i)·key_r(x_j). With unbounded positions the sharpness C is part of the weights and
the temperature is 1. With temperature scaling positions are divided by P and the inverse
temperature is C·P, so both targets have the same logits (Latest's losers excepted, which only
get lower). All scores are *anchored* at the query's own position: the winner's score is small,
so rounding hits only the losers.
"""

from __future__ import annotations

from dataclasses import dataclass

from softhat.program.heads import Direction
from softhat.program.registers import Register

Key = str | Register
Row = dict[Key, float]

ORDINARY: Row = {"ordinary": 1.0}
"""1 on the word's own positions, 0 at the sinks."""


@dataclass(frozen=True, slots=True)
class Units:
    """How a target writes positions and sharpness into its weights."""

    scaled: bool

    @property
    def i(self) -> str:
        return "i/P" if self.scaled else "i"

    @property
    def r(self) -> str:
        return "r/P" if self.scaled else "r"

    @property
    def unit(self) -> str:
        """1 in the unit of positions, on ordinary positions."""
        return "ordinary/P" if self.scaled else "ordinary"

    def toward(self, direction: Direction) -> str:
        """The position feature that grows in the direction's past."""
        return self.i if direction == "past" else self.r

    def weight(self, value: float, sharpness: float) -> float:
        return value / sharpness if self.scaled else value


def latest(
    bad: Row, direction: Direction, sharpness: float, units: Units
) -> tuple[list[Row], list[Row]]:
    """Theorem. Softmax of C(-2i·bad_j + j - i) over j <= i puts at least 1 - e^-C on the last j
    without bad, for every n (mirrored: r for i, over j >= i). The next candidate is one position
    away, so gaps are >= C, 2C, …: the leak is at most Σ e^-kC/(1 + Σ e^-kC) = e^-C. If every
    position is bad the winner is `<bos>` or i itself, where the value is 0. With temperature
    scaling the penalty of bad is 2CP instead of 2Ci."""
    here = units.toward(direction)
    c = units.weight(sharpness, sharpness)
    penalty: Row = {"1": -2.0} if units.scaled else {here: -2 * c}
    return [penalty, {"1": c}, {here: -c}], [bad, {here: 1.0}, {"1": 1.0}]


def previous(direction: Direction, sharpness: float, units: Units) -> tuple[list[Row], list[Row]]:
    """Theorem. Softmax of C(j - i - 2(1 + (-1)^(i+j))) over j <= i puts all but
    (e^-2C + e^-3C)/(1 - e^-2C) on j = i-1, for every n: positions of i's own parity lose 4C,
    those of the other parity 2C a step, and i-1 (`<bos>` for i = 1) is the first of them."""
    here = units.toward(direction)
    c = units.weight(sharpness, sharpness)
    alternating = "(-1)^i/P" if units.scaled else "(-1)^i"
    one = "ordinary/P" if units.scaled else "1"
    queries: list[Row] = [{"1": c}, {here: -c, one: -2 * c}, {"(-1)^i": -2 * c}]
    return queries, [{here: 1.0}, {"1": 1.0}, {alternating: 1.0}]


@dataclass(frozen=True, slots=True)
class SignTerms:
    """What Sign compares: the averages (a row each) and position·i + length·n >= threshold."""

    past: Row | None
    future: Row | None
    total: Row | None
    position: int
    length: int
    threshold: int
    opposed: float
    """How much a step away from i can gain: max (z - x) (mirrored: max (x - z)), at least 0."""


def sign(
    terms: SignTerms, direction: Direction, sharpness: float, units: Units
) -> tuple[list[Row], list[Row]]:
    """Theorem. With y = Σcounts + position·i + length·n - (threshold - 1/2), a half-integer,
    softmax of C'(x_i(j+1) + t_i(n+2) + z_i(r_j+1) + position·i + length·n - threshold + 1/2)
    + D(j-i) on ordinary j <= i, and of 0 on `<bos>`, gives the ordinary positions all but
    e^(-C'/2) of the weight if y > 0 and at most e^(-C'/2)/(1 - e^-C') if y < 0, for every n.
    x, t, z are the past, total and future averages, so at j = i the bracket is y, |C'y| >= C'/2;
    each step away from i costs D + C'(x - z) >= C'. The value is 1 on ordinary positions.
    Mirrored for comparisons of future counts only: over j >= i, with `<eos>` the sink. C' is 4C,
    more than the leak needs: rounding eats a share of C'/2, and what is left must still tell."""
    here = units.toward(direction)
    gain = units.weight(4 * sharpness, sharpness)  # C' = 4C
    steep = units.weight(steepness(4 * sharpness, terms.opposed), sharpness)
    pairs: list[tuple[Row, Row]] = []
    ranges: list[tuple[Row | None, Row]] = [
        (terms.past, {units.i: 1.0, units.unit: 1.0}),
        (terms.total, {units.i: 1.0, units.r: 1.0, units.unit: 1.0}),
        (terms.future, {units.r: 1.0, units.unit: 1.0}),
    ]
    for average, key in ranges:
        if average is not None:
            pairs.append(({at: gain * w for at, w in average.items()}, key))
    # n = i + r - 1; the constant has a row of its own so that neither row needs more bits. The
    # large factors are in the keys: a query such as D·i would overflow float16 first.
    offset = terms.threshold - 0.5 + terms.length
    if terms.position or terms.length:
        query: Row = {units.i: float(terms.position + terms.length)}
        if terms.length:
            query[units.r] = float(terms.length)
        pairs.append((query, {"ordinary": gain}))
    pairs.append(({units.unit: -offset}, {"ordinary": gain}))
    pairs.append(({"1": steep}, {here: 1.0}))
    pairs.append(({here: -1.0}, {"ordinary": steep}))
    return [query for query, _ in pairs], [key for _, key in pairs]


def steepness(gain: float, opposed: float) -> float:
    """D: the least power of two >= C'(opposed + 1). A small D leaves more digits to the rest."""
    steep = 1.0
    while steep < gain * (opposed + 1):
        steep *= 2
    return steep
