"""How far a head can read in a direction, over all words that lead to a state.

A head's output is a weighted mean Σ w_j f_j / Σ w_j over the positions of a word, where w_j and f_j
depend on the symbol at j. Its largest value λ over all words that a machine reads is the root of
F(λ) = max Σ w_j (f_j - λ), a sum along a path: a Viterbi pass computes F, and Dinkelbach's
iteration (Newton's, on a convex function) finds the root.

Nothing rests on the iteration having converged: whatever λ is, every word's mean is at most
λ + F(λ) / W with W the least total weight. Rounding of the sums is added to F.

Many rows and directions are swept at once: rows are sorted by length, and leave as they end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.trained.points import own_error
from softhat.trained.rounding import Array, lowered, raised

SWEEPS = 14
"""Dinkelbach's iteration at least doubles the digits; five sweeps are usual."""
CLOSE = 1e-7
"""It stops when no bound can fall by more than this much of the values' range."""
LANES = 1 << 18
"""States times rows times directions of one sweep: what fits into a processor's cache."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Transitions:
    """The transitions as a Viterbi pass wants them: by target, first the states reached first."""

    start: int
    sources: Ints
    """(passes, states): a state from which each state is reached; `states` where there is none."""
    symbols: Ints
    """(passes, states): by which symbol."""
    reached: tuple[int, ...]
    """How many states words of at most this length lead to: they come first."""
    place: Ints
    """Where the specification's states are in this order; -1 if they are never reached."""

    @property
    def states(self) -> int:
        return int(self.sources.shape[1])


def machine_of(step: Ints, start: int, most: int) -> Transitions:
    """The machine for words of at most `most` symbols."""
    depth = np.full(len(step), -1)
    depth[start] = 0
    layer = np.array([start])
    order = [start]
    reached = [1]
    for read in range(1, most + 1):
        after = np.unique(step[layer])
        layer = after[after >= 0]
        layer = layer[depth[layer] < 0]
        depth[layer] = read
        order += layer.tolist()
        reached.append(len(order))
    place = np.full(len(step), -1)
    place[order] = np.arange(len(order))
    edges: list[list[tuple[int, int]]] = [[] for _ in order]
    for state in order:
        for symbol, to in enumerate(step[state]):
            if to >= 0 and place[to] >= 0:
                edges[place[to]].append((int(place[state]), symbol))
    passes = max((len(into) for into in edges), default=0) or 1
    sources = np.full((passes, len(order)), len(order))
    symbols = np.zeros((passes, len(order)), np.int64)
    for at, into in enumerate(edges):
        for k, (source, symbol) in enumerate(into):
            sources[k, at], symbols[k, at] = source, symbol
    return Transitions(int(place[start]), sources, symbols, tuple(reached), place)


@dataclass(frozen=True)
class QueryRows:
    """Queries, longest first: row r stands at position `read[r]`, has read the symbol `last[r]`
    there, from one of the states `before[r]` (in the machine's order)."""

    read: Ints
    last: Ints
    before: NDArray[np.bool_]

    def part(self, chosen: slice) -> QueryRows:
        return QueryRows(self.read[chosen], self.last[chosen], self.before[chosen])


