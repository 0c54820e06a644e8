"""Every residual vector that some word of length n can produce, position by position.

The domain: for each position the finite set of exact residual vectors it can hold, independent
between positions, except that a query's own key is the query's own vector. Over one layer of
attention this is exact, since the symbols of a word are free; deeper it is an over-approximation,
so a gap proved on it is never above the true one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.levels import (
    QueryRow,
    RowOutcome,
    Rows,
    SetsTooLargeError,
    Value,
    head_rows,
)
from softhat.ahat.analysis.structure import live
from softhat.ahat.exact import embedding_table
from softhat.ahat.model import AHAT, FeedForward, Head
from softhat.numerics.exact import Integers, Scaled, add, linear, reduced, scaled

MAX_ENTRIES = 300  # vectors a position, where another layer reads them
MAX_FINAL = 6_000  # vectors a position after the last head
MAX_MOVES = 2_000_000  # ways to combine a layer's results, over all positions
MAX_PAIRS = 60_000_000  # queries × keys of all heads of a layer: about 2 GB


@dataclass(frozen=True, slots=True)
class ReachStage:
    """One layer at one length: the vectors before it, its rows, the moves to the vectors after."""

    before: tuple[Integers, ...]  # per position (vectors, d_model), over before_den
    before_den: int
    rows: tuple[Rows, ...]  # [head][position][vector]
    shared: tuple[Rows, ...]  # the same, one for all alike (see `head_rows`)
    moves: tuple[tuple[tuple[int, tuple[int, ...], int], ...], ...]  # (vector, outcomes, middle)
    middle: tuple[Integers, ...]
    pre: tuple[Integers, ...] | None  # pre-activations, over pre_den
    pre_den: int
    target: tuple[npt.NDArray[np.int64], ...]  # middle vector → vector after


@dataclass(frozen=True, slots=True)
class Reach:
    """All stages that could be computed; `reason` says why the rest could not."""

    length: int
    stages: tuple[ReachStage, ...]
    final: tuple[Integers, ...]
    final_den: int
    complete: bool
    reason: str = ""

    @property
    def size(self) -> int:
        """Queries × keys of all its rows: what its memory is about."""
        totals = [(sum(map(len, s.before)), len(s.rows)) for s in self.stages]
        return sum(total * total * heads for total, heads in totals)


def reach(model: AHAT, n: int, stop_after: int | None = None) -> Reach:
    """The reachable vectors of all words of length n, through the model's layers."""
    x, den = _embedded(model, n)
    stages: list[ReachStage] = []
    middle_live, after_live = live(model)
    last = max((l for l, layer in enumerate(model.layers) if layer.heads), default=0)
    for l, layer in enumerate(model.layers[:stop_after]):
        keep = _Keep(middle_live[l], after_live[l], MAX_FINAL if l >= last else MAX_ENTRIES)
        try:
            stage, x_next, den_next = _stage(layer.heads, layer.feed_forward, x, den, keep)
        except SetsTooLargeError as fault:
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
    for place in range(n + model.sinks):
        rows = table.num[:symbols, place]
        if model.bos and place == 0:
            rows = table.num[-2:-1, 0]
        elif model.eos and place == n + model.sinks - 1:
            rows = table.num[-1:, -1]
        places.append(_unique(rows)[0])
    return tuple(places), table.den


def _unique(rows: Integers) -> tuple[Integers, npt.NDArray[np.int64]]:
    """Distinct rows in order of appearance, and where each row went."""
    seen: dict[Value, int] = {}
    index = np.array([seen.setdefault(tuple(r), len(seen)) for r in rows.tolist()], dtype=np.int64)
    distinct = np.array(list(seen), dtype=rows.dtype).reshape(len(seen), rows.shape[1])
    return distinct, index


def _stage(
    heads: tuple[Head, ...],
    forward: FeedForward | None,
    x: tuple[Integers, ...],
    den: int,
    keep: _Keep,
) -> tuple[ReachStage, tuple[Integers, ...], int]:
    flat = Scaled(np.concatenate(x), den)
    if len(flat.num) ** 2 * len(heads) > MAX_PAIRS:
        raise SetsTooLargeError(f"{len(flat.num)} vectors are too many for {len(heads)} heads")
    by_head = [
        head_rows(
            head, x, flat, keep.most == MAX_ENTRIES, keep.most, partial(_check_results, head, keep)
        )
        for head in heads
    ]
    rows, shared = tuple(m[0] for m in by_head), tuple(m[1] for m in by_head)
    moves, middle, middle_den = _combine(heads, rows, x, den, keep)
    if forward is None:
        identity = tuple(np.arange(len(m)) for m in middle)
        stage = ReachStage(x, den, rows, shared, moves, middle, None, 1, identity)
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
    stage = ReachStage(x, den, rows, shared, moves, middle, pre, pre_den, target)
    return stage, tuple(distinct for distinct, _ in pairs), total.den


def _combine(
    heads: tuple[Head, ...],
    rows: tuple[Rows, ...],
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
    combined = 0
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
            combined += count
            if count > keep.most * 20 or combined > MAX_MOVES:
                raise SetsTooLargeError(
                    f"the heads' results combine in {count} ways at one position"
                )
            for choice in itertools.product(*(range(len(w)) for w in written)):
                total = base
                for w, c in zip(written, choice, strict=True):
                    total = [a + b for a, b in zip(total, w[c], strict=True)]
                here.append((v, choice, seen.setdefault(tuple(total), len(seen))))
            if len(seen) > keep.most:
                raise SetsTooLargeError(f"a position can hold more than {keep.most} vectors")
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


def _check_results(head: Head, keep: _Keep, row: QueryRow) -> None:
    """Refuse a row with more results than a position may hold vectors, before all rows are made."""
    if len(row.outcomes) <= keep.most:
        return
    out = scaled(head.output)
    common = math.lcm(*(outcome.den * out.den for outcome in row.outcomes))
    vectors = {tuple(_written(out, outcome, common, keep.middle)) for outcome in row.outcomes}
    if len(vectors) > keep.most:
        raise SetsTooLargeError(f"a position can hold more than {keep.most} vectors")


def _written(
    out: Scaled, outcome: RowOutcome, common: int, coordinates: frozenset[int]
) -> list[int]:
    factor = common // (outcome.den * out.den)
    return [
        factor * sum(w * v for w, v in zip(row, outcome.value, strict=True))
        if c in coordinates
        else 0
        for c, row in enumerate(out.num.tolist())
    ]
