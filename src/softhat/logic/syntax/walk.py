"""Bottom-up passes over formulas of any depth.

A pass is a *fold*: one step for each structurally distinct node, given its children's results.
Equal subformulas are visited once, children before parents, without recursion, in time linear
in the number of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import is_
from typing import Any, TypeVar

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Node

T = TypeVar("T")


Distinct = Sequence[tuple[Node, tuple[int, ...]]]
"""Nodes, no two of them equal, each with the indices of its children, which stand before it."""


def distinct(*roots: Node) -> tuple[Distinct, list[int]]:
    """The distinct nodes below `roots`, each with the indices of its children, children first.

    The second result gives each root's index.
    """
    if len(roots) > 1:
        return _rows(roots)
    (root,) = roots
    for last, rows in _LAST:
        if last is root:
            return rows, [len(rows) - 1]
    rows, places = _rows(roots)
    _LAST[:] = [(root, rows), *_LAST[:3]]
    return rows, places


_LAST: list[tuple[Node, Distinct]] = []
"""The four formulas walked last, as the objects that they are: several passes follow each other
over one, and each would walk it again."""


def _rows(roots: tuple[Node, ...]) -> tuple[Distinct, list[int]]:
    rows: list[tuple[Node, tuple[int, ...]]] = []
    index_of_key: dict[Hashable, int] = {}
    index_of_object: dict[int, int] = {}
    known = index_of_object.get
    for root in roots:
        stack: list[Node] = [root]
        while stack:
            node = stack.pop()
            if id(node) in index_of_object:
                continue
            places: tuple[int, ...] = ()
            match node.children:  # no node has more than two: spelt out, because all passes wait
                case (left, right):
                    first, second = known(id(left)), known(id(right))
                    if first is None or second is None:
                        stack.append(node)
                        if second is None:
                            stack.append(right)
                        if first is None:
                            stack.append(left)
                        continue
                    places = (first, second)
                case (operand,):
                    first = known(id(operand))
                    if first is None:
                        stack += (node, operand)
                        continue
                    places = (first,)
            at = index_of_key.setdefault((type(node), node.payload, places), len(rows))
            if at == len(rows):
                rows.append((node, places))
            index_of_object[id(node)] = at
    return rows, [index_of_object[id(root)] for root in roots]


def fold(root: Node, step: Callable[[Node, tuple[T, ...]], T]) -> T:
    """`step(node, results of its children)` for every distinct node; the result at `root`."""
    (result,) = fold_all([root], step)
    return result


def rewritten(root: Formula, step: Callable[[Node, tuple[Node, ...]], Node]) -> Formula:
    """The formula in which every node is what `step` makes of it over its rewritten children."""
    formula = fold(root, step)
    assert isinstance(formula, Formula)
    return formula


def contains(root: Node, *kinds: type[Node]) -> bool:
    """Does a node of one of these kinds occur?"""
    return any(isinstance(node, kinds) for node, _ in distinct(root)[0])


def fold_all(roots: Sequence[Node], step: Callable[[Node, tuple[T, ...]], T]) -> list[T]:
    """`fold` at each root; what several of them share is visited once."""
    rows, places_of_roots = distinct(*roots)
    results: list[T] = []
    result = results.__getitem__
    for node, places in rows:
        results.append(step(node, tuple(map(result, places))))
    return [results[at] for at in places_of_roots]


Rows = tuple[tuple[str, tuple[Hashable, ...], tuple[int, ...]], ...]


def to_rows(root: Node) -> Rows:
    """The distinct nodes as plain data (kind, payload, indices of the children), `root` last."""
    rows, _ = distinct(root)
    return tuple((type(node).__name__, node.payload, places) for node, places in rows)


def from_rows(rows: Rows) -> Node:
    """The inverse of `to_rows`: equal subformulas become one object."""
    built: list[Node] = []
    for kind, payload, places in rows:
        built.append(_make(kind, payload, [built[place] for place in places]))
    return built[-1]


def rebuild(node: Node, children: Sequence[Node]) -> Node:
    """The same kind of node over other children (the same object if they are the same)."""
    if all(map(is_, node.children, children)):
        return node
    return _make(type(node).__name__, node.payload, children)


def _make(kind: str, payload: tuple[Hashable, ...], children: Sequence[Node]) -> Node:
    fields: list[Any] = [*payload, *children]
    if kind == "Comparison":  # the one kind whose payload stands between its children
        fields = [children[0], *payload, children[1]]
    node: Node = getattr(nodes, kind)(*fields)
    return node
