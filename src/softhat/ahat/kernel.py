"""The largest weighted mean: the arithmetic behind every error bound of a softmax row.

A softmax head errs by Σ w_j z_j / Σ w_j, where z_j is what key j would contribute to the error
and w_j its weight, known to lie in an interval. The least t with Σ_j max_w w_j (z_j - t) ≤ 0
bounds that fraction, and is attained: F(t) = Σ_j max(w⁺(z_j - t), w⁻(z_j - t)) is convex and
decreasing, with slopes between -Σw⁺ and -Σw⁻. Steps of F/Σw⁺ approach its root from the left;
one last step of F/Σw⁻ passes it.

This is plain float64. Its own rounding is covered by widening weights by 1e-12 (relative) and F
by 1e-14 of the sum of absolute terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Starts = npt.NDArray[np.int64] | None

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


def largest_mean(
    low: Floats, high: Floats, z: Floats, valid: npt.NDArray[np.bool_], starts: Starts = None
) -> Floats:
    """An upper bound on Σwz/Σw, for weights in [low, high].

    low, high, valid: (rows, options); z: (rows, options, outputs). With `starts`, options are
    grouped by position, and each position takes its worst valid option. A row where nothing is
    valid gives 0.
    """
    rows, _, outputs = z.shape
    if outputs == 0 or rows == 0:
        return np.zeros((rows, outputs))
    shown = valid[..., None]
    hull = np.where(shown, z, -np.inf).max(axis=1)
    bottom = np.where(shown, z, np.inf).min(axis=1)
    some: npt.NDArray[np.bool_] = np.asarray(valid.any(axis=1))[:, None]
    hull, bottom = np.where(some, hull, 0.0), np.where(some, bottom, 0.0)
    limited = np.asarray(np.isfinite(high).all(axis=1, where=valid))
    w_high = np.where(valid & np.isfinite(high), high, 0.0)
    w_low = np.where(valid, low, 0.0)
    steepest = _positions(w_high, starts, largest=True).sum(axis=1)[:, None]
    flattest = _positions(np.where(valid, low, np.inf), starts, largest=False)
    flattest = np.where(np.isfinite(flattest), flattest, 0.0).sum(axis=1)[:, None]
    steepest, flattest = np.maximum(steepest, 1e-300), np.maximum(flattest, 1e-300)
    t = bottom
    wide_high, wide_low = w_high[..., None], w_low[..., None]
    excess = np.zeros_like(t)
    for _ in range(_STEPS):
        y = z - t[:, None, :]
        terms = np.where(y > 0, wide_high * y, wide_low * y)
        if starts is not None:
            terms = np.maximum.reduceat(np.where(shown, terms, -np.inf), starts, axis=1)
            terms = np.where(np.isfinite(terms), terms, 0.0)
        excess = terms.sum(axis=1) + NOISE * np.abs(terms).sum(axis=1)
        step = np.maximum(excess, 0.0) / steepest
        if np.all(step <= 1e-9 * np.abs(t) + 1e-16 * (hull - bottom)):
            break
        t = t + step
    y = z - t[:, None, :]
    terms = np.where(y > 0, wide_high * y, wide_low * y)
    if starts is not None:
        terms = np.maximum.reduceat(np.where(shown, terms, -np.inf), starts, axis=1)
        terms = np.where(np.isfinite(terms), terms, 0.0)
    excess = np.maximum(terms.sum(axis=1) + NOISE * np.abs(terms).sum(axis=1), 0.0)
    top = t + excess / flattest
    return np.where(limited[:, None] & some, np.minimum(top, hull), hull)


def _positions(w: Floats, starts: Starts, largest: bool) -> Floats:
    if starts is None:
        return w
    reduce: Any = np.maximum.reduceat if largest else np.minimum.reduceat
    result: Floats = reduce(w, starts, axis=1)
    return result
