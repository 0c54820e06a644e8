"""Simpler counting terms and comparisons, with the same values at every position of every word."""

from __future__ import annotations

import math

from softhat.logic.linear import LinearForm, as_inequality, difference, size_of_terms, to_balanced
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import (
    FALSE,
    TRUE,
    Comparison,
    Constant,
    Formula,
    Integer,
    Scale,
    Term,
)


def simplify_term(node: Term) -> Term:
    """One rule applied at the top of a term, or the term itself where none fits."""
    match node:
        case nodes.Counting(operand) if operand == FALSE:
            return Integer(0)
        case nodes.Count(operand) if operand == TRUE:
            return nodes.position
        case nodes.CountAll(operand) if operand == TRUE:
            return nodes.length
        case Scale(factor, Integer(value)):
            return Integer(factor * value)
        case Scale(0, _):
            return Integer(0)
        case Scale(1, term):
            return term
        case Scale(factor, Scale(inner, term)):
            return Scale(factor * inner, term)
        case nodes.Sum(Integer(a), Integer(b)):
            return Integer(a + b)
        case nodes.Difference(Integer(a), Integer(b)):
            return Integer(a - b)
        case nodes.Sum(term, Integer(0)) | nodes.Sum(Integer(0), term):
            return term
        case nodes.Difference(term, Integer(0)):
            return term
        case nodes.Difference(left, right) if left == right:
            return Integer(0)
    return node


def simplify_comparison(node: Comparison) -> Formula:
    """True or false if it is so everywhere; else the balanced form where that is shorter."""
    form = difference(node)
    if (decided := _decided(form, node.relation)) is not None:
        return Constant(decided)
    size = size_of_terms(node)
    if size <= 2:  # one term on each side
        return node
    if node.relation in ("=", "!="):
        shorter = to_balanced(form, node.relation)
    else:
        shorter = to_balanced(as_inequality(form, node.relation), ">=")
    return shorter if size_of_terms(shorter) < size else node


def _decided(form: LinearForm, relation: nodes.Relation) -> bool | None:
    """The truth value of `form ⋈ 0`, if it is the same at every position of every word."""
    # Counts are at least 0, those of `true` at least 1, and nothing bounds them from above.
    least = [a * (formula == TRUE) for a, formula in form.terms]
    low = form.constant + sum(least) if all(a > 0 for a, _ in form.terms) else -math.inf
    high = form.constant + sum(least) if all(a < 0 for a, _ in form.terms) else math.inf
    match relation:
        case ">=" | "<":
            known = True if low >= 0 else False if high < 0 else None
            return known if relation == ">=" or known is None else not known
        case ">" | "<=":
            known = True if low > 0 else False if high <= 0 else None
            return known if relation == ">" or known is None else not known
    factor = math.gcd(*(a for a, _ in form.terms))
    if not form.terms:
        return (form.constant == 0) == (relation == "=")
    if low > 0 or high < 0 or form.constant % factor:
        return relation == "!="
    return None
