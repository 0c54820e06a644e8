"""Selectors of RASP programs as formulas: what is read at the selected positions, how many there
are, and the digits of positions.

A selector's keys are categories, so `Match` is "some selected key has the value" (all agree on it),
and the number of selected positions is a count for each query that holds. A code that is compared
digit by digit is `last[value | key = query, …]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from softhat.logic.connectives import all_of
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, Formula, Term
from softhat.program.heads import Mask
from softhat.program.inputs import PositionBit

MOST_CASES = 256
"""Cases of a count: which queries of its selectors hold."""
MOST_PERIOD = 1 << 10
"""Of a digit of a position, which is a residue of the position."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A selector with formulas for its queries and keys."""

    queries: tuple[Formula, ...]
    keys: tuple[Formula, ...]
    table: tuple[tuple[int, int], ...]
    mask: Mask
    exclusive: bool
    """Is it plain that no two queries hold at one position?"""

    def matched(self, query: int) -> list[Formula]:
        """The keys that a query matches; no position has two of them."""
        return [self.keys[key] for asks, key in self.table if asks == query]


def some(selection: Selection, value: Formula) -> Formula:
    """`Match`: a selected position has the value."""
    cases = []
    for at, query in enumerate(selection.queries):
        key = nodes.any_of(selection.matched(at))
        if key != FALSE:
            cases.append(all_of([query, _seen(all_of([key, value]), selection.mask)]))
    return nodes.any_of(cases)


def coded(digits: Sequence[tuple[Formula, Formula]], value: Formula, mask: Mask) -> Formula | None:
    """`At`: the value at the position whose keys are the queries here; positions with one code
    agree on it, so the last of them says it."""
    return nodes.recall(value, *digits) if mask == "<=" else None


def stepped(counted: Iterable[tuple[int, Selection]], turns: Sequence[int]) -> Formula | None:
    """`Steps`: Σ a·w, with w the number of positions that a selector selects, is at least an odd
    number of `turns`."""
    weighted = list(counted)
    cases = [_cases(selection) for _, selection in weighted]
    size = 1
    for alternatives in cases:
        if alternatives is None:
            return None
        size *= len(alternatives)
    if size > MOST_CASES:
        return None
    ways = []
    for chosen in product(*(alternatives or [] for alternatives in cases)):
        total: Term = nodes.Integer(0)
        for (a, _), (_, count) in zip(weighted, chosen, strict=True):
            total = nodes.Sum(total, a * count)
        ways.append(nodes.all_of([*(when for when, _ in chosen), _turned(total, turns)]))
    return nodes.any_of(ways)


def digit(signal: PositionBit) -> Formula | None:
    """A binary digit of a·i + c: a residue of i, where the number is not negative."""
    period = 2 << signal.bit
    if signal.length or period > MOST_PERIOD:
        return None
    a, c = signal.position, signal.constant
    residues = [r for r in range(period) if (a * r + c) % period >> signal.bit & 1]
    periodic = nodes.any_of(nodes.Mod(period, r) for r in residues)
    return all_of([a * nodes.position >= -c, periodic])


def _cases(selection: Selection) -> list[tuple[Formula, Term]] | None:
    """Which queries hold, and how many positions are selected there; None if that are too many."""
    counts = []
    for at in range(len(selection.queries)):
        key = nodes.any_of(selection.matched(at))
        counts.append(count_seen(key, selection.mask))
    none = nodes.all_of(nodes.Not(query) for query in selection.queries)
    nothing: tuple[Formula, Term] = (none, nodes.Integer(0))
    if selection.exclusive:
        return [nothing, *zip(selection.queries, counts, strict=True)]
    if 2 ** len(counts) > MOST_CASES:
        return None
    cases: list[tuple[Formula, Term]] = []
    for holds in product((False, True), repeat=len(counts)):
        total: Term = nodes.Integer(0)
        for yes, count in zip(holds, counts, strict=True):
            total = nodes.Sum(total, count) if yes else total
        pairs = zip(holds, selection.queries, strict=True)
        cases.append((nodes.all_of(q if yes else nodes.Not(q) for yes, q in pairs), total))
    return cases


def _turned(total: Term, turns: Sequence[int]) -> Formula:
    """The number of turns that the total has reached is odd."""
    between = [
        nodes.And(total >= low, total < high)
        for at, (low, high) in enumerate(pairwise(turns))
        if at % 2 == 0
    ]
    beyond = [total >= turns[-1]] if len(turns) % 2 else []
    return nodes.any_of([*between, *beyond])


def _seen(formula: Formula, mask: Mask) -> Formula:
    """The formula holds at a position that the mask shows."""
    back, ahead = nodes.Once(formula), nodes.Eventually(formula)
    shown: dict[Mask, Formula] = {
        "<=": back, "<": nodes.Yesterday(back), ">=": ahead, ">": nodes.Tomorrow(ahead),
        "none": nodes.Or(back, ahead),
    }  # fmt: skip
    return shown[mask]


def count_seen(formula: Formula, mask: Mask) -> Term:
    """The number of positions that the mask shows and where the formula holds: j < i is j <= i of
    the position before."""
    match mask:
        case "<=":
            return nodes.Count(formula)
        case "<":
            return nodes.Count(nodes.Yesterday(formula))
        case ">=":
            return nodes.CountFuture(formula)
        case ">":
            return nodes.CountFuture(nodes.Tomorrow(formula))
        case "none":
            return nodes.CountAll(formula)