def supports(weights: Array, values: Array, machine: Transitions, rows: QueryRows) -> Array:
    """(rows, directions): upper bounds of the weighted means.

    `weights` (rows, tokens, positions) are positive, `values` (rows, directions, tokens,
    positions); token 0 is `bos`, which stands at position 0, and token k + 1 the symbol k. NaN
    where there is no such word, and where weights vanish.
    """
    directions = values.shape[1]
    per = max(1, LANES // (machine.states * directions))
    parts = []
    for at in range(0, len(rows.read), per):
        chosen = slice(at, at + per)
        most = int(rows.read[at]) + 1
        parts.append(
            _bounds(
                weights[chosen, :, :most], values[chosen, ..., :most], machine, rows.part(chosen)
            )
        )
    return np.concatenate(parts) if parts else np.zeros((0, directions))


def _bounds(weights: Array, values: Array, machine: Transitions, rows: QueryRows) -> Array:
    own = weights[np.arange(len(rows.read)), rows.last + 1, rows.read]
    inside = np.arange(weights.shape[2])[None] < rows.read[:, None]
    inside[:, 0] = False  # where `bos` stands
    least = np.where(inside, weights[:, 1:].min(1), 0.0).sum(1) + own + weights[:, 0, 0]
    most = np.where(inside, weights[:, 1:].max(1), 0.0).sum(1) + own + weights[:, 0, 0]
    least = lowered(least, weights.shape[2] + 4)
    # Weights near the end of float64's range have lost digits: nothing is said of such rows.
    least = np.where(least > 1e-280, least, np.nan)
    shape = (*values.shape[:2], -1)
    flat = np.concatenate([values[:, :, 1:, 1:].reshape(shape), values[:, :, :1, 0]], 2)
    low, high = flat.min(2), flat.max(2)
    close = CLOSE * np.maximum(high - low, 1e-12)
    mean = np.einsum("rtj,rktj->rk", weights[:, 1:] * inside[:, None], values[:, :, 1:])
    total = (weights[:, 1:] * inside[:, None]).sum((1, 2))[:, None]
    guess = np.where(total > 0, mean / np.where(total > 0, total, 1.0), (low + high) / 2)
    slack = own_error(2 * weights.shape[2] + 8) * most[:, None]
    bound = np.full_like(guess, np.nan)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for _ in range(SWEEPS):
            best, total = _sweep(weights, values, machine, rows, guess)
            far = np.maximum(np.abs(high - guess), np.abs(low - guess))
            above = np.maximum(best, 0.0) + slack * far
            gap = raised(above, 4) / least[:, None]
            fresh = guess + gap + own_error(4) * (np.abs(guess) + gap)
            bound = np.fmin(bound, fresh)
            step = best / total  # to a word's own mean: down, where the guess was too high
            if not (np.maximum(gap, np.abs(step)) > close).any():
                break
            guess = guess + step
    # A bound beyond the largest value says nothing; a mean is never beyond it.
    return np.where(np.isnan(bound), np.nan, np.minimum(bound, high))


def _sweep(
    weights: Array, values: Array, machine: Transitions, rows: QueryRows, level: Array
) -> tuple[Array, Array]:
    """F(λ) for each row and direction, and the total weight of the path that attains it."""
    count, directions = level.shape
    states = machine.states
    best = np.full((states + 1, count, directions), -np.inf)
    total = np.zeros((states + 1, count, directions))
    best[machine.start] = weights[:, :1, 0] * (values[:, :, 0, 0] - level)
    total[machine.start] = weights[:, :1, 0]
    result, at_best = np.full_like(level, -np.inf), np.ones_like(level)
    for j in range(1, int(rows.read[0]) + 1):
        ending = np.flatnonzero(rows.read == j)
        if len(ending):
            before = np.where(rows.before[ending].T[:, :, None], best[:states, ending], -np.inf)
            chosen = before.argmax(0)[None]
            own = weights[ending, rows.last[ending] + 1, j][:, None]
            step = own * (values[ending, :, rows.last[ending] + 1, j] - level[ending])
            result[ending] = np.take_along_axis(before, chosen, 0)[0] + step
            at_best[ending] = np.take_along_axis(total[:states, ending], chosen, 0)[0] + own
        active = int(np.count_nonzero(rows.read > j))
        if not active:
            break
        here = machine.reached[j]
        heavy = weights[:active, 1:, j].T[:, :, None]
        gains = heavy * (np.moveaxis(values[:active, :, 1:, j], 2, 0) - level[None, :active])
        fresh = fresh_total = None
        for sources, symbols in zip(machine.sources, machine.symbols, strict=True):
            source, symbol = sources[:here], symbols[:here]
            there = best[source, :active] + gains[symbol]
            weight = total[source, :active] + heavy[symbol]
            if fresh is None:
                fresh, fresh_total = there, weight
            else:
                better = there > fresh
                fresh = np.where(better, there, fresh)
                fresh_total = np.where(better, weight, fresh_total)
        best[:here, :active], total[:here, :active] = fresh, fresh_total
    return result, at_best


def best_word(
    weights: Array, values: Array, machine: Transitions, read: int, last: int, before: Sequence[int]
) -> list[int] | None:
    """Symbol numbers of a word whose weighted mean is the largest: one row, one direction.

    `weights` and `values` are (tokens, positions). None if there is no word.
    """
    level = float(values[0, 0])
    word: list[int] | None = None
    for _ in range(SWEEPS):
        better, mean = _traced(weights, values - level, machine, read, last, before)
        if better is None:
            return None
        mean += level
        if word is not None and mean <= level + 1e-12 * (1 + abs(level)):
            break
        word, level = better, mean
    return word


def _traced(
    weights: Array, above: Array, machine: Transitions, read: int, last: int, before: Sequence[int]
) -> tuple[list[int] | None, float]:
    """The word with the largest Σ w (f - λ), and its mean minus λ."""
    states = machine.states
    best = np.full(states + 1, -np.inf)
    best[machine.start] = weights[0, 0] * above[0, 0]
    gains = weights * above
    choices = []
    every = np.arange(states)
    for j in range(1, read):
        there = best[machine.sources] + gains[1 + machine.symbols, j]
        chosen = there.argmax(0)
        choices.append(chosen)
        best[:states] = there[chosen, every]
    state = max(before, key=lambda s: best[s])
    if best[state] == -np.inf:
        return None, 0.0
    word = [last]
    for chosen in reversed(choices):
        k = chosen[state]
        word.append(int(machine.symbols[k, state]))
        state = int(machine.sources[k, state])
    word.reverse()
    tokens = np.array([0, *(k + 1 for k in word)])
    places = np.arange(read + 1)
    heavy = weights[tokens, places]
    total = heavy.sum()
    if not total > 0:
        return None, 0.0
    return word, float(heavy @ above[tokens, places] / total)
