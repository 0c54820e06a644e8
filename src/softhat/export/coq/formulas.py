"""A formula as a term of `proofs/Surface.v`: the operators as they were written."""

from __future__ import annotations

from collections.abc import Mapping

from softhat.export.coq.syntax import boolean, call, integer
from softhat.io.errors import SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Node
from softhat.logic.syntax.signs import SIGNS
from softhat.logic.syntax.walk import distinct
from softhat.numbers.predicates import Predicate

MOST_NODES = 50_000
"""Coq walks a formula as a tree, however much of it is shared."""

_RELATIONS = {
    "<": "Less",
    "<=": "LessEqual",
    "=": "Equal",
    "!=": "NotEqual",
    ">=": "GreaterEqual",
    ">": "Greater",
}
_SAME_NAME = (
    nodes.Not, nodes.And, nodes.Or, nodes.Xor, nodes.Implies, nodes.Iff,
    nodes.Yesterday, nodes.WeakYesterday, nodes.Tomorrow, nodes.WeakTomorrow,
    nodes.Once, nodes.Historically, nodes.Eventually, nodes.Always,
    nodes.Since, nodes.Triggered, nodes.Until, nodes.Release, nodes.WeakUntil,
    nodes.StrongRelease, nodes.Position, nodes.Length, nodes.Count, nodes.CountFuture,
    nodes.CountAll, nodes.Sum, nodes.Difference,
)  # fmt: skip
_WRITTEN = (
    nodes.Symbol, nodes.Constant, nodes.First, nodes.Last, nodes.Mod, nodes.At, nodes.Comparison,
    nodes.Integer, nodes.Scale,
)  # fmt: skip
"""Those that `_term` writes one by one."""


def surface(
    formula: Formula, symbols: Mapping[str, int], predicates: Mapping[Predicate, int]
) -> str:
    """The term; symbols and numerical predicates by their numbers."""
    rows, (root,) = distinct(formula)
    check_formula(formula)
    texts: list[str] = []
    for node, places in rows:
        texts.append(_term(node, [texts[place] for place in places], symbols, predicates))
    return texts[root]


def check_formula(formula: Formula) -> None:
    """Refuse operators that `proofs/Surface.v` does not have, and formulas that are too large for
    Coq to walk."""
    rows, (root,) = distinct(formula)
    sizes: list[int] = []
    for node, places in rows:
        if not isinstance(node, _SAME_NAME + _WRITTEN):
            raise SofthatError(
                f"the Coq theorems do not know the operator {SIGNS[type(node)]}: write what it "
                "stands for"
            )
        sizes.append(1 + sum(sizes[place] for place in places))
    if sizes[root] > MOST_NODES:
        raise SofthatError(
            f"the formula has {sizes[root]:,} operators when written out: "
            f"a Coq file is made of at most {MOST_NODES:,}"
        )


def _term(
    node: Node,
    below: list[str],
    symbols: Mapping[str, int],
    predicates: Mapping[Predicate, int],
) -> str:
    match node:
        case nodes.Symbol(name):
            return call("Symbol", str(symbols[name]))
        case nodes.Constant(value):
            return call("Constant", boolean(value))
        case nodes.First():
            return "First"
        case nodes.Last():
            return "Last"
        case nodes.Mod(modulus, remainder):
            return call("Mod", str(modulus), str(remainder))
        case nodes.At(predicate):
            return call("At", str(predicates[predicate]))
        case nodes.Comparison(_, relation, _):
            return call("Compare", below[0], _RELATIONS[relation], below[1])
        case nodes.Integer(value):
            return call("Integer", integer(value))
        case nodes.Scale(factor, _):
            return call("Scale", integer(factor), below[0])
    if isinstance(node, _SAME_NAME):
        name = type(node).__name__
        return call(name, *below) if below else name
    raise TypeError(f"no formula: {node!r}")
