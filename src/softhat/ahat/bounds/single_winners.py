"""Bounds of rows with a single winner, over the reachable sets: all rows of a head at once.

Theorem 35. The winner is the reference: its weight is 1, that of a key with gap g is e^-βg, moved
by the errors of query and keys, and every other position takes the worst of its options below the
winner. A batch holds the (row, winner) pairs of many rows, option after option, in flat arrays that
do not depend on β; what softmax makes of them is a few passes over these arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.levels import QueryRow
from softhat.ahat.bounds.head_work import Floats, HeadOptions, HeadWork, Members, along
from softhat.ahat.bounds.means import largest_means, weights
from softhat.ahat.bounds.words import interval_times
from softhat.numerics.exact import ratio

Indices = npt.NDArray[np.int64]
_BATCH = 400_000  # winners × options of one batch
_NEGLIGIBLE = -50.0  # exponent below which a weight is only allowed for


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs of a row and a winner; E entries, one for each option that the pair leaves open."""

    row: Indices  # (pairs,): number of the row
    outcome: Indices  # (pairs,): which of its outcomes the winner gives
    winner: Indices  # (pairs,): its vector
    keys: Indices  # (pairs,): key positions of the row
    pair: Indices  # (E,): ascending
    position: Indices  # (E,): number of the pair's key position, ascending
    option: Indices  # (E,): the vector
    itself: npt.NDArray[np.bool_]  # (E,): it is the winner
    gap: Floats  # (E,): the winner's score minus the option's
    key_apart: Floats  # (d_k, E): the option's key minus the winner's
    value_apart: Floats  # (2r, E): the option's value minus the winner's, along what is tracked

    @property
    def size(self) -> int:
        """Numbers it holds."""
        return len(self.pair) * (6 + len(self.key_apart) + len(self.value_apart))


@dataclass(frozen=True, slots=True)
class Queries:
    """The hull of the query errors of all that share a row; (rows, d_k)."""

    low: Floats
    high: Floats
    slack: Floats  # (rows,): how far perturbed exponents can lie above the exact ones


