"""Single activations with a set of errors around each: the concrete domain of the walk.

A `Points` holds many vectors at once. The model's float vector is centre + Σ t_k·along_k + a box
`error`, with |t_k| <= 1, whatever the order of its sums. Two directions beside the box remember
that an error of a norm scales the whole vector, and one of a mean shifts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, log2, sqrt

import numpy as np

from softhat.trained.activations import Activation
from softhat.trained.checkpoint import Affine, LayerNorm
from softhat.trained.rounding import OWN_UNIT, Array, Rounding, lowered, raised


@dataclass(frozen=True, slots=True)
class Points:
    """(…, width) vectors, and how far the model's own can be from each entry."""

    centre: Array
    error: Array
    """How far each entry can be off, whatever the others are."""
    along: Array | None = None
    """(…, directions, width)."""

    @property
    def size(self) -> Array:
        """How large an entry can be."""
        size = np.abs(self.centre) + self.error
        return size if self.along is None else size + np.abs(self.along).sum(-2)

    def folded(self) -> Points:
        """The same in a box."""
        if self.along is None:
            return self
        return Points(self.centre, raised(self.error + np.abs(self.along).sum(-2), 4))

    def affine(self, step: Affine, rounding: Rounding) -> Points:
        """A product with a bias."""
        terms = step.weight.shape[0]
        sizes = np.abs(step.weight)
        centre = self.centre @ step.weight + step.bias
        error = self.error @ sizes + step.error(self.size, rounding)
        if self.along is not None:
            error = error + np.abs(self.along @ step.weight).sum(-2)
        return Points(centre, raised(error, 2 * terms + 8))

    def added(self, other: Points, rounding: Rounding) -> Points:
        """A sum, rounded once."""
        centre = self.centre + other.centre
        error = self.error + other.error
        size = np.abs(centre) + error
        error = error + rounding.gamma(1) * size + rounding.overflow(size)
        return Points(centre, raised(error, 6))

    def activated(self, activation: Activation, rounding: Rounding) -> Points:
        error = activation.slope * self.error + activation.error(self.size, rounding)
        return Points(activation.function(self.centre), raised(error, 4))

    def normalised(self, norm: LayerNorm, epsilon: float, rounding: Rounding) -> Points:
        """Layer normalisation. With s the deviation at the centre and s' at another point of the
        box, y' - y = δ/s' + y (s - s')/s', and s, a norm over √D, moves by at most |δ|/√D."""
        width = self.centre.shape[-1]
        centred = self.centre - self.centre.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
        moved = np.sqrt((self.error**2).mean(-1, keepdims=True))
        smallest = lowered(deviation, 3 * width + 8) - raised(moved, 3 * width + 8)
        smallest = np.maximum(smallest, lowered(sqrt(epsilon), 4))
        y = centred / deviation
        shifted = self.error + self.error.mean(-1, keepdims=True)
        error = (shifted + np.abs(y) * moved) / smallest
        scale, shift, moved = norm_rounding(self.size, smallest, rounding)
        error = raised((error + moved) * (1 + scale), 2 * width + 16)
        shift = np.broadcast_to(shift * (1 + scale), y.shape)
        return scaled(Points(y, error, np.stack([y * scale, shift], -2)), norm, rounding)


def scaled(y: Points, norm: LayerNorm, rounding: Rounding) -> Points:
    """The gain and the shift after a normalisation."""
    gain = np.abs(norm.gain)
    error = y.error * gain + norm.error(y.size, rounding)
    along = None if y.along is None else raised(y.along * norm.gain, 4)
    return Points(y.centre * norm.gain + norm.shift, raised(error, 8), along)


def norm_rounding(size: Array, smallest: Array, rounding: Rounding) -> tuple[Array, Array, Array]:
    """Rounding inside a layer normalisation, before gain and shift: (scale, shift, moved). The
    computed vector is (1 + t)(y + e + a box of `moved`) with |t| <= scale and |e| <= shift, one t
    and one e for all entries.

    `size` bounds |x|, `smallest` is a lower bound of s = √(variance + ε). The kernels: sums, or
    Welford's recurrence, in lanes that are merged in any order; then y = (x - m) r or x r - m r
    with r = 1/√(variance + ε). Both are trees: a node joins two sets of entries, the smaller one
    called b. Let A be the average of |x| and L the largest.

    - The mean of a node d is m_a + δ n_b/n, off by η_d: its storage, u|m_d|, and four roundings of
      the second term. It reaches the mean with the weight n_d/D. No path is longer than D, so
      storage costs D u A; the terms cost 4u Σ (n_b/D)(|m_a| + |m_b|) <= 4u (2 + ln D + log₂ D) A.
    - The sum of squares moves by 2 n_d (m_d - m) η_d: moving a set by η changes it so, all else
      fixed. n_d |m_d - m| is at most the sum of |x_i - m| over the set. An entry lies in (D + 1)/2
      sets on average at most, so storage costs (D + 1) u L/σ, relative to Dσ²; the other terms
      16u √(1 + ln D + log₂ D), by Cauchy and Schwarz. Welford's second factor is from the stored
      mean: √2 u L/σ. Products and sums of them: D + 8. In second order (η/σ)² a level.
    - A square below the least normal number may be flushed, and ε: 4·least/s² of the variance.
      Squares of entries, D of them, must not overflow: else nothing is said (scale is ∞).
    - 1/√ is off by half of that, and 4 roundings; m r is rounded once, x r and the sum likewise.
    """
    width = size.shape[-1]
    levels = log2(width) + 1
    average = size.mean(-1, keepdims=True)
    largest = size.max(-1, keepdims=True)
    mean = rounding.gamma(width + 8 + 4 * log(width) + 4 * levels) * average
    variance = rounding.gamma(width + 2.5) * largest / smallest
    variance = variance + rounding.gamma(width + 8 + 16 * sqrt(1 + log(width) + levels))
    second = rounding.gamma(2 * width + 8 + 4 * log(width) + 4 * levels) * largest / smallest
    variance = variance + (1 + levels) * second**2
    variance = variance + 4 * rounding.least / smallest**2
    variance = variance + rounding.overflow(4 * width * largest**2)
    half = variance / 2 / (1 - np.minimum(variance, 0.5)) ** 1.5
    scale = np.where(variance < 0.5, half, np.inf) + rounding.gamma(4)
    shift = (mean + rounding.gamma(2) * average) / smallest
    moved = (rounding.gamma(3) * (size + average)) / smallest + 4 * rounding.least
    return raised(scale, 24), raised(shift, 24), raised(moved, 24)


def own_error(terms: float) -> float:
    """The relative error of so many roundings in float64, of the proof itself."""
    return raised(terms * OWN_UNIT / (1 - terms * OWN_UNIT), 4)
