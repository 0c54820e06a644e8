"""Every residual vector that some word of length n can produce, position by position.

The domain: for each position the finite set of exact residual vectors it can hold, independent
between positions, except that a query's own key is the query's own vector. Over one layer of
attention this is exact, since the symbols of a word are free; deeper it is an over-approximation,
so a gap proved on it is never above the true one.

A row over this domain is settled by its *levels* (the distinct scores of its options). For a
maximum m every position must take an option ≤ m. Positions with no option below m are forced to
tie, positions with no option at m are forced to lose, the others are free. What a tied row
averages comes from dynamic programming over (count, sum), with a cap on its size.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.exact import (
    Integers,
    Scaled,
    add,
    allowed,
    embedding_table,
    linear,
    reduced,
    scaled,
)
from softhat.ahat.model import AHAT, FeedForward, Head
from softhat.ahat.structure import live

MAX_ENTRIES = 300  # vectors a position, where another layer reads them
MAX_FINAL = 6_000  # vectors a position after the last head
MAX_STATES = 20_000  # (count, sum) states of one tied row
MAX_WORK = 30_000_000  # rows × options of one head
Value = tuple[int, ...]


class TooLargeError(Exception):
    """The sets outgrow the caps; the text says which."""


@dataclass(frozen=True, slots=True)
class Tie:
    """Several positions share the maximum: its level, how many positions, over which options."""

    level: int
    counts: tuple[int, ...]  # the sizes |A| that give this outcome
    varies: bool  # the options at this level have different values


@dataclass(frozen=True, slots=True)
class Outcome:
    """One exact result of a row: its value, the single winners and the ties that give it."""

    value: Value  # over `Row.den`
    den: int
    winners: npt.NDArray[np.int64]  # local option indices
    ties: tuple[Tie, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One query vector at one position: the options of its keys, and what can come out."""

    options: npt.NDArray[np.int64]  # indices into the flat list of (position, vector)
    starts: npt.NDArray[np.int64]  # where each key position begins in `options`
    levels: Integers  # the distinct scores, ascending, over `den`
    level: npt.NDArray[np.int64]  # of each option
    lowest: npt.NDArray[np.int64]  # the lowest level of each key position
    den: int
    outcomes: tuple[Outcome, ...]

    @property
    def keys(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class Stage:
    """One layer at one length: the vectors before it, its rows, the moves to the vectors after."""

    before: tuple[Integers, ...]  # per position (vectors, d_model), over before_den
    before_den: int
    rows: tuple[tuple[tuple[Row, ...], ...], ...]  # [head][position][vector]
    shared: tuple[tuple[tuple[Row, ...], ...], ...]  # the same, one for all alike (see `_rows`)
    moves: tuple[tuple[tuple[int, tuple[int, ...], int], ...], ...]  # (vector, outcomes, middle)
    middle: tuple[Integers, ...]
    middle_den: int
    pre: tuple[Integers, ...] | None  # pre-activations, over pre_den
    pre_den: int
    target: tuple[npt.NDArray[np.int64], ...]  # middle vector → vector after


@dataclass(frozen=True, slots=True)
class Reach:
    """All stages that could be computed; `reason` says why the rest could not."""

    length: int
    stages: tuple[Stage, ...]
    final: tuple[Integers, ...]
    final_den: int
    complete: bool
    reason: str = ""


def reach(model: AHAT, n: int, stop_after: int | None = None) -> Reach:
    """The reachable vectors of all words of length n, through the model's layers."""
    x, den = _embedded(model, n)
    stages: list[Stage] = []
    middle_live, after_live = live(model)
    last = max((l for l, layer in enumerate(model.layers) if layer.heads), default=0)
    for l, layer in enumerate(model.layers[:stop_after]):
        keep = _Keep(middle_live[l], after_live[l], MAX_FINAL if l >= last else MAX_ENTRIES)
        try:
            stage, x_next, den_next = _stage(layer.heads, layer.feed_forward, x, den, keep)
        except TooLargeError as fault:
            return Reach(n, tuple(stages), x, den, False, f"layer {l}: {fault}")
        stages.append(stage)
        x, den = x_next, den_next
    return Reach(n, tuple(stages), x, den, True)


@dataclass(frozen=True, slots=True)
class _Keep:
    """Coordinates still read after attention and after the layer (others become 0); a cap."""

    middle: frozenset[int]
    after: frozenset[int]
    most: int


def _embedded(model: AHAT, n: int) -> tuple[tuple[Integers, ...], int]:
    table = embedding_table(model, n)
    symbols = len(model.alphabet)
    places = []
    for place in range(n + int(model.bos)):
        rows = table.num[-1:, 0] if model.bos and place == 0 else table.num[:symbols, place]
        places.append(_unique(rows)[0])
    return tuple(places), table.den


def _unique(rows: Integers) -> tuple[Integers, npt.NDArray[np.int64]]:
    """Distinct rows in order of appearance, and where each row went."""
    seen: dict[Value, int] = {}
    index = np.array([seen.setdefault(tuple(r), len(seen)) for r in rows.tolist()], dtype=np.int64)
    kept = np.array(list(seen), dtype=rows.dtype).reshape(len(seen), rows.shape[1])
    return kept, index


def _stage(
    heads: tuple[Head, ...],
    forward: FeedForward | None,
    x: tuple[Integers, ...],
    den: int,
    keep: _Keep,
) -> tuple[Stage, tuple[Integers, ...], int]:
    flat = Scaled(np.concatenate(x), den)
    made = [_rows(head, x, flat, keep.most == MAX_ENTRIES) for head in heads]
    rows, shared = tuple(m[0] for m in made), tuple(m[1] for m in made)
    moves, middle, middle_den = _combine(heads, rows, x, den, keep)
    if forward is None:
        identity = tuple(np.arange(len(m)) for m in middle)
        stage = Stage(x, den, rows, shared, moves, middle, middle_den, None, 1, identity)
        return stage, middle, middle_den
    sizes = np.cumsum([len(m) for m in middle])[:-1]
    together = Scaled(np.concatenate(middle), middle_den)
    before = linear(together, scaled(forward.in_weights), scaled((forward.in_bias,)))
    hidden = Scaled(np.maximum(before.num, 0), before.den)
    added = linear(hidden, scaled(forward.out_weights), scaled((forward.out_bias,)))
    sum_ = add(together, added)
    dead = [c for c in range(sum_.num.shape[1]) if c not in keep.after]
    sum_.num[:, dead] = 0
    total = reduced(sum_)
    pre, pre_den = tuple(np.split(before.num, sizes)), before.den
    pairs = [_unique(part) for part in np.split(total.num, sizes)]
    target = tuple(index for _, index in pairs)
    stage = Stage(x, den, rows, shared, moves, middle, middle_den, pre, pre_den, target)
    return stage, tuple(kept for kept, _ in pairs), total.den


Rows = tuple[tuple[Row, ...], ...]  # [position][vector]


def _rows(head: Head, x: tuple[Integers, ...], flat: Scaled, relational: bool) -> tuple[Rows, Rows]:
    """All rows of one head, for each position and vector it can hold; and the same rows shared.

    A shared row lets its own key be any vector of the position with the same query: over all
    vectors this is the same set of rows, so gaps lose nothing, and bounds are computed once.
    Without `relational` (nothing reads the results again) only shared rows are made.
    """
    places = len(x)
    sizes = np.array([len(part) for part in x])
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    total = int(sizes.sum())
    if total**2 > MAX_WORK:
        raise TooLargeError(f"{total} vectors over all positions are too many to compare")
    mask = allowed(head.mask, places)
    query, key = linear(flat, scaled(head.query)), linear(flat, scaled(head.key))
    values = linear(flat, scaled(head.value))
    score_den = query.den * key.den
    bound = query.size * key.size * max(1, len(head.query))
    kind = np.int64 if bound < 2**62 else object
    q, k = query.num.astype(kind), key.num.astype(kind)
    sums = _Sums(values.num.tolist())
    known: dict[tuple[Value, bytes], Row] = {}
    empty = _empty_row(values)

    def make(i: int, asked: Value, own: npt.NDArray[np.int64]) -> Row:
        index = [
            own if j == i else np.arange(first[j], first[j] + sizes[j])
            for j in range(places)
            if mask[i, j]
        ]
        if not index:
            return empty
        options = np.concatenate(index)
        if (asked, options.tobytes()) not in known:
            starts = np.concatenate([[0], np.cumsum([len(part) for part in index])[:-1]])
            scores = np.zeros(len(options), dtype=np.int64)
            if len(head.query):
                scores = k[options] @ np.array(asked, dtype=kind)
            row = _row(options, starts, scores, score_den, values, sums)
            known[asked, options.tobytes()] = row
        return known[asked, options.tobytes()]

    exact, shared = [], []
    for i in range(places):
        here = np.arange(first[i], first[i] + sizes[i])
        asks = [tuple(q[v].tolist()) for v in here]
        alike = {ask: here[[a == ask for a in asks]] for ask in set(asks)}
        shared.append(tuple(make(i, ask, alike[ask]) for ask in asks))
        if relational:
            exact.append(tuple(make(i, ask, here[v : v + 1]) for v, ask in enumerate(asks)))
    return (tuple(exact) if relational else tuple(shared)), tuple(shared)


def _empty_row(values: Scaled) -> Row:
    """A row without keys gives 0."""
    none = np.zeros(0, dtype=np.int64)
    zero = Outcome((0,) * values.num.shape[1], values.den, none, ())
    return Row(none, none, none, none, none, 1, (zero,))


def _row(
    options: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    scores: Integers,
    den: int,
    values: Scaled,
    sums: _Sums,
) -> Row:
    levels, level = np.unique(scores, return_inverse=True)
    level = level.astype(np.int64).reshape(-1)
    lowest = np.minimum.reduceat(level, starts)
    outcomes: dict[tuple[Value, int], tuple[list[int], list[Tie]]] = {}
    place = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(options))))
    # A single winner: every other position has an option below it.
    order = np.sort(lowest)
    highest, second = order[-1], order[-2] if len(order) > 1 else -1
    others = np.where(lowest[place] == highest, second, highest)
    for winner in np.flatnonzero(level > others):
        key = _lowest_terms(sums.values[options[winner]], values.den)
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
        choices = [
            (bool(f), tuple(sorted({sums.values[o] for o in options[at[place[at] == p]]})))
            for p, f in zip(tied_places, forced, strict=True)
        ]
        varies = len({value for _, group in choices for value in group}) > 1
        for total, counts in sums.reachable(choices, fewest).items():
            key = _lowest_terms(total[1], values.den * total[0])
            outcomes.setdefault(key, ([], []))[1].append(Tie(m, counts, varies))
    if len(outcomes) > MAX_FINAL:
        raise TooLargeError(f"a row has {len(outcomes)} different results")
    return Row(
        options,
        starts,
        levels,
        level,
        lowest,
        den,
        tuple(
            Outcome(value, bottom, np.array(w, dtype=np.int64), _merged(t))
            for (value, bottom), (w, t) in outcomes.items()
        ),
    )


