"""What follows from the form of formulas alone: one implies another, one is fixed at an end.

A `Look` sees a few levels of operators only. It answers yes, or that it does not know.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from softhat.logic.connectives import negation
from softhat.logic.refute import neither, refuted, together
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import (
    FALSE,
    TRUE,
    Always,
    And,
    Binary,
    Comparison,
    Constant,
    Eventually,
    Formula,
    Historically,
    Iff,
    Implies,
    Not,
    Once,
    Or,
    Release,
    Since,
    StrongRelease,
    Tomorrow,
    Triggered,
    Unary,
    Until,
    WeakTomorrow,
    WeakUntil,
    WeakYesterday,
    Xor,
    Yesterday,
)

# !op(!f) is dual(f); !op(!f, !g) is dual(f, g).
DUAL: dict[type[Formula], type[Any]] = {
    Yesterday: WeakYesterday,
    Once: Historically,
    Tomorrow: WeakTomorrow,
    Eventually: Always,
    And: Or,
    Since: Triggered,
    Until: Release,
    WeakUntil: StrongRelease,
}
DUAL |= {dual: kind for kind, dual in DUAL.items()}
NEGATED: dict[str, nodes.Relation] = {
    "<": ">=",
    "<=": ">",
    "=": "!=",
    "!=": "=",
    ">=": "<",
    ">": "<=",
}

_DEEP = 4
"""Levels of operators that are looked at: the work grows exponentially with them."""


def opposite(f: Formula, g: Formula) -> bool:
    """Is one the negation of the other, by their form?"""
    match f, g:
        case Not(operand), other if operand == other:
            return True
        case other, Not(operand) if operand == other:
            return True
        case Comparison(a, relation, b), Comparison(c, other_relation, d):
            return relation == NEGATED[other_relation] and a == c and b == d
    return False


def negated(formula: Formula) -> Formula:
    """`!formula`, with a rule for it applied."""
    return without_not(Not(formula))


def without_not(node: Not) -> Formula:
    """A rule for a negation applied, or the negation itself where none fits."""
    match node.operand:
        case Constant(value):
            return Constant(not value)
        case Not(operand):
            return operand
        case Comparison(left, relation, right):
            return Comparison(left, NEGATED[relation], right)
        case Unary(Not(operand)) as inner if type(inner) in DUAL:
            return DUAL[type(inner)](operand)
        case Binary(Not(left), Not(right)) as inner if type(inner) in DUAL:
            return DUAL[type(inner)](left, right)
        case Xor(left, right):
            return Iff(left, right)
        case Iff(left, right):
            return Xor(left, right)
    return node


class Look:
    """What the form of formulas tells, as long as there are steps left.

    The rules of `simplify` ask at every node, and each question may look at hundreds of nodes: for
    formulas of megabytes that would be hours. After the last step the answers are the plain ones.
    """

    def __init__(self, steps: float = math.inf) -> None:
        self.steps = steps

    @property
    def spent(self) -> bool:
        return self.steps <= 0

    def exclude(self, f: Formula, g: Formula) -> bool:
        """Do f and g never hold together, as far as their form tells?"""
        if self.spent:
            return opposite(f, g)
        return not together(f, g) and self.entails(f, negated(g))

    def cover(self, f: Formula, g: Formula) -> bool:
        """Does f or g hold everywhere, as far as their form tells?"""
        if self.spent:
            return opposite(f, g)
        return not neither(f, g) and self.entails(negated(f), g)

    def entails(self, f: Formula, g: Formula, deep: int = _DEEP) -> bool:
        """Does f imply g at every position of every word, as far as their form tells?"""
        if f in (g, FALSE) or g == TRUE:
            return True
        if deep == 0 or self.steps <= 0:
            return False
        self.steps -= 1
        if refuted(f, g):
            return False
        less = deep - 1
        match f:  # something that f implies implies g
            case Not(inner) if isinstance(g, Not) and self.entails(g.operand, inner, less):
                return True
            case And(left, right) if self.entails(left, g, less) or self.entails(right, g, less):
                return True
            case Or(left, right) if self.entails(left, g, less) and self.entails(right, g, less):
                return True
            case Historically(inner) | Always(inner) if self.entails(inner, g, less):
                return True
            case Triggered(_, right) | Release(_, right) | StrongRelease(_, right):
                if self.entails(right, g, less):
                    return True
            case Since(left, right) | Until(left, right) | WeakUntil(left, right):
                if self.entails(left, g, less) and self.entails(right, g, less):
                    return True
            case Not(Once(inner) | Eventually(inner)) if self.entails(Not(inner), g, less):
                return True
            case Not(Since(_, right) | Until(_, right)) if self.entails(Not(right), g, less):
                return True
        match g:  # f implies something that implies g
            case And(left, right) if self.entails(f, left, less) and self.entails(f, right, less):
                return True
            case Or(left, right) if self.entails(f, left, less) or self.entails(f, right, less):
                return True
            case Once(inner) | Eventually(inner) if self.entails(f, inner, less):
                return True
            case Since(_, right) | Until(_, right) | WeakUntil(_, right) if self.entails(
                f, right, less
            ):
                return True
            case Triggered(left, right) | Release(left, right) | StrongRelease(left, right):
                if self.entails(f, left, less) and self.entails(f, right, less):
                    return True
            case Not(Historically(inner) | Always(inner)) if self.entails(f, Not(inner), less):
                return True
            case Not(Triggered(_, right) | Release(_, right)) if self.entails(f, Not(right), less):
                return True
        match f, g:  # operators that grow with their operands
            case (Once(x), Once(y)) | (Historically(x), Historically(y)):
                return self.entails(x, y, less)
            case (Eventually(x), Eventually(y)) | (Always(x), Always(y)):
                return self.entails(x, y, less)
            case (Yesterday(x), Yesterday(y) | WeakYesterday(y)):
                return self.entails(x, y, less)
            case (Tomorrow(x), Tomorrow(y) | WeakTomorrow(y)):
                return self.entails(x, y, less)
            case (WeakYesterday(x), WeakYesterday(y)) | (WeakTomorrow(x), WeakTomorrow(y)):
                return self.entails(x, y, less)
            case (Since(_, x), Once(y)) | (Until(_, x), Eventually(y)):
                return self.entails(x, y, less)
            case (Historically(x), Triggered(_, y)) | (Always(x), Release(_, y) | WeakUntil(y, _)):
                return self.entails(x, y, less)
            case (Since(w, x), Since(v, y)) | (Until(w, x), Until(v, y) | WeakUntil(v, y)):
                return self.entails(w, v, less) and self.entails(x, y, less)
            case (Triggered(w, x), Triggered(v, y)) | (Release(w, x), Release(v, y)):
                return self.entails(w, v, less) and self.entails(x, y, less)
            case (WeakUntil(w, x), WeakUntil(v, y)):
                return self.entails(w, v, less) and self.entails(x, y, less)
            case (StrongRelease(w, x), StrongRelease(v, y) | Release(v, y)):
                return self.entails(w, v, less) and self.entails(x, y, less)
            case (nodes.First(), WeakYesterday(_)) | (nodes.Last(), WeakTomorrow(_)):
                return True
            case (nodes.First(), Not(Yesterday(_))) | (nodes.Last(), Not(Tomorrow(_))):
                return True
            case (Yesterday(_), Not(nodes.First())) | (Tomorrow(_), Not(nodes.Last())):
                return True
        return False

    def at_edge(
        self, formula: Formula, edge: Literal["first", "last"], deep: int = 2 * _DEEP
    ) -> Formula:
        """A formula that has the same value at the first (last) position, without operators that
        look beyond it."""
        if deep == 0 or self.steps <= 0:
            return formula
        self.steps -= 1

        def again(inner: Formula) -> Formula:
            return self.at_edge(inner, edge, deep - 1)

        first = edge == "first"
        match formula:
            case nodes.First() if first:
                return TRUE
            case nodes.Last() if not first:
                return TRUE
            case nodes.Mod(modulus, remainder) if first:
                return Constant(1 % modulus == remainder)
            case Yesterday(_) if first:
                return FALSE
            case WeakYesterday(_) if first:
                return TRUE
            case Tomorrow(_) if not first:
                return FALSE
            case WeakTomorrow(_) if not first:
                return TRUE
            case Once(inner) | Historically(inner) if first:
                return again(inner)
            case Eventually(inner) | Always(inner) if not first:
                return again(inner)
            case Since(_, right) | Triggered(_, right) if first:
                return again(right)
            case Until(_, right) | Release(_, right) if not first:
                return again(right)
            case WeakUntil(left, right) if not first:
                return _joined(Or, again(left), again(right))
            case StrongRelease(left, right) if not first:
                return _joined(And, again(left), again(right))
            case Not(inner):
                if (now := again(inner)) != inner:
                    return negation(now)
            case And(f, g) | Or(f, g) | Implies(f, g) | Xor(f, g) | Iff(f, g):
                left, right = again(f), again(g)
                if (left, right) != (f, g):
                    return _gate(formula, left, right)
        return formula


def _gate(gate: And | Or | Implies | Xor | Iff, f: Formula, g: Formula) -> Formula:
    match gate:
        case And():
            return _joined(And, f, g)
        case Or():
            return _joined(Or, f, g)
        case Implies():
            return _joined(Or, negation(f), g)
        case Xor():
            return _differ(f, g)
        case Iff():
            return negation(_differ(f, g))


def _joined(kind: type[And] | type[Or], f: Formula, g: Formula) -> Formula:
    """`f & g` or `f | g`, without constants, repetitions and opposites."""
    unit, zero = (TRUE, FALSE) if kind is And else (FALSE, TRUE)
    if zero in (f, g) or opposite(f, g):
        return zero
    if f in (unit, g):
        return g
    return f if g == unit else kind(f, g)


def _differ(f: Formula, g: Formula) -> Formula:
    if f == g:
        return FALSE
    if opposite(f, g):
        return TRUE
    for constant, rest in ((f, g), (g, f)):
        if isinstance(constant, Constant):
            return negation(rest) if constant == TRUE else rest
    return Xor(f, g)
