"""Simpler formulas with the same truth value at every position of every word.

One bottom-up pass; at each node the rules below are applied until none fits. No rule makes a
formula cost more, where a temporal operator or a comparison (an attention head) costs three and
any other node one. Nodes are interned on the way, so that comparing operands costs nothing.

This is what is compiled, and what the certificate's claim may go through: a test proves every
rule here for words of every length, its operands being arbitrary.
"""

from __future__ import annotations

import math
from typing import Literal

from softhat.logic.entail import DUAL, NEGATED, Look, opposite
from softhat.logic.linear import LinearForm, as_inequality, difference, size_of_terms, to_balanced
from softhat.logic.refute import neither, together
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import (
    FALSE,
    FIRST,
    LAST,
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
    Integer,
    Mod,
    Node,
    Not,
    Once,
    Or,
    Release,
    Scale,
    Since,
    StrongRelease,
    Term,
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
from softhat.logic.syntax.walk import Distinct, distinct, rebuild

STEPS = 40_000
"""Of looking at what follows from what, in one formula: a third of a second at most."""


def simplify(formula: Formula) -> Formula:
    """A formula of at most the same size that is true at the same positions of every word."""
    rows, (root,) = distinct(formula)
    links = _links(rows)
    look = Look(STEPS)
    interned: dict[Node, Node] = {}
    made: list[Node] = []
    for k, (node, places) in enumerate(rows):
        now = rebuild(node, [made[place] for place in places])
        if k not in links:
            if links and any(place in links for place in places):
                now = _long_chain(now, [made[part] for part in _ends(k, rows, links)], look)
            now = _simplest(now, look)
            now = interned.setdefault(now, now)
        made.append(now)
    result = made[root]
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
            return _not(node)
        case And() | Or():
            return _and_or(node, look)
        case Xor() | Iff() | Implies():
            return _gate(node, look)
        case Unary():
            return _unary(node, look)
        case Since() | Triggered() | Until() | Release():
            return _binary(node, look)
        case WeakUntil(left, right):  # (f U g) | G f
            if TRUE in (left, right) or _cover(left, right, look):
                return TRUE
            if left == FALSE or look.entails(left, right):
                return right
            return Always(left) if right == FALSE else node
        case StrongRelease(left, right):  # g U (f & g)
            if FALSE in (left, right) or _exclude(left, right, look):
                return FALSE
            if left == TRUE or look.entails(right, left):
                return right
            return Eventually(left) if right == TRUE else node
        case Mod(1, _):
            return TRUE
        case Comparison():
            return _comparison(node)
        case Term():
            return _term(node)
    return node


def _exclude(f: Formula, g: Formula, look: Look) -> bool:
    """Do f and g never hold together, as far as their form tells?"""
    if look.spent:
        return opposite(f, g)
    return not together(f, g) and look.entails(f, negated(g))


def _cover(f: Formula, g: Formula, look: Look) -> bool:
    """Does f or g hold everywhere, as far as their form tells?"""
    if look.spent:
        return opposite(f, g)
    return not neither(f, g) and look.entails(negated(f), g)


def negated(formula: Formula) -> Formula:
    """`!formula`, with a rule for it applied."""
    return _not(Not(formula))


def _not(node: Not) -> Formula:
    match node.operand:
        case Constant(value):
            return Constant(not value)
        case Not(operand):
            return operand
        case Comparison(left, relation, right):
            return Comparison(left, NEGATED[relation], right)
        case Unary(Not(operand)) as inner:
            return DUAL[type(inner)](operand)  # type: ignore[call-arg]
        case Binary(Not(left), Not(right)) as inner if type(inner) in DUAL:
            return DUAL[type(inner)](left, right)  # type: ignore[call-arg]
        case Xor(left, right):
            return Iff(left, right)
        case Iff(left, right):
            return Xor(left, right)
    return node


def _and_or(node: And | Or, look: Look) -> Formula:
    f, g = node.left, node.right
    unit, zero = (TRUE, FALSE) if isinstance(node, And) else (FALSE, TRUE)
    if f == g or g == unit:
        return f
    if f == unit:
        return g
    if zero in (f, g):
        return zero
    if isinstance(node, And):
        if _exclude(f, g, look):
            return FALSE
        if look.entails(f, g):
            return f
        if look.entails(g, f):
            return g
    else:
        if _cover(f, g, look):
            return TRUE
        if look.entails(f, g):
            return g
        if look.entails(g, f):
            return f
    return _chain(node, look)


def _chain(node: And | Or, look: Look) -> Formula:
    """A chain of conjunctions without those that others imply; false if two exclude each other.
    Mirrored for disjunctions. The parts of each side have been compared before."""
    kind = type(node)
    if look.spent or not (isinstance(node.left, kind) or isinstance(node.right, kind)):
        return node
    left, right = _parts(node.left, kind), _parts(node.right, kind)
    if len(left) + len(right) > _LONGEST_CHAIN:
        return node
    for one in left:
        for other in right:
            if _exclude(one, other, look) if kind is And else _cover(one, other, look):
                return FALSE if kind is And else TRUE

    def follows(part: Formula, others: list[Formula]) -> bool:
        return any(look.entails(x, part) if kind is And else look.entails(part, x) for x in others)

    kept = [part for part in left if not follows(part, right)]
    kept += [part for part in right if not follows(part, kept)]
    if len(kept) == len(left) + len(right):
        return node
    result = kept[0]
    for part in kept[1:]:
        result = kind(result, part)
    return result


def _parts(formula: Formula, kind: type[And] | type[Or]) -> list[Formula]:
    """The operands of a chain, at most one more than may be compared."""
    parts: list[Formula] = []
    stack = [formula]
    while stack and len(parts) <= _LONGEST_CHAIN:
        part = stack.pop()
        if isinstance(part, kind):
            stack += [part.right, part.left]
        else:
            parts.append(part)
    return parts


_LONGEST_CHAIN = 32
"""In longer chains a part is compared only with its neighbours: each with each would take too
long."""


def _links(rows: Distinct) -> set[int]:
    """Conjunctions that are but links of a chain of more than `_LONGEST_CHAIN`, and disjunctions:
    used once, by one of their own kind. Such a chain is simplified as a whole."""
    if len(rows) <= _LONGEST_CHAIN:
        return set()
    kinds = [type(node) for node, _ in rows]
    parts = [1] * len(rows)
    users = [-1] * len(rows)  # the one that uses it; -2: several do
    for k, (_, places) in enumerate(rows):
        for place in places:
            users[place] = k if users[place] == -1 else -2
        if (kind := kinds[k]) is And or kind is Or:
            left, right = places
            count = parts[left] if kinds[left] is kind else 1
            count += parts[right] if kinds[right] is kind else 1
            parts[k] = count if count <= _LONGEST_CHAIN else _LONGEST_CHAIN + 1
    links: set[int] = set()
    for k in range(len(rows) - 1, -1, -1):
        kind, user = kinds[k], users[k]
        link = (kind is And or kind is Or) and user >= 0 and kinds[user] is kind
        if link and (user in links or parts[user] > _LONGEST_CHAIN):
            links.add(k)
    return links


def _ends(top: int, rows: Distinct, links: set[int]) -> list[int]:
    """What a chain of links joins, from left to right."""
    ends: list[int] = []
    todo = [*reversed(rows[top][1])]
    while todo:
        place = todo.pop()
        if place in links:
            todo += reversed(rows[place][1])
        else:
            ends.append(place)
    return ends


def _long_chain(node: Node, parts: list[Node], look: Look) -> Node:
    """A long conjunction (disjunction) without what stands there twice or follows from the part
    before; false (true) if a part and its negation stand there."""
    assert isinstance(node, And | Or)
    kind = type(node)
    unit, zero = (TRUE, FALSE) if kind is And else (FALSE, TRUE)
    kept: dict[Formula, None] = {}
    last: Formula = unit
    for part in parts:
        assert isinstance(part, Formula)
        if part == unit or part in kept:
            continue
        if part == zero or negated(part) in kept:
            return zero
        if last != unit:
            f, g = (last, part) if kind is And else (part, last)
            if _exclude(f, g, look) if kind is And else _cover(f, g, look):
                return zero
            if look.entails(f, g):
                continue
            if look.entails(g, f):
                del kept[last]
        kept[part] = None
        last = part
    if len(kept) == len(parts):
        return node
    return _joined(kind, list(kept), look) if kept else unit


def _joined(kind: type[And] | type[Or], parts: list[Formula], look: Look) -> Formula:
    """The chain, each link as simple as can be where it has become short."""
    short = len(parts) <= _LONGEST_CHAIN
    result: Node = parts[0]
    for part in parts[1:]:
        assert isinstance(result, Formula)
        link = kind(result, part)
        result = _simplest(link, look) if short else link
    assert isinstance(result, Formula)
    return result


def _gate(node: Xor | Iff | Implies, look: Look) -> Formula:
    f, g = node.left, node.right
    other: type[Xor] | type[Iff]
    match node:
        case Implies():
            if f == TRUE or _cover(f, g, look):
                return g
            if f == FALSE or g == TRUE or look.entails(f, g):
                return TRUE
            if _exclude(f, g, look):
                return Not(f)
            if g == FALSE:
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


# For each binary operator: the operator that ignores its left side, the left side at which it
# is that, the left side at which it is its right side.
_LONE: dict[type[Formula], tuple[type[Unary], Formula, Formula]] = {
    Since: (Once, TRUE, FALSE),
    Until: (Eventually, TRUE, FALSE),
    Triggered: (Historically, FALSE, TRUE),
    Release: (Always, FALSE, TRUE),
}


def _binary(node: Binary, look: Look) -> Formula:
    f, g = node.left, node.right
    lone, free, stuck = _LONE[type(node)]
    if type(g) in (Constant, lone) or f == stuck:
        return g
    strong = isinstance(node, _STRONG)
    if look.entails(f, g) if strong else look.entails(g, f):
        return g
    if f == free or (_cover(g, f, look) if strong else _exclude(f, g, look)):
        return lone(g)
    if type(g) is type(node) and g.children[0] == f:  # f S (f S g)
        return g
    if type(f) is type(node) and f.children[1] == g:  # (f S g) S g
        return f
    return node


def _term(node: Term) -> Term:
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


def _comparison(node: Comparison) -> Formula:
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
