"""Where a program computes what its formula says: the hints for `proofs/Matching.v`.

The formula is walked as Coq walks it. For each temporal operator and each comparison the signal
that computes it is looked up by what it computes (`matcher`). Nothing here is trusted: Coq checks
every hint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from softhat.export.coq.inputs import input_of
from softhat.export.coq.matcher import Matcher
from softhat.export.coq.programs import literal_text
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Node
from softhat.logic.syntax.walk import distinct
from softhat.program.counting import CountingTerm, counted
from softhat.program.heads import Direction, Range
from softhat.program.literals import Literal

Hints = tuple[str, ...]


class Walked(NamedTuple):
    """What became of a part of the formula: the hints on the way, and its meaning."""

    hints: Hints
    meaning: int | CountingTerm
    """A function of the matcher's space, or a term."""


def hints_of(
    matcher: Matcher, formula: Formula, known_by: Callable[[int], int] = lambda f: f
) -> tuple[Hints, int]:
    """The hints of the whole walk, in Coq's order, and the formula's function.

    `known_by` may give a function that is proved to be equal, for operators and comparisons.
    """
    rows, (root,) = distinct(formula)
    walked: list[Walked] = []
    for node, places in rows:
        part = _walk(matcher, node, [walked[place] for place in places])
        if isinstance(part.meaning, int) and not isinstance(node, _PLAIN):
            part = Walked(part.hints, known_by(part.meaning))
        walked.append(part)
    hints, function = walked[root]
    assert isinstance(function, int)
    return hints, function


_PLAIN = (nodes.Symbol, nodes.Constant, nodes.Not)
"""Operators that are known already."""
_PAST: Direction = "past"
_FUTURE: Direction = "future"
_COUNTS: dict[type[Node], Range] = {
    nodes.Count: "past",
    nodes.CountFuture: "future",
    nodes.CountAll: "total",
}


def _walk(matcher: Matcher, node: Node, below: list[Walked]) -> Walked:
    hints = tuple(hint for part in below for hint in part.hints)
    forms = [part.meaning for part in below if isinstance(part.meaning, CountingTerm)]
    functions = [part.meaning for part in below if isinstance(part.meaning, int)]
    match node:
        case nodes.Integer(value):
            return Walked((), CountingTerm(constant=value))
        case nodes.Position():
            return Walked((), CountingTerm(position=1))
        case nodes.Length():
            return Walked((), CountingTerm(length=1))
        case nodes.Scale(factor, _):
            return Walked(hints, CountingTerm().plus(forms[0], factor))
        case nodes.Sum():
            return Walked(hints, forms[0].plus(forms[1]))
        case nodes.Difference():
            return Walked(hints, forms[0].plus(forms[1], -1))
        case nodes.Counting():
            literal = matcher.literal(functions[0])
            hint = f"Of {literal_text(literal)}"
            return Walked((*hints, hint), counted(literal, _COUNTS[type(node)]))
        case nodes.Comparison(_, relation, _):
            return _comparison(matcher, hints, forms[0].plus(forms[1], -1), relation)
        case nodes.Formula():
            more, function = _formula(matcher, node, functions)
            return Walked((*hints, *more), function)
    raise TypeError(f"no formula: {node!r}")


def _comparison(matcher: Matcher, hints: Hints, form: CountingTerm, relation: str) -> Walked:
    no = matcher.space.negation
    if relation in (">=", "<"):
        hint, at_least = matcher.at_least(form, 0)
        return Walked((*hints, hint), at_least if relation == ">=" else no(at_least))
    if relation in (">", "<="):
        hint, more = matcher.at_least(form, 1)
        return Walked((*hints, hint), more if relation == ">" else no(more))
    hint, at_least = matcher.at_least(form, 0)
    other, more = matcher.at_least(form, 1)
    equal = matcher.both(at_least, no(more))
    return Walked((*hints, hint, other), equal if relation == "=" else no(equal))


def _formula(matcher: Matcher, node: Formula, parts: list[int]) -> tuple[Hints, int]:
    space = matcher.space
    no, true = space.negation, space.true
    known = input_of(node, space.propositional)
    if known is not None:
        at = matcher.add(known)
        return (f"Input {at}",), matcher.of(Literal(at, True))
    match node, parts:
        case nodes.Symbol(name), _:
            return (), space.symbol(name)
        case nodes.Constant(value), _:
            return (), true if value else space.false
        case nodes.Mod(_, remainder), _:  # of 1
            return (), true if remainder == 0 else space.false
        case nodes.Not(), [f]:
            return (), no(f)
        case nodes.And(), [f, g]:
            return (), matcher.both(f, g)
        case nodes.Or(), [f, g]:
            return (), no(matcher.both(no(f), no(g)))
        case nodes.Implies(), [f, g]:
            return (), no(matcher.both(f, no(g)))
        case nodes.Xor(), [f, g]:
            return (), matcher.differ(f, g)
        case nodes.Iff(), [f, g]:
            return (), no(matcher.differ(f, g))
        case nodes.Yesterday(), [f]:
            return _one(matcher.step(_PAST, f))
        case nodes.WeakYesterday(), [f]:
            return _one(matcher.step(_PAST, no(f)), no)
        case nodes.Tomorrow(), [f]:
            return _one(matcher.step(_FUTURE, f))
        case nodes.WeakTomorrow(), [f]:
            return _one(matcher.step(_FUTURE, no(f)), no)
        case nodes.Once(), [f]:
            return _one(matcher.since(_PAST, true, f))
        case nodes.Historically(), [f]:
            return _one(matcher.since(_PAST, true, no(f)), no)
        case nodes.Eventually(), [f]:
            return _one(matcher.since(_FUTURE, true, f))
        case nodes.Always(), [f]:
            return _one(matcher.since(_FUTURE, true, no(f)), no)
        case nodes.Since(), [f, g]:
            return _one(matcher.since(_PAST, f, g))
        case nodes.Triggered(), [f, g]:
            return _one(matcher.since(_PAST, no(f), no(g)), no)
        case nodes.Until(), [f, g]:
            return _one(matcher.since(_FUTURE, f, g))
        case nodes.Release(), [f, g]:
            return _one(matcher.since(_FUTURE, no(f), no(g)), no)
        case nodes.WeakUntil(), [f, g]:
            return _one(matcher.since(_FUTURE, no(g), matcher.both(no(f), no(g))), no)
        case nodes.StrongRelease(), [f, g]:
            return _one(matcher.since(_FUTURE, g, matcher.both(f, g)))
    raise TypeError(f"no formula: {node!r}")


def _one(
    hint_and_function: tuple[str, int], change: Callable[[int], int] = lambda f: f
) -> tuple[Hints, int]:
    hint, function = hint_and_function
    return (hint,), change(function)
