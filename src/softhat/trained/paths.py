"""Weighted means along paths whose weights and values are known to lie in ranges.

A head of a later layer reads Σ w_j f_j / Σ w_j, where w_j and f_j depend on what the earlier layers
made of position j. For a set of possible activations, w_j lies in [low, high] and f_j is at most a
bound. The largest mean is at most the root of F(λ) = max Σ max over w of w (f_j - λ), the largest
sum along a path of the machine: w is `high` where f_j exceeds λ, else `low`.

A node of the path, a state at a position, may be a union of pieces: the path takes the best one.

Rounding: let a path's sum be P - Q, its positive and its negative terms. Computed, it is off by at
most ε = n u (P + Q). With W the path's true weight and d the largest |f - λ|, Q <= d W, since its
terms have the weights `low`; and P <= F + Q. So ε <= n u (F + 2 d W), and the path's mean exceeds λ
by at most (F + ε) / W <= (1 + n u) max(F, 0) / W + 2 n u d, where W is at least the least weight of
any path.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.trained.points import own_error
from softhat.trained.rounding import Array, lowered, raised
from softhat.trained.support import Transitions

SWEEPS = 14
CLOSE = 1e-6
"""Bounds are found to within this much of the values' range."""


@dataclass(frozen=True)
class Nodes:
    """For one number of symbols read: what each earlier state can contribute, to each query.

    `low`, `high` are (queries, positions, states, pieces), `values` (positions, states, pieces,
    directions). `low` is 0 and `high` -1 where there is no such piece.
    """

    low: Array
    high: Array
    values: Array
    own_low: Array
    """(queries,): of the query's own position."""
    own_high: Array
    own_values: Array
    """(queries, directions)."""
    before: NDArray[np.bool_]
    """(queries, states): from which states the query's own state is reached by its symbol."""


def largest_means(nodes: Nodes, machine: Transitions) -> Array:
    """(queries, directions): upper bounds of the weighted means; NaN where nothing can be said."""
    there: NDArray[np.bool_] = np.asarray(nodes.high > 0)
    low = np.where(there, nodes.low, np.inf).min((2, 3))  # (queries, positions)
    least = lowered(low.sum(1) + nodes.own_low, low.shape[1] + 4)[:, None]
    used = np.any(there, axis=0)[..., np.newaxis]
    top = np.where(used, nodes.values, -np.inf).max((0, 1, 2))
    bottom = np.where(used, nodes.values, np.inf).min((0, 1, 2))
    top, bottom = np.maximum(top, nodes.own_values), np.minimum(bottom, nodes.own_values)
    close = CLOSE * np.maximum(top - bottom, 1e-12)
    guess = (top + bottom) / 2
    bound = np.full_like(guess, np.nan)
    far = top - bottom + 2 * close  # a guess is a path's mean, or that much above it
    rounds = own_error(4 * low.shape[1] + 16)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for _ in range(SWEEPS):
            best, total = _sweep(nodes, machine, guess)
            gap = np.where(best > 0, raised(best, 4) / least, 0.0)
            fresh = guess + gap + rounds * (2 * far + np.abs(guess) + 2 * gap)
            bound = np.fmin(bound, fresh)
            step = best / total
            if not ((best > 0) | (np.abs(step) > 4 * close)).any():
                break
            guess = guess + step + close
    bound = np.where(np.isfinite(least), bound, np.nan)
    return np.where(np.isnan(bound), np.nan, np.minimum(bound, top))


def _sweep(nodes: Nodes, machine: Transitions, level: Array) -> tuple[Array, Array]:
    """F(λ) for each query and direction, and the weight of the path that attains it."""
    queries, positions, states, pieces = nodes.low.shape
    directions = level.shape[1]
    best = np.full((states + 1, queries, directions), -np.inf)
    total = np.zeros((states + 1, queries, directions))
    for j in range(positions):
        gain = np.full((states, queries, directions), -np.inf)
        weight = np.zeros((states, queries, directions))
        for piece in range(pieces):
            high = nodes.high[:, j, :, piece].T[:, :, None]
            above = nodes.values[j, :, piece][:, None] - level
            heavy = np.where(above > 0, high, nodes.low[:, j, :, piece].T[:, :, None])
            this = np.where(high > 0, heavy * above, -np.inf)
            better = this > gain
            gain, weight = np.where(better, this, gain), np.where(better, heavy, weight)
        if j == 0:
            best[machine.start], total[machine.start] = gain[machine.start], weight[machine.start]
            continue
        fresh = np.full((states, queries, directions), -np.inf)
        fresh_total = np.zeros_like(fresh)
        for source in machine.sources:
            there = best[source]
            better = there > fresh
            fresh = np.where(better, there, fresh)
            fresh_total = np.where(better, total[source], fresh_total)
        best[:states], total[:states] = fresh + gain, fresh_total + weight
    above = nodes.own_values - level
    heavy = np.where(above > 0, nodes.own_high[:, None], nodes.own_low[:, None])
    before = np.where(nodes.before.T[:, :, None], best[:states], -np.inf)
    chosen = before.argmax(0)[None]
    result = np.take_along_axis(before, chosen, 0)[0] + heavy * above
    return result, np.take_along_axis(total[:states], chosen, 0)[0] + heavy
