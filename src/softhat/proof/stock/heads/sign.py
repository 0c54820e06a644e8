"""Sign: whether a comparison of counts holds, by the sign of their mean.

**Theorem 20.** Scores S·x_i on ordinary j and 0 on `<bos>` give the ordinary positions all but e^-s
of the weight if S·x_i >= s, and at most n·e^-s if S·x_i <= -s. The mean x_i is (integer multiple of
a unit + constant)/(i+1), never nearer to 0 than its least/(i+1).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np

from softhat.io.errors import VoidError
from softhat.numbers.rationals import common_divisor
from softhat.proof.atoms import CountSum
from softhat.proof.softmax import RowFact
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.counts import nearest
from softhat.proof.stock.kind import HeadForms, Pair, StockHead, StockScores, Vector, is_read
from softhat.proof.stock.storage import U
from softhat.proof.stock.variables import Cell, MeanCell, split


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SignHead(StockHead):
    """Softmax of S·x_i on the word's own positions and 0 on `<bos>`."""

    kind = "Sign"

    decision: float
    """S·least: i+1 times the least |score|."""
    key: float
    """On the word's own positions; at `<bos>` it is 0."""
    sizes: Vector | None
    """|score| at each position, if the mean counts positions alone: small only near its
    threshold."""

    def least(self, keys: int) -> float:
        """The least |score| of words that have so many keys."""
        if self.sizes is not None and keys > 1:
            return float(self.sizes[1:keys].min())
        return self.decision / keys

    def kept(self, scores: StockScores) -> float:
        """The least share that leaves nothing of what loses: scores that are large need a tenth,
        and in float32 means may be asked for more."""
        for share in scores.shares[:-1]:
            if self._leak(scores, share) <= U:
                return share
        return scores.shares[-1]

    def fact(self, scores: StockScores) -> RowFact:
        leak = self._leak(scores, self.kept(scores))
        return RowFact("sign", leak, leak, scores.keys)

    def _leak(self, scores: StockScores, share: float) -> float:
        """e² is for keys whose scores are not quite the same."""
        left = scores.left(self, self.key, self.least(scores.keys), share)
        return scores.keys * exp(min(700.0, 2 - left))


def fits(h: HeadForms, cells: list[Cell]) -> bool:
    return any(isinstance(cell, MeanCell) for cell in h.asked(cells))


def recognise(h: HeadForms, cells: list[Cell], atoms: BoundedAtoms) -> tuple[SignHead, list[Cell]]:
    if len(h.used) != 1 or is_read(h.query[h.used[0]][1]) or is_read(h.key[h.used[0]][1]):
        raise VoidError(f"{h.where} compares by more than one row")
    (p,) = h.used
    query, key = h.query[p][0], h.key[p][0]
    means = [(cells[at], w) for at, w in query.weights.items()]
    if len(means) != 1 or query.constant or not isinstance(means[0][0], MeanCell):
        raise VoidError(f"{h.where} has scores that no kind of head has")
    mean, weight = means[0]
    assert isinstance(mean, MeanCell)
    against = split(key, cells)
    if against.bits or against.others or against.bos != 0 or against.ordinary == 0:
        raise VoidError(f"{h.where} does not compare the word's own positions with <bos>")
    slope = Fraction(weight) * Fraction(mean.amplitude) * against.ordinary / Fraction(h.root)
    if slope < 0:
        raise VoidError(f"{h.where} attends to the word where the mean is negative")
    unit = common_divisor([mean.base, *(a for a, _ in mean.terms)])
    least, threshold = nearest(mean.bos, unit)
    if not least:
        raise VoidError(f"{h.where} compares nothing, or the sign of 0 would decide")
    total = CountSum()  # without a unit nothing is counted, and the constant alone decides
    if unit:
        for a, f in mean.terms:
            total = total.plus(CountSum({("past", f): 1}), int(a / unit))
        total = total.plus(CountSum(position=1), int(mean.base / unit))
    function = atoms.at_least(total, threshold, h.level)
    if any(value != atoms.space.true for value in h.literals(cells, atoms)):
        raise VoidError(f"{h.where} compares, but its value is not 1 on the word's own positions")
    head = SignHead(
        block=h.block,
        head=h.head,
        pairs=(Pair(p, "content", 0j, True),),
        decision=float(slope * least),
        key=float(abs(against.ordinary)),
        sizes=None if mean.terms else _positional(mean, slope, h.context),
    )
    return head, h.written([function] * len(h.values))


def _positional(mean: MeanCell, slope: Fraction, context: int) -> Vector:
    sizes = [slope * abs(mean.base * i + mean.bos) / (i + 1) for i in range(context)]
    return np.array([float(size) for size in sizes])