def _merged(ties: list[Tie]) -> tuple[Tie, ...]:
    counts: dict[tuple[int, bool], set[int]] = {}
    for tie in ties:
        counts.setdefault((tie.level, tie.varies), set()).update(tie.counts)
    return tuple(Tie(level, tuple(sorted(c)), v) for (level, v), c in sorted(counts.items()))


def _lowest_terms(value: Value, den: int) -> tuple[Value, int]:
    common = math.gcd(den, *value)
    return tuple(v // common for v in value), den // common


class _Sums:
    """Which (count, sum) can a choice of tied positions have? Shared between rows by prefix."""

    def __init__(self, values: list[list[int]]) -> None:
        self.values: list[Value] = [tuple(v) for v in values]
        self._known: dict[tuple[tuple[bool, tuple[Value, ...]], ...], set[tuple[int, Value]]] = {}

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
        for k in range(start, len(choices)):
            forced, group = choices[k]
            new = set() if forced else set(states)
            for count, total in states:
                for value in group:
                    new.add((count + 1, tuple(map(int.__add__, total, value))))
            if len(new) > MAX_STATES:
                raise TooLargeError(f"a tied row averages in more than {MAX_STATES} ways")
            states = new
            self._known[choices[: k + 1]] = states
        return states


def _combine(
    heads: tuple[Head, ...],
    rows: tuple[tuple[tuple[Row, ...], ...], ...],
    x: tuple[Integers, ...],
    den: int,
    keep: _Keep,
) -> tuple[tuple[tuple[tuple[int, tuple[int, ...], int], ...], ...], tuple[Integers, ...], int]:
    """Residual plus one outcome of every head: all combinations."""
    outputs = [scaled(head.output) for head in heads]
    common = math.lcm(
        den,
        *(
            outcome.den * out.den
            for out, per_head in zip(outputs, rows, strict=True)
            for per_place in per_head
            for row in per_place
            for outcome in row.outcomes
        ),
    )
    moves, middle = [], []
    for i, vectors in enumerate(x):
        seen: dict[Value, int] = {}
        here = []
        for v, vector in enumerate(vectors.tolist()):
            base = [c * (common // den) if k in keep.middle else 0 for k, c in enumerate(vector)]
            written = [
                [_written(out, outcome, common, keep.middle) for outcome in per_head[i][v].outcomes]
                for out, per_head in zip(outputs, rows, strict=True)
            ]
            count = math.prod(len(w) for w in written)
            if count > keep.most * 20:
                raise TooLargeError(f"the heads' results combine in {count} ways at one position")
            for choice in itertools.product(*(range(len(w)) for w in written)):
                total = base
                for w, c in zip(written, choice, strict=True):
                    total = [a + b for a, b in zip(total, w[c], strict=True)]
                here.append((v, choice, seen.setdefault(tuple(total), len(seen))))
            if len(seen) > keep.most:
                raise TooLargeError(f"a position can hold more than {keep.most} vectors")
        moves.append(tuple(here))
        middle.append(list(seen))
    shrink = math.gcd(common, *(c for part in middle for vector in part for c in vector))
    arrays = []
    for part in middle:
        numbers = np.array([[c // shrink for c in v] for v in part], dtype=object)
        arrays.append(numbers.reshape(len(part), len(x[0][0])))
    biggest = max((abs(c) for part in arrays for c in part.ravel()), default=0)
    if biggest < 2**62:
        arrays = [a.astype(np.int64) for a in arrays]
    return tuple(moves), tuple(arrays), common // shrink


def _written(out: Scaled, outcome: Outcome, common: int, kept: frozenset[int]) -> list[int]:
    factor = common // (outcome.den * out.den)
    return [
        factor * sum(w * v for w, v in zip(row, outcome.value, strict=True)) if c in kept else 0
        for c, row in enumerate(out.num.tolist())
    ]