def batches(
    options: HeadOptions, rows: Sequence[QueryRow], numbers: Sequence[int]
) -> Iterator[Batch]:
    """The pairs of these rows, in batches of bounded size."""
    waiting: list[tuple[int, Indices, Indices]] = []
    size = 0
    for number in numbers:
        row = rows[number]
        if not row.keys:
            continue
        winners = np.concatenate([o.winners for o in row.outcomes])
        owner = np.repeat(np.arange(len(row.outcomes)), [len(o.winners) for o in row.outcomes])
        step = max(1, _BATCH // len(row.options))
        for start in range(0, len(winners), step):
            part = slice(start, start + step)
            waiting.append((number, winners[part], owner[part]))
            size += len(winners[part]) * len(row.options)
            if size >= _BATCH:
                yield _batch(options, rows, waiting)
                waiting, size = [], 0
    if waiting:
        yield _batch(options, rows, waiting)


def _batch(
    options: HeadOptions, rows: Sequence[QueryRow], parts: list[tuple[int, Indices, Indices]]
) -> Batch:
    pair, position, option, itself, gap, winner = [], [], [], [], [], []
    pairs = positions = 0
    for number, winners, _ in parts:
        row = rows[number]
        place = np.repeat(np.arange(row.keys), np.diff(np.append(row.starts, len(row.options))))
        level = row.level[winners][:, None]
        own = np.arange(len(row.options))[None, :] == winners[:, None]
        elsewhere = place[None, :] != place[winners][:, None]
        which, where = np.nonzero(((row.level[None, :] < level) & elsewhere) | own)
        pair.append(pairs + which)
        position.append(positions + which * row.keys + place[where])
        option.append(row.options[where])
        itself.append(own[which, where])
        gap.append(ratio(row.levels[level[which, 0]] - row.levels[row.level[where]], row.den))
        winner.append(row.options[winners])
        pairs += len(winners)
        positions += len(winners) * row.keys
    chosen, flat = np.concatenate(option), np.concatenate(winner)
    reference = flat[np.concatenate(pair)]
    keys, values = options.exact_key, options.exact_values
    apart = ratio(values[chosen] - values[reference], options.exact_values_den)
    return Batch(
        row=np.concatenate([np.full(len(w), number) for number, w, _ in parts]),
        outcome=np.concatenate([owner for _, _, owner in parts]),
        winner=flat,
        keys=np.concatenate([np.full(len(w), rows[number].keys) for number, w, _ in parts]),
        pair=np.concatenate(pair),
        position=np.concatenate(position),
        option=chosen,
        itself=np.concatenate(itself),
        gap=np.concatenate(gap),
        key_apart=ratio(keys[chosen] - keys[reference], options.exact_key_den).T.copy(),
        value_apart=along(options.plan, apart).T.copy(),
    )


def queries(work: HeadWork, rows: Sequence[QueryRow], members: Sequence[Members]) -> Queries:
    """What the rows' queries can be off by, row by row."""
    if not work.erring:
        none = np.zeros((len(rows), work.options.query.shape[1]))
        return Queries(none, none, np.zeros(len(rows)))
    starts = np.concatenate([[0], np.cumsum([len(m) for m in members])[:-1]])
    everyone = np.concatenate(list(members))
    low = np.minimum.reduceat(work.q_low[everyone], starts, axis=0)
    high = np.maximum.reduceat(work.q_high[everyone], starts, axis=0)
    off = np.maximum(np.abs(low), np.abs(high))
    slack = np.zeros(len(rows))
    for number, (row, me) in enumerate(zip(rows, members, strict=True)):
        if row.keys:
            size = work.k_size[row.options].max(axis=0)
            moved = off[number] @ np.ptp(work.options.key[row.options], axis=0)
            asked = np.abs(work.options.query[me[0]]) + off[number]
            slack[number] = work.beta * float(moved + asked @ size * 2) * (1 + 1e-9)
    return Queries(low, high, slack)


def single_bounds(
    work: HeadWork, batch: Batch, asked: Queries, first: Indices
) -> tuple[Floats, float]:
    """(pairs, 2r) bounds of what the head adds, and the greatest leak.

    `first`: of each row, one of the vectors that ask.
    """
    exponent = -work.beta * batch.gap
    near = (exponent + asked.slack[batch.row][batch.pair] > _NEGLIGIBLE) | batch.itself
    counted = np.flatnonzero(near)
    # Options whose weight is below e^-50 count as nothing, plus an allowance at the end.
    spare = np.zeros(int(batch.position[-1]) + 1, dtype=bool)
    spare[batch.position[~near]] = True
    short = np.zeros(len(batch.row), dtype=bool)
    short[batch.pair[~near]] = True
    pair, itself = batch.pair[counted], batch.itself[counted]
    low = high = exponent[counted]
    if work.erring:
        shift_low, shift_high = _shifts(work, batch, counted, asked, first)
        low, high = low + work.beta * shift_low, high + work.beta * shift_high
        low, high = np.where(itself, 0.0, low), np.where(itself, 0.0, high)
    w_low, w_high = weights(low, high)
    starts = np.flatnonzero(np.diff(batch.position[counted], prepend=-1))
    pairs = np.flatnonzero(np.diff(pair[starts], prepend=-1))  # in which position they begin
    lost = batch.keys * np.exp(_NEGLIGIBLE)
    others = np.maximum.reduceat(np.where(itself, 0.0, w_high), starts)
    rest = np.add.reduceat(others, pairs) + lost
    alone = (np.diff(np.append(starts[pairs], len(counted))) == 1) & ~short
    leak = float(np.where(alone, 0.0, 1 - 1 / (1 + rest)).max(initial=0.0))
    if work.plan.output.shape[0] == 0:
        return np.zeros((len(batch.row), 0)), leak
    z = batch.value_apart[:, counted] + work.value_error[batch.option[counted]].T
    means = largest_means(w_low, w_high, z, starts, pairs, spare[batch.position[counted[starts]]])
    reach = work.widest[:, None] + np.abs(means)
    return (means + np.where(short, lost, 0.0) * reach).T, leak


def _shifts(
    work: HeadWork, batch: Batch, counted: Indices, asked: Queries, first: Indices
) -> tuple[Floats, Floats]:
    """How the options' scores move against their winners'; (counted,) from below and above."""
    option, pair = batch.option[counted], batch.pair[counted]
    reference, row = batch.winner[pair], batch.row[pair]
    low, high, size = np.zeros(len(counted)), np.zeros(len(counted)), np.zeros(len(counted))
    for c, apart in enumerate(batch.key_apart[:, counted]):
        q_low, q_high = asked.low[row, c], asked.high[row, c]
        query = work.options.query[first[row], c]
        k_low = work.k_low[option, c] - work.k_high[reference, c]
        k_high = work.k_high[option, c] - work.k_low[reference, c]
        one = interval_times(q_low, q_high, apart, apart)
        two = interval_times(query + q_low, query + q_high, k_low, k_high)
        low += one[0] + two[0]
        high += one[1] + two[1]
        size += np.abs(one[0]) + np.abs(one[1]) + np.abs(two[0]) + np.abs(two[1])
    return low - 1e-14 * size, high + 1e-14 * size
