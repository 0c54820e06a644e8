"""Simpler formulas with the same truth value at every position of every word.

One bottom-up pass; at each node the rules below are applied until none fits. No rule makes a
formula cost more, where a temporal operator or a comparison (an attention head) costs three and
any other node one. Nodes are interned on the way, so that comparing operands costs nothing.

This is what is compiled, and what the certificate's claim may go through: a test proves every
rule here for words of every length, its operands being arbitrary.
"""

from __future__ import annotations

from typing import Literal

from softhat.logic.optimise.chains import (
    LONGEST_CHAIN,
    ends_of,
    links_of,
    without_implied,
    without_repeats,
)
from softhat.logic.optimise.entail import Look, opposite, without_not
from softhat.logic.optimise.simplify_counts import simplify_comparison, simplify_term
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import (
    FALSE,
    FIRST,
    LAST,
    TRUE,
    Always,
    And,
    Constant,
    Eventually,
    Formula,
    Historically,
    Iff,
    Implies,
    Node,
    Not,
    Once,
    Or,
    Release,
    Since,
    Tomorrow,
    Triggered,
    Unary,
    Until,
    WeakTomorrow,
    WeakYesterday,
    Xor,
    Yesterday,
)
from softhat.logic.syntax.walk import distinct, rebuild

STEPS = 40_000
"""Of looking at what follows from what, in one formula: a third of a second at most."""


def simplify(formula: Formula) -> Formula:
    """A formula of at most the same size that is true at the same positions of every word."""
    rows, (root,) = distinct(formula)
    links = links_of(rows)
    look = Look(STEPS)
    interned: dict[Node, Node] = {}
    simplified: list[Node] = []
    for k, (node, places) in enumerate(rows):
        now = rebuild(node, [simplified[place] for place in places])
        if k not in links:
            if links and any(place in links for place in places):
                now = _long_chain(now, [simplified[part] for part in ends_of(k, rows, links)], look)
            now = _simplest(now, look)
            now = interned.setdefault(now, now)
        simplified.append(now)
    result = simplified[root]
    assert isinstance(result, Formula)
    return result


def _simplest(node: Node, look: Look) -> Node:
    while (simpler := _rule(node, look)) is not node:
        node = simpler
    return node


def _rule(node: Node, look: Look) -> Node:
    """One rule applied at the top of `node`, or `node` itself where none fits."""
    match node:
        case nodes.Symbol():
            return node
        case Not():
            return without_not(node)
        case And() | Or():
            return _and_or(node, look)
        case Xor() | Iff() | Implies():
            return _gate(node, look)
        case Unary():
            return _unary(node, look)
        case Since() | Triggered() | Until() | Release():
            return _binary(node, look)
        case nodes.WeakUntil(left, right):  # (f U g) | G f
            if TRUE in (left, right) or look.cover(left, right):
                return TRUE
            if left == FALSE or look.entails(left, right):
                return right
            return Always(left) if right == FALSE else node
        case nodes.StrongRelease(left, right):  # g U (f & g)
            if FALSE in (left, right) or look.exclude(left, right):
                return FALSE
            if left == TRUE or look.entails(right, left):
                return right
            return Eventually(left) if right == TRUE else node
        case nodes.Recall(value, _) if value == FALSE:
            return FALSE
        case nodes.Mod(1, _):
            return TRUE
        case nodes.Comparison():
            return simplify_comparison(node)
        case nodes.Term():
            return simplify_term(node)
    return node


def _and_or(node: And | Or, look: Look) -> Formula:
    """`unit` is the operand that changes nothing, `zero` the one that decides alone."""
    f, g = node.left, node.right
    unit, zero = (TRUE, FALSE) if isinstance(node, And) else (FALSE, TRUE)
    if f == g or g == unit:
        return f
    if f == unit:
        return g
    if zero in (f, g):
        return zero
    if (look.exclude if isinstance(node, And) else look.cover)(f, g):
        return zero
    for stronger, weaker in ((f, g), (g, f)):
        if look.entails(stronger, weaker):
            return stronger if isinstance(node, And) else weaker
    return without_implied(node, look)


def _long_chain(node: Node, parts: list[Node], look: Look) -> Node:
    """A conjunction (disjunction) of many parts without those that are not needed; each link as
    simple as can be where it has become short."""
    assert isinstance(node, And | Or)
    kind = type(node)
    needed = without_repeats(kind, parts, look)
    if len(needed) == len(parts):
        return node
    if not needed:
        return TRUE if kind is And else FALSE
    result: Node = needed[0]
    for part in needed[1:]:
        assert isinstance(result, Formula)
        link = kind(result, part)
        result = _simplest(link, look) if len(needed) <= LONGEST_CHAIN else link
    return result


