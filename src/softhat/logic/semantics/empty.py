"""Truth at the empty prefix: before the first symbol, where nothing is known yet.

i = 0, every count is 0, no symbol holds, and operators that look back find no position (`Y f`,
`O f`, `f S g` are false; `Z f`, `H f`, `f T g` are true).
"""

from __future__ import annotations

from collections.abc import Sequence

from softhat.logic.syntax import nodes
from softhat.logic.syntax.walk import distinct


def at_empty_prefix(formula: nodes.Formula) -> bool:
    """Truth before the first symbol: position 0 of a word of which nothing is known yet."""
    return at_empty_prefixes([formula])[0]


def at_empty_prefixes(formulas: Sequence[nodes.Formula]) -> list[bool]:
    """`at_empty_prefix` of several formulas; what they share is looked at once."""
    rows, roots = distinct(*formulas)
    values: list[int] = []
    for node, places in rows:
        values.append(_empty(node, [values[place] for place in places]))
    return [bool(values[root]) for root in roots]


def _empty(node: nodes.Node, below: list[int]) -> int:
    match node, below:
        case nodes.Constant(value), _:
            return int(value)
        case nodes.Integer(value), _:
            return value
        case nodes.Mod(_, remainder), _:
            return int(remainder == 0)
        case nodes.Not(), [f]:
            return 1 - f
        case nodes.And(), [f, g]:
            return f & g
        case nodes.Or(), [f, g]:
            return f | g
        case nodes.Xor(), [f, g]:
            return f ^ g
        case nodes.Implies(), [f, g]:
            return (1 - f) | g
        case nodes.Iff(), [f, g]:
            return 1 - (f ^ g)
        case ((nodes.WeakYesterday() | nodes.Historically() | nodes.Triggered()), _):
            return 1
        case nodes.Scale(factor, _), [t]:
            return factor * t
        case nodes.Sum(), [t, u]:
            return t + u
        case nodes.Difference(), [t, u]:
            return t - u
        case nodes.Comparison(_, relation, _), [t, u]:
            holds = {
                "<": t < u, "<=": t <= u, "=": t == u, "!=": t != u, ">=": t >= u, ">": t > u
            }  # fmt: skip
            return int(holds[relation])
        case _:  # symbols, first, i, counts, Y, O, S: nothing is there yet
            return 0
