"""What a RASP program means: the reference against which models are judged.

Maps leave None as it is; a comparison of None raises; Booleans count as numbers in a mean, the
mean of one value is that value. Under causal evaluation a query sees only keys that are not after
it, in every selector. Functions are taken to depend on their arguments only, so a predicate is
tried once for each pair of values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from softhat.frontends.rasp import language
from softhat.frontends.rasp.expressions import RASPExpr
from softhat.frontends.rasp.operations import Value
from softhat.io.errors import SofthatError


def evaluate(expr: RASPExpr, xs: Sequence[Value], causal: bool = False) -> Any:
    """The values of an s-op, or the rows of a selector, on a sequence."""
    if not isinstance(expr, RASPExpr):
        raise SofthatError(f"expected a RASP program, got {expr!r}")
    values: dict[int, Any] = {}
    for node in children_first(expr):
        values[id(node)] = _step(
            node, [values[id(child)] for child in node.children], list(xs), causal
        )
    return values[id(expr)]


def children_first(expr: RASPExpr) -> list[RASPExpr]:
    """All expressions below, each once, children before parents."""
    order: list[RASPExpr] = []
    seen: set[int] = set()
    stack: list[tuple[RASPExpr, bool]] = [(expr, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))
    return order


def _step(node: RASPExpr, below: list[Any], xs: list[Value], causal: bool) -> Any:
    n = len(xs)
    match node:
        case language.TokensType():
            return xs
        case language.IndicesType():
            return list(range(n))
        case language.LengthType():
            return [n] * n
        case language.Full():
            return [node.fill] * n
        case language.ConstantSOp():
            _check_length(node.check_length, len(node.value), n)
            return node.value
        case language.Map():
            return [None if x is None else node.f(x) for x in below[0]]
        case language.SequenceMap():
            pairs = zip(*below, strict=True)
            return [None if x is None or y is None else node.f(x, y) for x, y in pairs]
        case language.SelectorWidth():
            return [sum(row) for row in below[0]]
        case language.Aggregate():
            rows, values = below
            return [
                mean([v for chosen, v in zip(row, values, strict=True) if chosen], node.default)
                for row in rows
            ]
        case language.Select():
            rows = _selected(node.predicate, *below)
        case language.SelectorAnd():
            rows = _joined(lambda x, y: x and y, *below)
        case language.SelectorOr():
            rows = _joined(lambda x, y: x or y, *below)
        case language.SelectorNot():
            rows = [[not x for x in row] for row in below[0]]
        case language.ConstantSelector():
            _check_length(node.check_length, len(node.value), n)
            rows = node.value
        case _:
            raise SofthatError(f"{node!r} has no meaning: it is neither an s-op nor a selector")
    if not causal:
        return rows
    return [[x and j <= i for j, x in enumerate(row)] for i, row in enumerate(rows)]


def _selected(
    predicate: Callable[[Value, Value], bool], keys: list[Value], queries: list[Value]
) -> list[list[bool]]:
    known: dict[Any, bool] = {}
    rows = []
    for query in queries:
        row = []
        for key in keys:
            # 1, 1.0 and True are equal but need not be selected alike.
            pair = (type(key), key, type(query), query)
            if pair not in known:
                known[pair] = bool(predicate(key, query))
            row.append(known[pair])
        rows.append(row)
    return rows


def _joined(
    join: Callable[[bool, bool], bool], left: list[list[bool]], right: list[list[bool]]
) -> list[list[bool]]:
    return [list(map(join, *pair)) for pair in zip(left, right, strict=True)]


def mean(values: list[Value], default: Value) -> Value:
    """The mean of numbers; of one value of any type, itself."""
    if not values:
        return default
    if len(values) == 1:
        return values[0]
    if all(isinstance(value, int | float) for value in values):
        return sum(values) / len(values)
    raise ValueError(f"only numbers have a mean, not {values!r}")


def _check_length(wanted: bool, have: int, n: int) -> None:
    if wanted and have != n:
        raise ValueError(f"Constant len {have} doesn't match input len {n}.")
