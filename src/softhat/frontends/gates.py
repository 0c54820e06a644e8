"""Conjunction, disjunction and negation that leave out constants and repetitions.

The constructors of formulas never simplify; front ends make so many trivial cases that they do.
"""

from __future__ import annotations

from collections.abc import Iterable

from softhat.logic.syntax.nodes import FALSE, TRUE, And, Formula, Not, Or


def any_of(parts: Iterable[Formula]) -> Formula:
    """The disjunction, without constants and repetitions."""
    kept = list(dict.fromkeys(part for part in parts if part != FALSE))
    if TRUE in kept or not kept:
        return TRUE if kept else FALSE
    joined = kept[0]
    for part in kept[1:]:
        joined = Or(joined, part)
    return joined


def all_of(parts: Iterable[Formula]) -> Formula:
    """The conjunction, without constants and repetitions."""
    kept = list(dict.fromkeys(part for part in parts if part != TRUE))
    if FALSE in kept or not kept:
        return FALSE if kept else TRUE
    joined = kept[0]
    for part in kept[1:]:
        joined = And(joined, part)
    return joined


def negated(formula: Formula) -> Formula:
    match formula:
        case Not(operand):
            return operand
        case _ if formula in (TRUE, FALSE):
            return FALSE if formula == TRUE else TRUE
    return Not(formula)
