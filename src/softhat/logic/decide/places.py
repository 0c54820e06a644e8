"""What a comparison of counts owes to the ends of the word and to this position.

A linear form is a sum over the word's positions: the first, this one, the last, and any number of
inner ones between. If no inner position can add less than 0, the form is at least what the ends
and this position add; likewise from above. So where the ends, this position's letter and the
formulas that are counted there say enough, the comparison is decided, and so it is where no
position adds more than 0, or none less; elsewhere it stays open. What can stand together at a
position is asked of the formulas without counting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from softhat.logic.connectives import all_of, any_of
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, And, Formula, Not, Or

MOST_CASES = 64
"""Letters that weigh differently, times truth values of what is counted."""


class Added(NamedTuple):
    """What a position adds to a sum where it stands before, at or after position i."""

    before: int
    here: int
    after: int


class PlaceCase(NamedTuple):
    """Which letters stand at a position, what is counted there, and what that adds."""

    formula: Formula
    added: Added


class Range(NamedTuple):
    low: float
    high: float

    def plus(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)


NOTHING = Range(0, 0)
FIRST, LAST = nodes.FIRST, nodes.LAST
PLACES = {
    "only": And(FIRST, LAST),
    "first": And(FIRST, Not(LAST)),
    "inner": And(Not(FIRST), Not(LAST)),
    "last": And(Not(FIRST), LAST),
}
"""Where a position may be."""


def cases(
    letters: Sequence[tuple[Formula, Added]], operands: Sequence[tuple[Formula, Added]]
) -> list[PlaceCase] | None:
    """All that may stand at a position, as far as letters and truth values go; None if there are
    too many."""
    if len(letters) << len(operands) > MOST_CASES:
        return None
    cases_here = []
    for letter, weight in letters:
        for values in product((False, True), repeat=len(operands)):
            formula, total = letter, weight
            for (operand, more), value in zip(operands, values, strict=True):
                formula = all_of([formula, operand if value else Not(operand)])
                if value:
                    total = Added(*(a + b for a, b in zip(total, more, strict=True)))
            cases_here.append(PlaceCase(formula, total))
    return cases_here


def decided(
    all_cases: list[PlaceCase], constant: int, unknown: Formula, possible: Callable[[Formula], bool]
) -> Formula:
    """Where the sum with these cases, plus `constant`, is at least 0: spelt out where it is
    decided, `unknown` elsewhere."""
    at = {
        place: [case for case in all_cases if possible(And(where, case.formula))]
        for place, where in PLACES.items()
    }
    before = {"only": NOTHING, "first": NOTHING}
    before["inner"] = before["last"] = _range(
        [case.added.before for case in at["first"]], [case.added.before for case in at["inner"]]
    )
    after = {"only": NOTHING, "last": NOTHING}
    after["inner"] = after["first"] = _range(
        [case.added.after for case in at["last"]], [case.added.after for case in at["inner"]]
    )
    sure: Formula = FALSE
    open_: Formula = FALSE
    for place, where in PLACES.items():
        around = before[place].plus(after[place])
        for case in at[place]:
            here = constant + case.added.here
            if here + around.low >= 0:
                sure = any_of([sure, And(where, case.formula)])
            elif here + around.high >= 0:
                open_ = any_of([open_, And(where, case.formula)])
    if open_ == FALSE:
        return sure
    more, less = _somewhere(all_cases, 1), _somewhere(all_cases, -1)
    # Without a position that adds less than 0 it is at least `constant`, and 1 more with one that
    # adds more; without one that adds more it is at most `constant`, and only without the other.
    if constant >= 0:
        sure = any_of([sure, Not(less)])
    elif constant == -1:
        sure = any_of([sure, And(Not(less), more)])
    if constant <= 0:
        open_ = And(open_, more if constant else Or(more, Not(less)))
    return any_of([sure, And(open_, unknown)])


def _somewhere(all_cases: list[PlaceCase], sign: int) -> Formula:
    """Does some position add more (less) than 0?"""
    before, here, after = (
        any_of([case.formula for case in all_cases if case.added[zone] * sign > 0])
        for zone in range(3)
    )
    return Or(
        nodes.Yesterday(nodes.Once(before)), Or(here, nodes.Tomorrow(nodes.Eventually(after)))
    )


def _range(end: list[int], inner: list[int]) -> Range:
    """What an end and any number of inner positions add."""
    if not end:  # there is no such word
        return NOTHING
    low = -math.inf if min(inner, default=0) < 0 else min(end)
    high = math.inf if max(inner, default=0) > 0 else max(end)
    return Range(low, high)
