"""Rows over the reachable sets: their levels, their winners, what they can average.

A row is settled by its *levels* (the distinct scores of its options). For a maximum m every
position must take an option ≤ m. Positions with no option below m are forced to tie, positions
with no option at m are forced to lose, the others are free. What a tied row averages comes from
dynamic programming over (count, sum), with a cap on its size; a unique-hard head takes the value of
the first (last) position that can be at m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.model import Head, Ties
from softhat.numerics.exact import Integers, Scaled, linear, reduced, scaled
from softhat.numerics.masks import allowed

MAX_RESULTS = 6_000  # different results of one row
MAX_STATES = 20_000  # (count, sum) states of one tied row
MAX_WORK = 30_000_000  # rows × options of one head
Value = tuple[int, ...]


class SetsTooLargeError(Exception):
    """The sets outgrow the caps; the text says which."""


@dataclass(frozen=True, slots=True)
class Tie:
    """Several positions share the maximum: its level, how many positions, over which options."""

    level: int
    counts: tuple[int, ...]  # the sizes |A| that give this outcome
    varies: bool  # the options at this level have different values


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """One exact result of a row: its value, the single winners and the ties that give it."""

    value: Value  # over `Row.den`
    den: int
    winners: npt.NDArray[np.int64]  # local option indices
    ties: tuple[Tie, ...]


@dataclass(frozen=True, slots=True)
class QueryRow:
    """One query vector at one position: the options of its keys, and what can come out."""

    options: npt.NDArray[np.int64]  # indices into the flat list of (position, vector)
    starts: npt.NDArray[np.int64]  # where each key position begins in `options`
    levels: Integers  # the distinct scores, ascending, over `den`
    level: npt.NDArray[np.int64]  # of each option
    lowest: npt.NDArray[np.int64]  # the lowest level of each key position
    den: int
    outcomes: tuple[RowOutcome, ...]

    @property
    def keys(self) -> int:
        return len(self.starts)


Rows = tuple[tuple[QueryRow, ...], ...]  # [position][vector]


def head_rows(
    head: Head,
    x: tuple[Integers, ...],
    flat: Scaled,
    relational: bool,
    most: int,
    check: Callable[[QueryRow], None],
) -> tuple[Rows, Rows]:
    """All rows of one head, for each position and vector it can hold; and the same rows shared.

    A shared row lets its own key be any vector of the position with the same query: over all
    vectors this is the same set of rows, so gaps lose nothing, and bounds are computed once.
    Without `relational` (nothing reads the results again) only shared rows are made. A position
    may hold `most` vectors afterwards; `check` may find a row too large for that; positions that
    see the most keys come first.
    """
    places = len(x)
    sizes = np.array([len(part) for part in x])
    first = np.concatenate([[0], np.cumsum(sizes)])
    total = int(sizes.sum())
    if total**2 > MAX_WORK:
        raise SetsTooLargeError(f"{total} vectors over all positions are too many to compare")
    mask = allowed(head.mask, places)
    query, key = linear(flat, scaled(head.query)), linear(flat, scaled(head.key))
    values = linear(flat, scaled(head.value))
    score_den = query.den * key.den
    bound = query.size * key.size * max(1, len(head.query))
    kind = np.int64 if bound < 2**62 else object
    q, k = query.num.astype(kind), key.num.astype(kind)
    sums = _TiedSums(values, most)
    known: dict[tuple[Value, bytes], QueryRow] = {}
    empty = _empty_row(values)

    def make(i: int, asked: Value, own: npt.NDArray[np.int64]) -> QueryRow:
        seen = np.flatnonzero(mask[i])
        if not len(seen):
            return empty
        low, high = int(seen[0]), int(seen[-1]) + 1  # every mask shows an interval
        options = np.arange(first[low], first[high])
        starts = first[low:high] - first[low]
        if low <= i < high:
            before, after = options[: starts[i - low]], options[starts[i - low] + sizes[i] :]
            options = np.concatenate([before, own, after])
            starts = np.where(np.arange(low, high) > i, starts - (sizes[i] - len(own)), starts)
        if (asked, options.tobytes()) not in known:
            scores = np.zeros(len(options), dtype=np.int64)
            if len(head.query):
                scores = k[options] @ np.array(asked, dtype=kind)
            row = _row(options, starts, scores, score_den, values, sums, head.ties)
            known[asked, options.tobytes()] = row
        return known[asked, options.tobytes()]

    exact: dict[int, tuple[QueryRow, ...]] = {}
    shared: dict[int, tuple[QueryRow, ...]] = {}
    for i in np.argsort(-mask.sum(axis=1), kind="stable").tolist():
        here = np.arange(first[i], first[i] + sizes[i])
        asks = [tuple(q[v].tolist()) for v in here]
        alike = {ask: here[[a == ask for a in asks]] for ask in set(asks)}
        shared[i] = tuple(make(i, ask, alike[ask]) for ask in asks)
        for row in shared[i]:
            check(row)
        exact[i] = shared[i]
        if relational:
            exact[i] = tuple(make(i, ask, here[v : v + 1]) for v, ask in enumerate(asks))
    in_order = range(places)
    return tuple(exact[i] for i in in_order), tuple(shared[i] for i in in_order)


def _empty_row(values: Scaled) -> QueryRow:
    """A row without keys gives 0."""
    none = np.zeros(0, dtype=np.int64)
    zero = RowOutcome((0,) * values.num.shape[1], values.den, none, ())
    return QueryRow(none, none, none, none, none, 1, (zero,))


def _row(
    options: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    scores: Integers,
    den: int,
    values: Scaled,
    sums: _TiedSums,
    ties: Ties,
) -> QueryRow:
    levels, level = np.unique(scores, return_inverse=True)
    level = level.astype(np.int64).reshape(-1)
    lowest_terms = reduced(Scaled(levels, den))  # small integers make fast floats
    lowest = np.minimum.reduceat(level, starts)
    outcomes: dict[tuple[Value, int], tuple[list[int], list[Tie]]] = {}
    place = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(options))))
    # A single winner: every other position has an option below it.
    order = np.sort(lowest)
    highest, second = order[-1], order[-2] if len(order) > 1 else -1
    others = np.where(lowest[place] == highest, second, highest)
    for winner in np.flatnonzero(level > others):
        key = sums.alone(int(options[winner]))
        outcomes.setdefault(key, ([], []))[0].append(int(winner))
    for m in range(int(highest), len(levels)):
        at = np.flatnonzero(level == m)
        tied_places = np.unique(place[at])
        if len(tied_places) < 2:
            continue
        forced = lowest[tied_places] == m
        fewest, most = max(2, int(forced.sum())), len(tied_places)
        if fewest > most:
            continue
        if ties != "average":
            for p in _first_of_ties(tied_places, forced, ties):
                for option in options[at[place[at] == p]]:
                    key = sums.alone(int(option))
                    alike = Tie(m, tuple(range(fewest, most + 1)), varies=False)
                    outcomes.setdefault(key, ([], []))[1].append(alike)
            continue
        choices = [
            (bool(f), tuple(sorted({sums.values[o] for o in options[at[place[at] == p]]})))
            for p, f in zip(tied_places, forced, strict=True)
        ]
        varies = len({value for _, group in choices for value in group}) > 1
        for total, counts in sums.reachable(choices, fewest).items():
            key = _lowest_terms(total[1], values.den * total[0])
            outcomes.setdefault(key, ([], []))[1].append(Tie(m, counts, varies))
    if len(outcomes) > MAX_RESULTS:
        raise SetsTooLargeError(f"a row has {len(outcomes)} different results")
    return QueryRow(
        options,
        starts,
        lowest_terms.num,
        level,
        lowest,
        lowest_terms.den,
        tuple(
            RowOutcome(value, bottom, np.array(w, dtype=np.int64), _merged(t))
            for (value, bottom), (w, t) in outcomes.items()
        ),
    )


def _first_of_ties(
    places: npt.NDArray[np.int64], forced: npt.NDArray[np.bool_], ties: Ties
) -> npt.NDArray[np.int64]:
    """Where the key that a unique-hard head takes can be: nowhere behind a forced tie."""
    step = 1 if ties == "leftmost" else -1
    order, certain = places[::step], np.flatnonzero(forced[::step])
    return order[: int(certain[0]) + 1] if len(certain) else order


def _merged(ties: list[Tie]) -> tuple[Tie, ...]:
    counts: dict[tuple[int, bool], set[int]] = {}
    for tie in ties:
        counts.setdefault((tie.level, tie.varies), set()).update(tie.counts)
    return tuple(Tie(level, tuple(sorted(c)), v) for (level, v), c in sorted(counts.items()))


def _lowest_terms(value: Value, den: int) -> tuple[Value, int]:
    common = math.gcd(den, *value)
    return tuple(v // common for v in value), den // common


class _TiedSums:
    """Which (count, sum) can a choice of tied positions have? Shared between rows by prefix."""

    def __init__(self, values: Scaled, most: int) -> None:
        self.most = most  # sums of one count: each is a result of its own
        self.values: list[Value] = [tuple(v) for v in values.num.tolist()]
        self._den = values.den
        self._alone: dict[int, tuple[Value, int]] = {}
        self._known: dict[tuple[tuple[bool, tuple[Value, ...]], ...], set[tuple[int, Value]]] = {}

    def alone(self, option: int) -> tuple[Value, int]:
        """The value of one option, in lowest terms."""
        if option not in self._alone:
            self._alone[option] = _lowest_terms(self.values[option], self._den)
        return self._alone[option]

    def reachable(
        self, choices: list[tuple[bool, tuple[Value, ...]]], fewest: int
    ) -> dict[tuple[int, Value], tuple[int, ...]]:
        """{(count, sum): the counts with this mean}; one entry where all values are equal."""
        everything = {v for _, group in choices for v in group}
        most = len(choices)
        if len(everything) == 1:
            return {(1, everything.pop()): tuple(range(fewest, most + 1))}
        states = self._states(tuple(sorted(choices)))
        return {state: (state[0],) for state in states if state[0] >= fewest}

    def _states(
        self, choices: tuple[tuple[bool, tuple[Value, ...]], ...]
    ) -> set[tuple[int, Value]]:
        start = len(choices)
        while start and choices[:start] not in self._known:
            start -= 1
        width = len(self.values[0])
        states = self._known[choices[:start]] if start else {(0, (0,) * width)}
        most = self.most if all(forced for forced, _ in choices) else MAX_STATES
        for k in range(start, len(choices)):
            forced, group = choices[k]
            new = set() if forced else set(states)
            for count, total in states:
                for value in group:
                    new.add((count + 1, tuple(map(int.__add__, total, value))))
            if len(new) > most:
                raise SetsTooLargeError(f"a tied row averages in more than {most} ways")
            states = new
            self._known[choices[: k + 1]] = states
        return states
