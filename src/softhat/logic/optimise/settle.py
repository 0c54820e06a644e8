"""Constants that only meaning shows: subformulas that hold always or never, for every length.

What the rules of `simplify` do not see is tried on sample words; what never changes there is a
candidate, and `decide` proves it for words of every length, or it stays. Then no head that is
compiled is constant, and no gate without an assignment, as far as proofs within a small effort
reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from softhat.io.errors import SofthatError
from softhat.logic.core import to_core
from softhat.logic.optimise.sample import Rows, Seen, candidates
from softhat.logic.optimise.simplify import simplify
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

_GATES = {nodes.And, nodes.Or, nodes.Xor}
_HEADS = {nodes.Yesterday, nodes.Tomorrow, nodes.Since, nodes.Until, nodes.Comparison}
_DECIDED = _GATES | _HEADS
"""Core operators that become a head or a gate."""
_LOCAL = _GATES | {nodes.Not, nodes.Symbol, Constant}
"""Operators that look at no other position."""


def settled(
    formula: Formula, symbols: Sequence[str], propositional: bool, core: Formula | None = None
) -> Formula:
    """A formula with the same truth value at every position of every word over `symbols`, in which
    subformulas that are always true or always false are constants.

    `core` is the formula's core form, if that is known.
    """
    for _ in range(8):  # what is left of a formula may show the next constant
        once = _settled(to_core(formula) if core is None else core, symbols, propositional)
        if once is None:
            return formula
        formula, core = simplify(once), None
    return formula


def _settled(core: Formula, symbols: Sequence[str], propositional: bool) -> Formula | None:
    """What is left of a core form once its constants are found; None if there are none."""
    rows, (root,) = distinct(core)
    if len(rows) > MOST_NODES:
        return None
    asked = _asked(rows, propositional)
    if not asked:
        return None
    seen = candidates(rows, asked, symbols, propositional)
    if not seen:
        return None
    left, open_ = MOST_CANDIDATES, MOST_OPEN
    rebuilt: list[Node] = []
    for at, (node, places) in enumerate(rows):
        now = rebuild(node, [rebuilt[place] for place in places])
        if left and open_ and at in seen and isinstance(now, Formula):
            goal = _goal(now, seen[at])
            if goal is not None:
                impossible, instead = goal
                left -= 1
                proved = _never(impossible, tuple(symbols), propositional)
                if proved:
                    now = instead
                open_ -= proved is None
        rebuilt.append(now)
    result = rebuilt[root]
    assert isinstance(result, Formula)
    return None if result == core else result


def _asked(rows: Rows, propositional: bool) -> list[int]:
    """The places of what becomes a head or a gate. What only asks for the symbol becomes one input,
    exactly, unless words are of sets of propositions."""
    asked: list[int] = []
    local: set[int] = set()
    for at, (node, places) in enumerate(rows):
        kind = type(node)
        if not propositional and kind in _LOCAL and local.issuperset(places):
            local.add(at)
        elif kind in _DECIDED:
            asked.append(at)
    return asked


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


@lru_cache(maxsize=256)
def _never(formula: Formula, symbols: tuple[str, ...], propositional: bool) -> bool | None:
    """Does the formula hold at no position of any word, of any length? None if that is open.

    What was asked is remembered: a formula that somebody goes on typing asks the same of its parts.
    """
    from softhat.logic.decide.questions import Effort, find_word  # most formulas need no proof

    effort = Effort(STEPS, WORDS)
    alphabet, propositions = (None, symbols) if propositional else (symbols, None)
    try:
        witness = find_word(formula, "anywhere", [formula], alphabet, propositions, None, effort)
    except SofthatError:
        return None
    return witness is None
