"""What kind of formula it is, which decides the construction and the mask.

Past operators look at j <= i, future operators at j >= i; everything else is neutral.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Node
from softhat.logic.syntax.walk import distinct
from softhat.numbers.predicates import depends_on_length

_PREVIOUS = (nodes.Yesterday, nodes.WeakYesterday)
_NEXT = (nodes.Tomorrow, nodes.WeakTomorrow)
PAST = (
    *_PREVIOUS,
    nodes.Once,
    nodes.Historically,
    nodes.Since,
    nodes.Triggered,
    nodes.Count,
    nodes.Recall,
    nodes.OnceWithin,
    nodes.HistoricallyWithin,
    nodes.SinceWithin,
)
FUTURE = (
    *_NEXT,
    nodes.Eventually,
    nodes.Always,
    nodes.Until,
    nodes.Release,
    nodes.WeakUntil,
    nodes.StrongRelease,
    nodes.CountFuture,
    nodes.EventuallyWithin,
    nodes.AlwaysWithin,
    nodes.UntilWithin,
)
# What a decoder cannot know at position i, besides the future: where the word ends.
NEEDS_END = (nodes.Last, nodes.Length, nodes.CountAll)
_TEMPORAL = frozenset((*PAST, *FUTURE, nodes.CountAll))


@dataclass(frozen=True, slots=True)
class Description:
    """What `softhat check` says of a formula."""

    fragment: str
    has_past: bool
    has_future: bool
    has_counting: bool
    has_mod: bool
    predicates: tuple[str, ...]
    temporal_depth: int
    size: int
    distinct_subformulas: int
    symbols: tuple[str, ...]
    is_decoder: bool
    acceptance: Literal["first", "last"] | None


def describe(formula: Formula) -> Description:
    """Fragment, depth, size, symbols, and how the formula can be run."""
    rows, _ = distinct(formula)
    kinds = {type(node) for node, _ in rows}
    has_past, has_future = _any(kinds, PAST), _any(kinds, FUTURE)
    predicates = [node.predicate for node, _ in rows if isinstance(node, nodes.At)]
    needs_end = _any(kinds, NEEDS_END) or any(map(depends_on_length, predicates))
    sizes: list[int] = []
    depths: list[int] = []
    for node, places in rows:
        size, depth = 1, 0
        for place in places:
            size += sizes[place]
            if depths[place] > depth:  # faster than max, which matters to formulas of megabytes
                depth = depths[place]
        sizes.append(size)
        depths.append(depth + (type(node) in _TEMPORAL))
    return Description(
        fragment=_name(kinds),
        has_past=has_past,
        has_future=has_future,
        has_counting=nodes.Comparison in kinds,
        has_mod=nodes.Mod in kinds,
        predicates=tuple(sorted({p.name for p in predicates})),
        temporal_depth=depths[-1],
        size=sizes[-1],
        distinct_subformulas=sum(isinstance(node, Formula) for node, _ in rows),
        symbols=tuple(sorted({node.name for node, _ in rows if isinstance(node, nodes.Symbol)})),
        is_decoder=not has_future and not needs_end,
        acceptance=_acceptance(has_past, has_future),
    )


def acceptance_position(formula: Formula) -> Literal["first", "last"] | None:
    """Where acceptance is read off, unless the caller says; None for a two-way formula."""
    kinds = {type(node) for node, _ in distinct(formula)[0]}
    return _acceptance(_any(kinds, PAST), _any(kinds, FUTURE))


def symbols_of(*formulas: Formula) -> list[str]:
    """The symbols (or propositions) that occur, sorted."""
    rows, _ = distinct(*formulas)
    return sorted({node.name for node, _ in rows if isinstance(node, nodes.Symbol)})


def _acceptance(has_past: bool, has_future: bool) -> Literal["first", "last"] | None:
    if not has_future:
        return "last"
    return None if has_past else "first"


def _any(kinds: set[type[Node]], wanted: tuple[type[Node], ...]) -> bool:
    return not kinds.isdisjoint(wanted)


def _name(kinds: set[type[Node]]) -> str:
    past, future = kinds & set(PAST), kinds & set(FUTURE)
    if past and future:
        name = "two-way"
    elif past:
        name = "Y-only" if past <= set(_PREVIOUS) else "pure past"
    elif future:
        name = "X-only" if future <= set(_NEXT) else "pure future"
    else:
        name = "Boolean"
    known = (("counting", nodes.Comparison), ("mod", nodes.Mod), ("predicates", nodes.At))
    extras = [word for word, kind in known if kind in kinds]
    if len(extras) > 2:
        extras = [", ".join(extras[:-1]), extras[-1]]
    return f"{name} with {' and '.join(extras)}" if extras else name
