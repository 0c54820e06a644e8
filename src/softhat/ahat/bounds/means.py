"""The largest weighted mean: the arithmetic behind every error bound of a softmax row.

A softmax head errs by Σ w_j z_j / Σ w_j, where z_j is what key j would contribute to the error and
w_j its weight, known to lie in an interval. Theorem 32. The least t with Σ_j max_w w_j (z_j - t) ≤
0 bounds that fraction, and is attained: F(t) = Σ_j max(w⁺(z_j - t), w⁻(z_j - t)) is convex and
decreasing, with slopes between -Σw⁺ and -Σw⁻. A step of F/Σw⁺ and secants after it approach its
root from the left; one last step of F/Σw⁻ passes it.

This is plain float64. Its own rounding is covered by widening weights by 1e-12 (relative) and F by
1e-14 of the sum of absolute terms.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

WIDEN = 1e-12  # relative, of a computed weight
NOISE = 1e-14  # relative to the sum of absolute terms
_STEPS = 40
_HIGHEST = 600.0  # exponent beyond which a weight is as good as infinite


def weights(exponent_low: Floats, exponent_high: Floats) -> tuple[Floats, Floats]:
    """[e^low, e^high], widened; exponents of 0 stay exactly 1. Huge weights become inf."""
    low = np.exp(np.minimum(exponent_low, _HIGHEST))
    low = np.where(exponent_low == 0, 1.0, low * (1 - WIDEN))
    high = np.where(exponent_high > _HIGHEST, np.inf, np.exp(np.minimum(exponent_high, _HIGHEST)))
    return low, np.where(exponent_high == 0, 1.0, high * (1 + WIDEN))


def largest_mean(low: Floats, high: Floats, z: Floats, valid: npt.NDArray[np.bool_]) -> Floats:
    """An upper bound on Σwz/Σw, for weights in [low, high].

    low, high, valid: (rows, options); z: (rows, options, outputs). A row where nothing is valid
    gives 0.
    """
    rows, _, outputs = z.shape
    if outputs == 0 or rows == 0:
        return np.zeros((rows, outputs))
    z = np.ascontiguousarray(z.transpose(1, 2, 0))  # options first: sums run over long rows
    low, high, valid = low.T, high.T, valid.T
    shown = valid[:, None]
    hull = np.where(shown, z, -np.inf).max(axis=0)
    bottom = np.where(shown, z, np.inf).min(axis=0)
    some: npt.NDArray[np.bool_] = np.asarray(valid.any(axis=0))
    hull, bottom = np.where(some, hull, 0.0), np.where(some, bottom, 0.0)
    limited = np.asarray(np.isfinite(high).all(axis=0, where=valid))
    w_high = np.where(valid & np.isfinite(high), high, 0.0)
    w_low = np.where(valid, low, 0.0)
    wide_high, wide_low = w_high[:, None], w_low[:, None]

    def excess(t: Floats) -> Floats:
        terms = z - t
        terms *= np.where(terms > 0, wide_high, wide_low)
        result: Floats = terms.sum(axis=0)
        result += NOISE * np.abs(terms, out=terms).sum(axis=0)
        return result

    flattest, steepest = (w.sum(axis=0) for w in (w_low, w_high))
    top = _root(excess, bottom, hull, flattest, steepest)
    return np.where(limited & some, np.minimum(top, hull), hull).T


def largest_means(
    low: Floats,
    high: Floats,
    z: Floats,
    starts: Indices,
    rows: Indices,
    spare: npt.NDArray[np.bool_],
) -> Floats:
    """The same where each position takes its worst option, for rows of any size; (outputs, rows).

    low, high: (options,) and z: (outputs, options), position after position. `starts`: where each
    position's options begin; `rows`: with which position each row begins. A position that is
    `spare` may also contribute nothing (an option with a negligible weight, which the caller
    accounts for).
    """
    first = starts[rows]
    width = np.diff(np.append(first, z.shape[1]))
    hull, bottom = np.maximum.reduceat(z, first, axis=1), np.minimum.reduceat(z, first, axis=1)
    finite = np.isfinite(high)
    limited = np.logical_and.reduceat(finite, first)
    w_high = high if finite.all() else np.where(finite, high, 0.0)
    single = len(starts) == z.shape[1]  # each position has one option

    def excess(t: Floats) -> Floats:
        terms = z - np.repeat(t, width, axis=1)
        terms *= w_high if low is high else np.where(terms > 0, w_high, low)
        if not single:
            terms = np.maximum.reduceat(terms, starts, axis=1)
        np.maximum(terms, 0.0, out=terms, where=spare)
        result: Floats = np.add.reduceat(terms, rows, axis=1)
        result += NOISE * np.add.reduceat(np.abs(terms), rows, axis=1)
        return result

    least = np.where(spare, 0.0, np.minimum.reduceat(low, starts))
    flattest = np.add.reduceat(least, rows)
    steepest = np.add.reduceat(np.maximum.reduceat(w_high, starts), rows)
    top = _root(excess, bottom, hull, flattest, steepest)
    return np.where(limited, np.minimum(top, hull), hull)


def _root(
    excess: Callable[[Floats], Floats],
    bottom: Floats,
    hull: Floats,
    flattest: Floats,
    steepest: Floats,
) -> Floats:
    """A t, no less than the root of F = excess and hardly more, for slopes between these."""
    flattest, steepest = np.maximum(flattest, 1e-300), np.maximum(steepest, 1e-300)
    t = np.minimum(np.maximum(bottom, 0.0), hull)
    value = excess(t)
    if (value < 0).any():  # the root lies left of 0: start where every term is non-negative
        t = np.where(value < 0, bottom, t)
        value = excess(t)
    slope = np.broadcast_to(steepest, value.shape)
    for _ in range(_STEPS):
        step = np.maximum(value, 0.0) / slope
        if np.all(step <= 1e-9 * np.abs(t) + 1e-16 * (hull - bottom)):
            break
        earlier, t = value, np.minimum(t + step, hull)
        value = excess(t)
        slope = secant(earlier, value, step, flattest, steepest)
    top: Floats = t + np.maximum(value, 0.0) / flattest
    return top


def secant(
    earlier: Floats, later: Floats, step: Floats, flattest: Floats, steepest: Floats
) -> Floats:
    """The slope (positive) of a convex decreasing F between the last two points.

    Its secant runs below F further right, so a step along it stays left of the root. Slopes of
    nearly 0 may be rounding: the step is then kept short.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(step > 0, (earlier - later) / step, steepest)
    return np.clip(slope, np.maximum(flattest, 1e-6 * steepest), steepest)
