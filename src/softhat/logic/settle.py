"""Constants that only meaning shows: subformulas that hold always or never, for every length.

What the rules of `simplify` do not see is tried on sample words; what never changes there is a
candidate, and `decide` proves it for words of every length, or it stays. Then no head that is
compiled is constant, and no gate without an assignment, as far as proofs within a small effort
reach.
"""

from __future__ import annotations

from collections.abc import Sequence

from softhat.errors import SofthatError
from softhat.logic.core import to_core
from softhat.logic.sample import Rows, Seen, sampled
from softhat.logic.simplify import simplify
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, And, Constant, Formula, Node, Not
from softhat.logic.syntax.walk import distinct, rebuild

STEPS, WORDS = 60_000, 1 << 15
"""The effort for one candidate: a fifth of a second at most."""
MOST_NODES = 300
"""Larger formulas are left alone: their candidates are too many to prove."""
MOST_CANDIDATES = 24
MOST_OPEN = 2
"""After so many candidates that were neither proved nor refuted within the effort, no more are
tried: those of one formula are alike."""

_DECIDED = (
    nodes.And,
    nodes.Or,
    nodes.Xor,
    nodes.Yesterday,
    nodes.Tomorrow,
    nodes.Since,
    nodes.Until,
    nodes.Comparison,
)
"""Core operators that become a head or a gate."""


def settled(formula: Formula, symbols: Sequence[str], propositional: bool) -> Formula:
    """The same truth value at every position of every word over `symbols`, constants as such."""
    for _ in range(8):  # what is left of a formula may show the next constant
        once = _settled(formula, symbols, propositional)
        if once is formula:
            return formula
        formula = simplify(once)
    return formula


def _settled(formula: Formula, symbols: Sequence[str], propositional: bool) -> Formula:
    core = to_core(formula)
    rows, (root,) = distinct(core)
    asked = [at for at, (node, _) in enumerate(rows) if isinstance(node, _DECIDED)]
    if not propositional:  # what only asks for the symbol becomes one input, exactly
        looks = _looks(rows)
        asked = [at for at in asked if looks[at]]
    if not asked or len(rows) > MOST_NODES:
        return formula
    seen = sampled(rows, asked, symbols, propositional)
    if not any(now.is_candidate for now in seen.values()):
        return formula
    left, open_ = MOST_CANDIDATES, MOST_OPEN
    made: list[Node] = []
    for at, (node, places) in enumerate(rows):
        now = rebuild(node, [made[place] for place in places])
        if left and open_ and at in seen and isinstance(now, Formula):
            goal = _goal(now, seen[at])
            if goal is not None:
                impossible, instead = goal
                left -= 1
                proved = _never(impossible, symbols, propositional)
                if proved:
                    now = instead
                open_ -= proved is None
        made.append(now)
    result = made[root]
    assert isinstance(result, Formula)
    return formula if result == core else result


def _looks(rows: Rows) -> list[bool]:
    """Does each formula depend on more than the symbol at its position?"""
    looks: list[bool] = []
    for node, places in rows:
        same = isinstance(node, nodes.Symbol | Constant)
        if isinstance(node, Not | And | nodes.Or | nodes.Xor):
            same = not any(looks[place] for place in places)
        looks.append(not same)
    return looks


def _goal(now: Formula, seen: Seen) -> tuple[Formula, Formula] | None:
    """What must be impossible, and what stands for `now` if it is."""
    if not seen.some:
        return now, FALSE
    if seen.every:
        return Not(now), TRUE
    if not seen.beside:
        match now:
            case nodes.Since(f, g) | nodes.Until(f, g) if not isinstance(f, Constant):
                return And(f, Not(g)), g
            case nodes.Yesterday(Not(f)):
                return nodes.Yesterday(f), Not(nodes.FIRST)
            case nodes.Tomorrow(Not(f)):
                return nodes.Tomorrow(f), Not(nodes.LAST)
    return None


def _never(formula: Formula, symbols: Sequence[str], propositional: bool) -> bool | None:
    """Is it proved that no word of any length has a position where it holds? None if that is
    open."""
    from softhat.logic.decide.questions import Effort, find_word  # most formulas need no proof

    effort = Effort(STEPS, WORDS)
    alphabet, propositions = (None, symbols) if propositional else (symbols, None)
    try:
        found = find_word(formula, "anywhere", [formula], alphabet, propositions, None, effort)
    except SofthatError:
        return None
    return found is None
