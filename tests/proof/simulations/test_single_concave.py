"""Concave scores, against brute force: neighbours of the maximum, and peaks at integers."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from softhat.ahat import Builder
from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.builder import Expr
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT, BOS
from softhat.proof.simulations.single import integer_peak, parabolas
from tests.ahat.definition import evaluate
from tests.slices import sizes


def by_count(slope: Fraction, curve: Fraction, of: str = "bos", shift: int = 0) -> AHAT:
    """Scores (slope·k·j - curve·j²)/(n+1), k the number of a's (plus a shift times 1/(n+1))."""
    b = Builder("ab", bos=True)
    unit = b.embed("bos", {BOS: 1}) if of == "bos" else b.token("b")
    shares = b.head("none", value={"k": b.token("a"), "1": unit})
    b_of_k: Expr = slope * shares["k"] + shift * shares["1"]
    i, square = b.position("i"), b.position("i^2")
    score = [(b_of_k, i), (-curve * shares["1"], square)]
    b.output(b.head("none", value={"found": b.token("a")}, score=score)["found"])
    return b.build()


def rows_of(model: AHAT, n: int) -> list[list[Fraction]]:
    """The scores of the second layer, of every row of every word."""
    return [
        [row[j] for j in sorted(row)]
        for word in itertools.product("ab", repeat=n)
        for row in evaluate(model, word).rows[1, 0]
    ]


@pytest.mark.parametrize(
    ("slope", "curve", "shift", "single"),
    [(2, 1, 0, True), (4, 1, 2, True), (6, 3, 0, True), (1, 1, 0, False), (2, 1, 1, False),
     (2, 3, 0, False)],
)  # fmt: skip
def test_peaks_that_averages_find(slope: int, curve: int, shift: int, single: bool) -> None:
    model = by_count(Fraction(slope), Fraction(curve), shift=shift)
    view = gap_laws(model).portrait.views[1, 0]
    assert parabolas(view) is not None
    assert integer_peak(view) == single
    tied = any(row.count(max(row)) > 1 for n in range(1, 6) for row in rows_of(model, n))
    assert not (single and tied)


def test_a_unit_that_may_be_anything_is_no_unit() -> None:
    """1/(n+1) must come from a sink: the share of b's is a multiple of it."""
    view = gap_laws(by_count(Fraction(2), Fraction(1), of="b")).portrait.views[1, 0]
    assert parabolas(view) is not None and not integer_peak(view)
    convex = gap_laws(by_count(Fraction(2), Fraction(-1))).portrait.views[1, 0]
    assert not integer_peak(convex)


@pytest.mark.parametrize("longest", sizes(4, 5))
def test_neighbours_lie_whole_gaps_below(longest: int) -> None:
    rng = random.Random(3)
    models = [GALLERY["retrieval-by-count"]()]
    models += [by_count(Fraction(rng.randint(1, 5)), Fraction(rng.randint(1, 4))) for _ in range(4)]
    for model in models:
        law = gap_laws(model).gap[1, 0]
        assert law is not None
        for n in range(1, longest + 1):
            for row in rows_of(model, n):
                top = max(row)
                best = [j for j, s in enumerate(row) if s == top]
                for j, s in enumerate(row):
                    away = min(abs(j - w) for w in best)
                    assert top - s >= away * law.at(n)
