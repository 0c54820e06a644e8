"""Chains of conjunctions, and of disjunctions: parts that others imply are left out.

A short chain is looked at part by part, each beside each other one. A long one is simplified as a
whole, so that a formula of megabytes takes time linear in its size.
"""

from __future__ import annotations

from collections.abc import Sequence

from softhat.logic.optimise.entail import Look, negated
from softhat.logic.syntax.nodes import FALSE, TRUE, And, Formula, Node, Or
from softhat.logic.syntax.walk import Distinct

LONGEST_CHAIN = 32
"""In longer chains a part is compared only with its neighbours: each with each would take too
long."""


def without_implied(node: And | Or, look: Look) -> Formula:
    """A chain of conjunctions without those that others imply; false if two exclude each other.
    Mirrored for disjunctions. The parts of each side have been compared before."""
    kind = type(node)
    if look.spent or not (isinstance(node.left, kind) or isinstance(node.right, kind)):
        return node
    left, right = _parts(node.left, kind), _parts(node.right, kind)
    if len(left) + len(right) > LONGEST_CHAIN:
        return node
    for one in left:
        for other in right:
            if look.exclude(one, other) if kind is And else look.cover(one, other):
                return FALSE if kind is And else TRUE

    def follows(part: Formula, others: list[Formula]) -> bool:
        return any(look.entails(x, part) if kind is And else look.entails(part, x) for x in others)

    needed = [part for part in left if not follows(part, right)]
    needed += [part for part in right if not follows(part, needed)]
    if len(needed) == len(left) + len(right):
        return node
    result = needed[0]
    for part in needed[1:]:
        result = kind(result, part)
    return result


def _parts(formula: Formula, kind: type[And] | type[Or]) -> list[Formula]:
    """The operands of a chain, at most one more than may be compared."""
    parts: list[Formula] = []
    stack = [formula]
    while stack and len(parts) <= LONGEST_CHAIN:
        part = stack.pop()
        if isinstance(part, kind):
            stack += [part.right, part.left]
        else:
            parts.append(part)
    return parts


def links_of(rows: Distinct) -> set[int]:
    """Conjunctions that are but links of a chain of more than `LONGEST_CHAIN`, and disjunctions:
    used once, by one of their own kind. Such a chain is simplified as a whole."""
    if len(rows) <= LONGEST_CHAIN:
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
            parts[k] = count if count <= LONGEST_CHAIN else LONGEST_CHAIN + 1
    links: set[int] = set()
    for k in range(len(rows) - 1, -1, -1):
        kind, user = kinds[k], users[k]
        link = (kind is And or kind is Or) and user >= 0 and kinds[user] is kind
        if link and (user in links or parts[user] > LONGEST_CHAIN):
            links.add(k)
    return links


def ends_of(top: int, rows: Distinct, links: set[int]) -> list[int]:
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


def without_repeats(kind: type[And] | type[Or], parts: Sequence[Node], look: Look) -> list[Formula]:
    """The parts of a long conjunction (disjunction) without those that occur twice or follow from
    the part before; false (true) alone if a part and its negation stand there."""
    unit, zero = (TRUE, FALSE) if kind is And else (FALSE, TRUE)
    distinct_parts: dict[Formula, None] = {}
    last: Formula = unit
    for part in parts:
        assert isinstance(part, Formula)
        if part == unit or part in distinct_parts:
            continue
        if part == zero or negated(part) in distinct_parts:
            return [zero]
        if last != unit:
            f, g = (last, part) if kind is And else (part, last)
            if look.exclude(f, g) if kind is And else look.cover(f, g):
                return [zero]
            if look.entails(f, g):
                continue
            if look.entails(g, f):
                del distinct_parts[last]
        distinct_parts[part] = None
        last = part
    return list(distinct_parts)