def _gate(node: Xor | Iff | Implies, look: Look) -> Formula:
    """`same` is the value for equal operands, `different` the one for opposite operands."""
    f, g = node.left, node.right
    other: type[Xor] | type[Iff]
    match node:
        case Implies():
            if f == TRUE or look.cover(f, g):
                return g
            if f == FALSE or g == TRUE or look.entails(f, g):
                return TRUE
            if g == FALSE or look.exclude(f, g):
                return Not(f)
            return Or(f.operand, g) if isinstance(f, Not) else node
        case Xor():
            same, different, other = FALSE, TRUE, Iff
        case _:
            same, different, other = TRUE, FALSE, Xor
    if f == g:
        return same
    if opposite(f, g):
        return different
    for constant, rest in ((f, g), (g, f)):
        if isinstance(constant, Constant):
            return rest if constant == same else Not(rest)
    if isinstance(f, Not):
        return other(f.operand, g)
    return other(f, g.operand) if isinstance(g, Not) else node


_NEIGHBOUR = Yesterday | WeakYesterday | Tomorrow | WeakTomorrow
_KNOWN = Constant | nodes.First | nodes.Last | Not
_STRONG = Since | Until


def _unary(node: Unary, look: Look) -> Formula:
    """Rules for an operator and what stands directly under it."""
    f = node.operand
    if isinstance(f, nodes.Symbol) or (isinstance(node, _NEIGHBOUR) and not isinstance(f, _KNOWN)):
        return node  # no rule below fits: chains of neighbours may be long
    match node, f:
        case (Yesterday(), Constant(True)):
            return Not(FIRST)
        case (Tomorrow(), Constant(True)):
            return Not(LAST)
        case (WeakYesterday(), Constant(False)):
            return FIRST
        case (WeakTomorrow(), Constant(False)):
            return LAST
        case (_, Constant()):
            return f
        # No position has the last one before it, or the first one after it.
        case (Yesterday(), nodes.Last()) | (Tomorrow(), nodes.First()):
            return FALSE
        case (WeakYesterday(), Not(nodes.Last())) | (WeakTomorrow(), Not(nodes.First())):
            return TRUE
        case (WeakYesterday(), nodes.Last()):
            return FIRST
        case (WeakTomorrow(), nodes.First()):
            return LAST
        # The nearest position that decides is decided the same way again.
        case (Once(), Once()) | (Historically(), Historically()):
            return f
        case (Eventually(), Eventually()) | (Always(), Always()):
            return f
        case (Once(), Since(_, g)):
            return Once(g)
        case (Historically(), Triggered(_, g)):
            return Historically(g)
        case (Eventually(), Until(_, g)):
            return Eventually(g)
        case (Always(), Release(_, g)):
            return Always(g)
        # O H f and H O f say what f is at the first position, which is the same everywhere.
        case (Once(), Historically(Once())) | (Historically(), Once(Historically())):
            return f
        case (Eventually(), Always(Eventually())) | (Always(), Eventually(Always())):
            return f
        # The end of the word is always among the positions looked at.
        case (Historically(), nodes.First()) | (Always(), nodes.Last()):
            return f
        case (Once(), Not(nodes.First())) | (Eventually(), Not(nodes.Last())):
            return f
        case (Once(), nodes.Last()) | (Eventually(), nodes.First()):
            return f
        case (Historically(), Not(nodes.Last())) | (Always(), Not(nodes.First())):
            return f
        case ((Once() | Historically() | Eventually() | Always()), _):
            return _at_the_end(node, look)
    return node


def _at_the_end(node: Once | Historically | Eventually | Always, look: Look) -> Formula:
    """What the operand is at the first (last) position may decide, and is simpler there."""
    edge: Literal["first", "last"] = "last"
    if isinstance(node, Once | Historically):
        edge = "first"
    some = isinstance(node, Once | Eventually)
    if look.at_edge(node.operand, edge) == Constant(some):
        return Constant(some)
    marker = FIRST if edge == "first" else LAST
    match node.operand:
        case And(left, right) if some and marker in (left, right):
            rest = right if left == marker else left
            simpler = look.at_edge(rest, edge)
            if simpler != rest:
                return type(node)(And(marker, simpler))
    return node


# true S g is O g, and false S g is g. For each binary operator: the unary operator that it is with
# a constant on its left, that constant, and the constant with which it is its right side.
_LONE: dict[type[Formula], tuple[type[Unary], Formula, Formula]] = {
    Since: (Once, TRUE, FALSE),
    Until: (Eventually, TRUE, FALSE),
    Triggered: (Historically, FALSE, TRUE),
    Release: (Always, FALSE, TRUE),
}


def _binary(node: nodes.Binary, look: Look) -> Formula:
    """Rules for `S`, `U` and their duals, written for all four with the constants of `_LONE`."""
    f, g = node.left, node.right
    lone, free, stuck = _LONE[type(node)]
    if type(g) in (Constant, lone) or f == stuck:
        return g
    strong = isinstance(node, _STRONG)
    if look.entails(f, g) if strong else look.entails(g, f):
        return g
    if f == free or (look.cover(g, f) if strong else look.exclude(f, g)):
        return lone(g)
    if type(g) is type(node) and g.children[0] == f:  # f S (f S g)
        return g
    if type(f) is type(node) and f.children[1] == g:  # (f S g) S g
        return f
    return node
