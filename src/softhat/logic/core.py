"""Rewriting that keeps the truth value at every position of every word.

`to_core` leaves only the operators that the compiler knows:
symbols, constants, `first`, `last`, `mod`, the gates `! & | xor`, `Y S X U`, and comparisons in
the form `Σ a·count >= c`.
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

from softhat.logic.connectives import negation
from softhat.logic.linear import LinearForm, difference, linear, to_comparison
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Comparison, Formula, Node, Not
from softhat.logic.syntax.walk import distinct, rebuild, rewritten
from softhat.logic.windows import defined

__all__ = ["LinearForm", "linear", "to_core"]


def to_core(formula: Formula) -> Formula:
    """The same formula in core operators, each other operator by its definition or its dual."""
    return rewritten(formula, _core)


class Name(NamedTuple):
    """What a core formula stands for: a formula as it was written, with words around it."""

    formula: Formula
    before: str = ""
    after: str = ""

    def within(self, before: str, after: str = "") -> Name:
        return Name(self.formula, before + self.before, self.after + after)


def to_named_core(*formulas: Formula) -> tuple[list[Formula], dict[Node, Name]]:
    """The core forms, and for core formulas the name of what they stand for as it was written.

    Equal core formulas are one object, so that looking one up costs nothing.
    """
    rows, roots = distinct(*formulas)
    interned: dict[Node, Node] = {}
    names: dict[Node, Name] = {}
    rewritten: list[Node] = []
    for node, places in rows:
        core = _core(node, tuple([rewritten[place] for place in places]))
        core = interned.setdefault(core, core)
        rewritten.append(core)
        if isinstance(node, nodes.Symbol):
            continue  # an input, which names itself
        match node, core:
            case (Not() | nodes.Term(), _):
                pass  # a negation is no head and no gate of its own
            case Comparison(_, "=" | "!=", _), (nodes.And(low, high) | Not(nodes.And(low, high))):
                names.setdefault(low, Name(node, after=": at least"))
                names.setdefault(high, Name(node, "!(", ": more)"))
                names.setdefault(core, Name(node))
            case nodes.Formula(), Not(operand):
                names.setdefault(operand, Name(node, "!(", ")"))
            case nodes.Formula(), _:
                names.setdefault(core, Name(node))
    cores = cast("list[Formula]", [rewritten[root] for root in roots])  # formulas give formulas
    return cores, names


_CORE = frozenset(
    (nodes.Symbol, nodes.And, nodes.Or, nodes.Xor, nodes.Yesterday, nodes.Since, nodes.Tomorrow)
)
"""Common operators that stay what they are."""


def _core(node: Node, below: tuple[Node, ...]) -> Node:
    if type(node) in _CORE:
        return rebuild(node, below)
    parts = cast("tuple[Formula, ...]", below)  # they are, where they are matched as such
    match node:
        case Not():
            return negation(parts[0])
        case nodes.Implies():
            return nodes.Or(negation(parts[0]), parts[1])
        case nodes.Iff():
            return negation(nodes.Xor(parts[0], parts[1]))
        case nodes.WeakYesterday():
            return negation(nodes.Yesterday(negation(parts[0])))
        case nodes.WeakTomorrow():
            return negation(nodes.Tomorrow(negation(parts[0])))
        case nodes.Once():
            return nodes.Since(TRUE, parts[0])
        case nodes.Eventually():
            return nodes.Until(TRUE, parts[0])
        case nodes.Historically():
            return negation(nodes.Since(TRUE, negation(parts[0])))
        case nodes.Always():
            return negation(nodes.Until(TRUE, negation(parts[0])))
        case nodes.Triggered():
            return negation(nodes.Since(negation(parts[0]), negation(parts[1])))
        case nodes.Release():
            return negation(nodes.Until(negation(parts[0]), negation(parts[1])))
        case nodes.WeakUntil():  # f W g = g R (f | g): one operator instead of two
            neither = negation(nodes.Or(parts[0], parts[1]))
            return negation(nodes.Until(negation(parts[1]), neither))
        case nodes.StrongRelease():
            return nodes.Until(parts[1], nodes.And(parts[0], parts[1]))
        case nodes.Window():
            return to_core(defined(node, below))
        case Comparison():
            comparison = rebuild(node, below)
            assert isinstance(comparison, Comparison)
            return _core_comparison(comparison)
        case _:
            return rebuild(node, below)


def _core_comparison(comparison: Comparison) -> Formula:
    if comparison.relation not in ("=", "!="):
        return _at_least_zero(linear(comparison))
    form = difference(comparison)
    factor = math.gcd(*(a for a, _ in form.terms))
    if factor and form.constant % factor:
        equal: Formula = FALSE
    elif not form.terms:
        equal = nodes.Constant(form.constant == 0)
    else:
        form = form.divided()
        equal = nodes.And(_at_least_zero(form), _at_least_zero(form.scaled(-1)))
    return equal if comparison.relation == "=" else negation(equal)


def _at_least_zero(form: LinearForm) -> Formula:
    return to_comparison(form) if form.terms else nodes.Constant(form.constant >= 0)
