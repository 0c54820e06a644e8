"""Conjunction, disjunction and negation that leave out constants and repetitions.

The constructors of formulas never simplify. What makes formulas of many trivial cases does.
"""

from __future__ import annotations

from collections.abc import Iterable

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula, Not


def any_of(parts: Iterable[Formula]) -> Formula:
    """The disjunction, without constants and repetitions."""
    distinct = dict.fromkeys(part for part in parts if part != FALSE)
    return TRUE if TRUE in distinct else nodes.any_of(distinct)


def all_of(parts: Iterable[Formula]) -> Formula:
    """The conjunction, without constants and repetitions."""
    distinct = dict.fromkeys(part for part in parts if part != TRUE)
    return FALSE if FALSE in distinct else nodes.all_of(distinct)


def negation(formula: Formula) -> Formula:
    """`!f`, or what it is without a double negation or a constant."""
    match formula:
        case Not(operand):
            return operand
        case nodes.Constant(value):
            return nodes.Constant(not value)
    return Not(formula)
