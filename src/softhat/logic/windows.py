"""Operators with bounds, by their definition in operators without: `O[1,4] f`, `f S[0,8] g`.

The distance of j from i lies between a and b, both included; positions outside the word are left
out. With Y^d for d times `Y`,

    O[a,b] f    = Y^a f | Y^(a+1) f | … | Y^b f
    H[a,b] f    = !O[a,b] !f
    f S[a,b] g  = some d from a to b: Y^d g, and f at the last d positions

and `F`, `G`, `U` are their mirror images. Written out, a window of w positions would need w² times
`Y`. A window is therefore made of smaller ones, eight at a time: a window of 8m positions is eight
windows of m, the k-th seen from km positions away. So its depth grows with the logarithm of w, and
its size with w.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from softhat.io.errors import SofthatError
from softhat.logic.connectives import all_of, any_of, negation
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import TRUE, Formula, Node
from softhat.logic.syntax.walk import fold_all, rebuild

EIGHT = 8
"""Windows that are joined at once: so many heads of one layer."""
FARTHEST = 1_024
"""The greatest distance that is compiled, decided or proved: a model has a head for every few
positions of it."""


def without_windows(*formulas: Formula) -> list[Formula]:
    """The formulas with every window written out by operators without bounds."""

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        return defined(node, below) if isinstance(node, nodes.Window) else rebuild(node, below)

    return cast("list[Formula]", fold_all(formulas, step))


def defined(node: nodes.Window, below: tuple[Node, ...]) -> Formula:
    """What an operator with bounds says of these operands, in `! & |`, `Y` and `X`."""
    if node.high > FARTHEST:
        raise SofthatError(
            f"bounds are compiled and decided up to {FARTHEST:,}, and {nodes.bounds_text(node)} "
            "goes further: leave the upper bound out, or use a smaller one"
        )
    match node, below:
        case nodes.OnceWithin(), (Formula() as f,):
            return _window(TRUE, f, node, _Past)
        case nodes.HistoricallyWithin(), (Formula() as f,):
            return negation(_window(TRUE, negation(f), node, _Past))
        case nodes.EventuallyWithin(), (Formula() as f,):
            return _window(TRUE, f, node, _Future)
        case nodes.AlwaysWithin(), (Formula() as f,):
            return negation(_window(TRUE, negation(f), node, _Future))
        case nodes.SinceWithin(), (Formula() as f, Formula() as g):
            return _window(f, g, node, _Past)
        case nodes.UntilWithin(), (Formula() as f, Formula() as g):
            return _window(f, g, node, _Future)
    raise TypeError(f"not an operator with bounds: {node!r}")


_Step = type[nodes.Yesterday] | type[nodes.Tomorrow]
_Past: _Step = nodes.Yesterday
_Future: _Step = nodes.Tomorrow


def _window(f: Formula, g: Formula, bounds: nodes.Window, step: _Step) -> Formula:
    """`g` at some distance within the bounds, and `f` at every position on the way to it."""
    return _some(f, g, bounds.low, bounds.high - bounds.low + 1, step)


def _some(f: Formula, g: Formula, low: int, width: int, step: _Step) -> Formula:
    """The same for the `width` distances from `low` on."""
    size, seen = 1, g  # `seen` says it of the `size` distances from 0 on
    while EIGHT * size < width:
        seen = _joined(f, seen, range(0, EIGHT * size, size), step)
        size *= EIGHT
    last = low + width - size
    return _joined(f, seen, [*range(low, last, size), last], step)  # they may overlap


def _joined(f: Formula, seen: Formula, starts: Iterable[int], step: _Step) -> Formula:
    """`seen` from one of the `starts`, and `f` at every position on the way there."""
    return any_of(all_of([_every(f, start, step), _moved(seen, start, step)]) for start in starts)


def _every(f: Formula, width: int, step: _Step) -> Formula:
    """`f` at every distance d < width where there is a position."""
    if width == 0 or f == TRUE:
        return TRUE
    return negation(_some(TRUE, negation(f), 0, width, step))


def _moved(formula: Formula, distance: int, step: _Step) -> Formula:
    for _ in range(distance):
        formula = step(formula)
    return formula
