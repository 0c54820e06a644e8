"""Which keys share a maximum, where scores read content alone.

The argmax set of a query is then all that it sees of the classes that it likes best among those
that occur. If all of them have one value, the head copies that value, however many they are. Two
argmax sets without a mask are the same set, or often share nothing but sinks: then both fit into
the word, and their sizes s ≠ s' have s·s' ≤ ((s + s')² - 1)/4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from softhat.numbers.grids import Generator
from softhat.numbers.growth import point
from softhat.proof.simulations.own_score import own_score
from softhat.proof.simulations.residual import LinearReading, ResidualStream, Sight
from softhat.proof.simulations.source import BOS, EOS, NOTHING, Vector

MOST_SETS = 200


@dataclass(frozen=True, slots=True)
class Favourites:
    """Classes that these askers like equally, and better than all others that are not absent."""

    classes: frozenset[int]
    absent: frozenset[int]
    askers: frozenset[int]


def favourites(sight: Sight) -> list[Favourites] | None:
    """Every set of classes that some query may like best; None if scores read more than content,
    or there are too many."""
    scores = _content_scores(sight)
    if scores is None:
        return None
    sees_itself = sight.head.mask in ("none", "<=", ">=")
    queries_of: dict[tuple[frozenset[int], frozenset[int]], set[int]] = {}
    for a, row in enumerate(scores):
        seen = _seen(sight, a)
        for level in {row[c] for c in seen if row[c] >= row[a] or not sees_itself}:
            best = frozenset(c for c in seen if row[c] == level)
            absent = frozenset(c for c in seen if row[c] > level)
            if sight.head.mask != "none" or not _misses_a_sink(sight.stream, absent):
                queries_of.setdefault((best, absent), set()).add(a)
    if len(queries_of) > MOST_SETS:
        return None
    return [Favourites(*sets, frozenset(who)) for sets, who in queries_of.items()]


def one_value(sight: Sight, written: list[bool]) -> set[Vector] | None:
    """The contents of a head's results, if all keys of any argmax set have the same values (in the
    rows that are written); else None."""
    for value, used in zip(sight.value, written, strict=True):
        if used and any(sight.stream.atoms[a].apart.unit for a in value.form):
            return None
    sets, results = favourites(sight), set[Vector]()
    if sets is None:
        return None
    for best in sets:
        values = {
            tuple(v.content[c] if w else NOTHING for v, w in zip(sight.value, written, strict=True))
            for c in best.classes
        }
        if len(values) > 1:
            return None
        results |= values
    return results


def agreeing(sight: Sight) -> bool:
    """Have all keys that share a maximum the same value, in the rows that are written?

    Theorem 43. Then it is the same whether the head takes one of them or their average, and softmax
    may divide its attention among them as it likes: what it writes is off by what goes elsewhere
    alone, times the range of what it writes, even where scores that should be equal are not.
    Machine-checked: `unique_agreeing` of proofs/Unique.v, `row_error_benign`
    of proofs/Ties.v. A head that returns its own score is of this kind (Theorem 44).
    """
    written = [any(row[k] for row in sight.head.output) for k in range(len(sight.head.value))]
    return one_value(sight, written) is not None or own_score(sight) is not None


def averaging(sight: Sight) -> Sight:
    """A unique-hard head whose tied keys agree is the average-hard head with its weights."""
    if sight.head.ties == "average" or not agreeing(sight):
        return sight
    return replace(sight, head=replace(sight.head, ties="average"))


def set_size(sight: Sight, name: str, most: int) -> Generator:
    """The size of an argmax set, of at most n + most positions."""
    alone = Generator("local", name, most)
    sets, stream = favourites(sight), sight.stream
    if sight.head.mask != "none" or sets is None:
        return alone
    together = 0
    for one, other in combinations(sets, 2):
        absent = one.absent | other.absent
        first, second = one.classes - absent, other.classes - absent
        occur = first and second and one.askers - absent and other.askers - absent
        if not occur or first == second or _misses_a_sink(stream, absent):
            continue
        if _of_words(stream, first & second):
            return alone
        # A set of one position adds no denominator.
        if not (_lone_sink(stream, first) or _lone_sink(stream, second)):
            together = max(together, len(_sinks(stream, first)) + len(_sinks(stream, second)))
    # n ≥ 1: a set of sinks only has at least one position less than n + its sinks.
    sizes = [len(_sinks(stream, f.classes)) - (not _of_words(stream, f.classes)) for f in sets]
    return Generator("local", name, max(sizes, default=0), together)


def _content_scores(sight: Sight) -> list[list[Fraction]] | None:
    """Scores by class of query and class of key, in the head's order; None if keys differ in more
    than content."""
    stream, every = sight.stream, range(len(sight.stream.classes))
    rows = []
    for r in sight.asked_rows():
        if any(stream.atoms[a].apart.unit for a in sight.key[r].form):
            return None
        rows.append((sight.query[r], sight.key[r].content))
    if len(rows) == 1 and rows[0][0].form:  # only the query's sign matters
        signs = [_sign(stream, rows[0][0], a) for a in every]
        return None if None in signs else [[(s or 0) * k for k in rows[0][1]] for s in signs]
    if any(q.form for q, _ in rows):
        return None
    return [[sum((q.content[a] * k[c] for q, k in rows), NOTHING) for c in every] for a in every]


def _sign(stream: ResidualStream, x: LinearReading, a: int) -> int | None:
    """The sign of a functional at all positions of a class, if it is one."""
    reach = point(x.content[a])
    for atom, w in x.form.items():
        if not (stream.classes[a].sink is not None and stream.atoms[atom].inner):
            reach = reach + stream.atoms[atom].range * w
    if reach == point(NOTHING):
        return 0
    if reach.low.above_zero:
        return 1
    return -1 if (reach * Fraction(-1)).low.above_zero else None


def _seen(sight: Sight, a: int) -> set[int]:
    """The classes of the keys that a query of class a may see."""
    mask, classes = sight.head.mask, sight.stream.classes
    if mask == "none":
        return set(range(len(classes)))
    near, far = (BOS, EOS) if mask in ("<=", "<") else (EOS, BOS)
    itself = {a} if mask in ("<=", ">=") else set[int]()
    if classes[a].sink == near:
        return itself
    return {c for c, k in enumerate(classes) if k.sink != far} | itself


def _sinks(stream: ResidualStream, classes: frozenset[int]) -> set[str]:
    return {sink for c in classes if (sink := stream.classes[c].sink) is not None}


def _misses_a_sink(stream: ResidualStream, absent: frozenset[int]) -> bool:
    """Would a sink be missing? Every word has each."""
    every = frozenset(range(len(stream.classes)))
    return _sinks(stream, every) != _sinks(stream, every - absent)


def _of_words(stream: ResidualStream, classes: frozenset[int]) -> bool:
    """May a position of the word be of one of these classes?"""
    return any(stream.classes[c].sink is None for c in classes)


def _lone_sink(stream: ResidualStream, classes: frozenset[int]) -> bool:
    return not _of_words(stream, classes) and len(_sinks(stream, classes)) == 1
