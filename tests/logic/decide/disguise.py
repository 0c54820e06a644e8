"""The same formula in other words: laws applied here and there, at random."""

from __future__ import annotations

import numpy as np

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import And, Formula, Node, Not, Or
from softhat.logic.syntax.walk import fold, rebuild


def disguise(formula: Formula, rng: np.random.Generator, often: float = 0.5) -> Formula:
    """A formula that is equivalent by the laws of the textbooks."""

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        same = rebuild(node, below)
        if rng.random() > often:
            return same
        options = _other_words(same)
        return options[int(rng.integers(len(options)))] if options else same

    result = fold(formula, step)
    assert isinstance(result, Formula)
    return result


def _other_words(node: Node) -> list[Formula]:
    match node:
        case And(f, g):
            return [Not(Or(Not(f), Not(g))), And(g, f)]
        case Or(f, g):
            return [Not(And(Not(f), Not(g))), Or(g, f)]
        case nodes.Xor(f, g):
            return [Or(And(f, Not(g)), And(Not(f), g))]
        case nodes.Since(f, g):
            expansion = Or(g, And(f, nodes.Yesterday(node)))
            return [
                expansion,
                Not(nodes.Triggered(Not(f), Not(g))),
                And(nodes.Once(g), nodes.Triggered(g, Or(f, g))),
            ]
        case nodes.Until(f, g):
            expansion = Or(g, And(f, nodes.Tomorrow(node)))
            return [
                expansion,
                Not(nodes.Release(Not(f), Not(g))),
                And(nodes.Eventually(g), nodes.WeakUntil(f, g)),
            ]
        case nodes.Triggered(f, g):
            return [And(g, Or(f, nodes.WeakYesterday(node)))]
        case nodes.Release(f, g):
            return [And(g, Or(f, nodes.WeakTomorrow(node)))]
        case nodes.Once(f):
            return [Or(f, nodes.Yesterday(node)), Not(nodes.Historically(Not(f)))]
        case nodes.Historically(f):
            return [And(f, nodes.WeakYesterday(node))]
        case nodes.Eventually(f):
            return [Or(f, nodes.Tomorrow(node)), Not(nodes.Always(Not(f)))]
        case nodes.Always(f):
            return [And(f, nodes.WeakTomorrow(node))]
        case nodes.WeakUntil(f, g):
            return [Or(nodes.Until(f, g), nodes.Always(f)), nodes.Release(g, Or(f, g))]
        case nodes.StrongRelease(f, g):
            return [And(nodes.Release(f, g), nodes.Eventually(f))]
        case nodes.Yesterday(And(f, g)):
            return [And(nodes.Yesterday(f), nodes.Yesterday(g))]
        case nodes.Tomorrow(Or(f, g)):
            return [Or(nodes.Tomorrow(f), nodes.Tomorrow(g))]
        case nodes.Yesterday(f):
            return [Not(nodes.WeakYesterday(Not(f)))]
    return []
