"""Argmax sets of heads whose scores read content alone: which classes, and how many positions?

The argmax set of a position is then all that it sees of the classes that its query likes best,
among those that occur. Two things follow for ties. Where the classes of every such set have one
value, the head copies it, however many positions tie. Where every position is seen, two argmax sets
hold the same classes, so they are one set, or they often share no class but sinks: then both fit
into the word, and their sizes s ≠ s' have s·s' ≤ ((s + s')² - 1)/4. A symbol and its copies, as in
counting, are the common case.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from softhat.ahat.analysis.residual import NOTHING, Functional, HeadView, StreamState
from softhat.ahat.model import BOS, EOS, Vector
from softhat.numbers.growth import point

MAX_SETS = 200  # kinds of argmax sets that are compared


@dataclass(frozen=True, slots=True)
class Sizes:
    """An argmax set has at most n + alone positions; of two that differ, each of more than one
    position, the sum is at most n + together."""

    alone: int
    together: int


@dataclass(frozen=True, slots=True)
class _Best:
    """Classes that share the maximum for some queries, if none that these like better occurs."""

    classes: frozenset[int]
    absent: frozenset[int]
    askers: frozenset[int]


def same_or_apart(view: HeadView) -> Sizes | None:
    """The sizes of the head's argmax sets, if any two in a word are the same or share sinks only;
    else None."""
    state, found = view.state, _kinds(view)
    if view.head.mask != "none" or found is None:
        return None
    together = 0
    for one, other in combinations(found, 2):
        absent = one.absent | other.absent
        first, second = one.classes - absent, other.classes - absent
        occurs = first and second and one.askers - absent and other.askers - absent
        if not occurs or first == second or _no_sink(state, absent):
            continue
        if _ordinary(state, first & second):
            return None
        # A set of one position adds no denominator.
        if not (_one_sink(state, first) or _one_sink(state, second)):
            together = max(together, len(_sinks(state, first)) + len(_sinks(state, second)))
    alone = (
        len(_sinks(state, best.classes)) - int(not _ordinary(state, best.classes)) for best in found
    )  # n ≥ 1: a set of sinks only has at least one position less than it might
    return Sizes(max(alone, default=0), together)


def one_value(view: HeadView, written: list[bool]) -> set[Vector] | None:
    """The contents that the head's results can have, if the positions of every argmax set have the
    same values in the rows that are written; else None."""
    for value, used in zip(view.value, written, strict=True):
        if used and any(view.state.atoms[a].spread.unit for a in value.form):
            return None
    kinds, found = _kinds(view), set[Vector]()
    for best in kinds or ():
        values = {
            tuple(v.content[c] if w else NOTHING for v, w in zip(view.value, written, strict=True))
            for c in best.classes
        }
        if len(values) > 1:
            return None
        found |= values
    return None if kinds is None else found


def _scores(view: HeadView) -> list[list[Fraction]] | None:
    """Scores of each class of query for each class of key, in the order that the head sees; None if
    it is not the content alone that tells keys apart."""
    rows = []
    for q, k in zip(view.query, view.key, strict=True):
        moving = any(view.state.atoms[a].spread.unit for a in k.form)
        if (not q.form and not any(q.content)) or (not moving and len(set(k.content)) == 1):
            continue
        if moving:
            return None
        rows.append((q, k.content))
    every = range(len(view.state.classes))
    if len(rows) == 1 and rows[0][0].form:  # only the sign of the query matters
        signs = [_sign(view.state, rows[0][0], a) for a in every]
        return None if None in signs else [[(s or 0) * k for k in rows[0][1]] for s in signs]
    if any(q.form for q, _ in rows):
        return None
    return [[sum((q.content[a] * k[c] for q, k in rows), NOTHING) for c in every] for a in every]


def _sign(state: StreamState, x: Functional, a: int) -> int | None:
    """The sign of a functional at positions of class a, if it is the same at all of them."""
    at_sink, range_ = state.classes[a].sink is not None, point(x.content[a])
    for atom, w in x.form.items():
        if not (at_sink and state.atoms[atom].of_position):
            range_ = range_ + state.atoms[atom].range * w
    if range_ == point(NOTHING):
        return 0
    if range_.low.above_zero:
        return 1
    return -1 if (range_ * Fraction(-1)).low.above_zero else None


def _kinds(view: HeadView) -> list[_Best] | None:
    """Every set of classes that some query may like best; None if there are too many, or if scores
    read more than content. A query that sees itself knows that its class occurs."""
    scores = _scores(view)
    if scores is None:
        return None
    own = view.head.mask in ("none", "<=", ">=")
    askers: dict[tuple[frozenset[int], frozenset[int]], set[int]] = {}
    for a, row in enumerate(scores):
        seen = _seen(view, a)
        for level in {row[c] for c in seen if row[c] >= row[a] or not own}:
            classes = frozenset(c for c in seen if row[c] == level)
            absent = frozenset(c for c in seen if row[c] > level)
            if view.head.mask != "none" or not _no_sink(view.state, absent):
                askers.setdefault((classes, absent), set()).add(a)
    if len(askers) > MAX_SETS:
        return None
    return [_Best(*sets, frozenset(who)) for sets, who in askers.items()]


def _seen(view: HeadView, a: int) -> set[int]:
    """The classes of the keys that a query of class a may see."""
    mask, classes = view.head.mask, view.state.classes
    if mask == "none":
        return set(range(len(classes)))
    near, far = (BOS, EOS) if mask in ("<=", "<") else (EOS, BOS)
    itself = {a} if mask in ("<=", ">=") else set[int]()
    if classes[a].sink == near:
        return itself
    return {c for c, k in enumerate(classes) if k.sink != far} | itself


def _no_sink(state: StreamState, absent: frozenset[int]) -> bool:
    """Would a sink be missing without these classes? Every word has each."""
    every = frozenset(range(len(state.classes)))
    return _sinks(state, every) != _sinks(state, every - absent)


def _sinks(state: StreamState, classes: frozenset[int]) -> set[str]:
    """The sinks that may be of these classes."""
    return {sink for c in classes if (sink := state.classes[c].sink) is not None}


def _ordinary(state: StreamState, classes: frozenset[int]) -> bool:
    """May a symbol of the word be of one of these classes?"""
    return any(state.classes[c].sink is None for c in classes)


def _one_sink(state: StreamState, classes: frozenset[int]) -> bool:
    """Can only one position be of these classes, a sink?"""
    return not _ordinary(state, classes) and len(_sinks(state, classes)) == 1
