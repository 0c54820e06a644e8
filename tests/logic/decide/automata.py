"""Pure-past formulas as explicit automata, state by state, straight from the recursions.

A state is the tuple of all subformulas' truth values at a position, with the position modulo
the period. Shares nothing with the product's machines; for formulas without counting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Node


def shortest(formula: Formula, letters: Sequence[str]) -> int | None:
    """The length of the shortest word at whose last position the formula holds."""
    parts = _parts(formula)
    period = math.lcm(1, *(node.modulus for node in parts if isinstance(node, nodes.Mod)))
    start = (None, 0)
    seen: set[object] = {start}
    layer: list[tuple[tuple[bool, ...] | None, int]] = [start]
    length = 0
    while layer:
        length += 1
        following: list[tuple[tuple[bool, ...] | None, int]] = []
        for before, i in layer:
            for letter in letters:
                here = _step(parts, before, letter, i + 1)
                if here[-1]:
                    return length
                state = (here, (i + 1) % period)
                if state not in seen:
                    seen.add(state)
                    following.append(state)
        layer = following
    return None


def _parts(formula: Formula) -> list[Node]:
    found: list[Node] = []

    def visit(node: Node) -> None:
        for child in node.children:
            visit(child)
        if node not in found:
            found.append(node)

    visit(formula)
    return found


def _step(
    parts: list[Node], before: tuple[bool, ...] | None, letter: str, i: int
) -> tuple[bool, ...]:
    now: dict[Node, bool] = {}
    for place, node in enumerate(parts):
        was = before[place] if before is not None else None
        values = [now[child] for child in node.children]
        below = [before[parts.index(child)] for child in node.children] if before else []
        match node:
            case nodes.Symbol(name):
                value = name == letter
            case nodes.Constant(constant):
                value = constant
            case nodes.First():
                value = before is None
            case nodes.Mod(m, r):
                value = i % m == r
            case nodes.Not():
                value = not values[0]
            case nodes.And():
                value = values[0] and values[1]
            case nodes.Or():
                value = values[0] or values[1]
            case nodes.Xor():
                value = values[0] != values[1]
            case nodes.Iff():
                value = values[0] == values[1]
            case nodes.Implies():
                value = values[1] or not values[0]
            case nodes.Yesterday():
                value = before is not None and below[0]
            case nodes.WeakYesterday():
                value = before is None or below[0]
            case nodes.Once():
                value = values[0] or was is True
            case nodes.Historically():
                value = values[0] and was is not False
            case nodes.Since():
                value = values[1] or (values[0] and was is True)
            case nodes.Triggered():
                value = values[1] and (values[0] or was is not False)
            case _:
                raise AssertionError(type(node).__name__)
        now[node] = value
    return tuple(now[node] for node in parts)
