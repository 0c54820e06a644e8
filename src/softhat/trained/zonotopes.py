"""Sets of activations: the abstract domain of the walk.

They are zonotopes with a box of errors. Before a non-linear step the box is folded, so that
rounding errors keep their direction instead of growing by |W| at each step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from softhat.numerics.zonotopes import Zonotope
from softhat.trained.activations import Activation
from softhat.trained.checkpoint import Affine, LayerNorm
from softhat.trained.points import norm_rounding, own_error
from softhat.trained.rounding import Array, Rounding, lowered, raised, rounding_of

SAMPLES = np.linspace(0.0, 1.0, 65)[:, None]
"""Where an activation is compared with its chord."""
NARROW = 0.01
"""On a set that is no wider, its ends and its middle do."""
FIRST_ORDER = 0.85
"""The norm of a set may vary by this much, relative to the centre's, for the first-order form."""
FEW = 64
THIN = 1e-3
"""More than so many generators of a set that is thinner than this, relative to its entries, are
multiplied in float32: that rounding is counted, and is small beside the model's own."""
SINGLE = rounding_of("float32")
MANY = 400
"""With more generators their Gram matrix costs more than it is worth."""


@dataclass(frozen=True)
class ActivationSet(Zonotope):
    """A set of activations, (width,)."""

    def affine(self, step: Affine, rounding: Rounding) -> ActivationSet:
        """A product with a bias. The box becomes generators on the way: rows of the weights."""
        terms = step.weight.shape[0]
        sizes = np.abs(step.weight)
        centre = self.centre @ step.weight + step.bias
        radius = self.radius
        size = np.abs(self.centre) + radius + self.error
        error = step.error(size, rounding)
        if len(self.generators) > FEW and radius.max() < THIN * size.max():
            images = (self.generators.astype(np.float32) @ step.weight.astype(np.float32)).astype(
                np.float64
            )
            error = error + SINGLE.gamma(terms + 2) * (radius @ sizes)
            error = error + terms * len(images) * SINGLE.least * (1 + sizes.max() + radius.max())
        else:
            images = self.generators @ step.weight
        boxed = np.flatnonzero(self.error)
        if len(boxed):
            images = np.vstack([images, self.error[boxed, None] * step.weight[boxed]])
        error = raised(error, 2 * terms + 8)
        return replace(self, centre=centre, generators=images, error=error)

    def added(self, other: ActivationSet, rounding: Rounding) -> ActivationSet:
        """The sum, rounded once."""
        both = self.plus(other)
        sizes = np.abs(both.centre) + np.abs(both.generators).sum(0) + both.error
        error = both.error + rounding.gamma(1) * sizes + rounding.overflow(sizes)
        return replace(both, error=raised(error, len(both.symbols) + 8))

    def activated(self, activation: Activation, rounding: Rounding) -> ActivationSet:
        """Entry by entry a line with the chord's slope, and a box that holds the rest.

        Between two samples the rest differs from the chord's by at most bend h²/8. ReLU minus a
        line is convex, so its extremes lie at the ends and at 0.
        """
        radius = self.radius
        low, high = self.centre - radius, self.centre + radius
        width = high - low
        at_low, at_high = activation.function(low), activation.function(high)
        slope = np.where(width > 1e-9, (at_high - at_low) / np.maximum(width, 1e-9), 0.0)
        slope = np.clip(slope, -activation.slope, activation.slope)
        if activation.bend is None:
            inside = np.clip(0.0, low, high)
            places = np.stack([low, inside, high])
            between = np.zeros_like(width)
        else:
            samples = SAMPLES if width.max() > NARROW else SAMPLES[:: len(SAMPLES) // 2]
            places = low + width * samples
            between = activation.bend * (width / (len(samples) - 1)) ** 2 / 8
        rest = activation.function(places) - slope * places
        least, most = rest.min(0), rest.max(0)
        # Rounding of the proof: samples, function values and products, each relative to |x|. An
        # entry whose bounds are rounded inward is off by a rounding, which the slope carries over.
        error = (most - least) / 2 + between + activation.slope * self.error
        size = np.abs(self.centre) + radius + self.error
        error = error + activation.error(size, rounding) + own_error(16) * size
        error = raised(error, 16)
        centre = slope * self.centre + (least + most) / 2
        return replace(self, centre=centre, generators=self.generators * slope, error=error)

    def normalised(self, norm: LayerNorm, epsilon: float, rounding: Rounding) -> ActivationSet:
        """Layer normalisation of a folded set, to first order where the norm varies little.

        With c the centred centre, δ the rest and v = |c|² + Dε, the squared norm is v (1 + t) with
        t = t₁ + t₂, t₁ = 2 c·δ/v in [-T₁, T₁] and t₂ = |δ|²/v in [0, T₂]. Then (1 + t)^-½ is
        1 - t₁/2 + ρ with -T₂/2 <= ρ <= ⅜ (T₁ + T₂)² (1 - T₁)^-2.5: the derivative along c becomes
        generators, ρ one more. Where the norm varies more, 1/s is an interval.
        """
        width = len(self.centre)
        c = self.centre - self.centre.mean()
        G = self.generators - self.generators.mean(1, keepdims=True)
        rounds = len(G) + 3 * width + 16
        radius = raised(np.abs(G).sum(0), rounds)
        squared = float(c @ c)
        s0 = sqrt(squared / width + epsilon)
        v = width * s0 * s0
        along = G @ c
        swing = float(raised(2 * np.abs(along).sum(), rounds))
        spread = float((radius**2).sum())
        if len(G) < MANY:
            spread = min(spread, float(np.abs(G @ G.T).sum()))
        spread = float(raised(spread, 2 * rounds))
        T1, T2 = raised(swing / v, rounds), raised(spread / v, rounds)
        lowest = max(lowered(squared, rounds) - raised(swing, 4), 0.0)
        own = own_error(4 * width + len(G) + 32)
        entries = self.size
        # The proof's own centring, in the norm.
        centring = own * sqrt(float((entries**2).mean()))
        smallest = lowered(sqrt(lowest / width + epsilon), 8) - 4 * centring
        if not smallest > 0:
            raise FloatingPointError("rounding can be as large as the norm")
        largest = raised(sqrt((sqrt(squared) + sqrt(spread)) ** 2 / width + epsilon), rounds)
        inverse, half = (1 / largest + 1 / smallest) / 2, (1 / smallest - 1 / largest) / 2
        centre, generators, extra, error = c * inverse, G * inverse, c * half, radius * half
        if T1 < FIRST_ORDER:
            above = 0.375 * (T1 + T2) ** 2 / (1 - T1) ** 2.5
            middle, off = (above - T2 / 2) / 2, (above + T2 / 2) / 2
            rest = radius * (T1 / 2 + max(above, T2 / 2)) / s0
            tilted = np.abs(c * off / s0).sum() + rest.sum()
            if T1 < 0.3 or tilted < np.abs(extra).sum() + error.sum():
                centre, extra, error = c * (1 + middle) / s0, c * off / s0, rest
                generators = (G - np.outer(along, c / v)) / s0
        size = np.abs(centre) + np.abs(generators).sum(0) + np.abs(extra) + error
        cap = sqrt(width)  # no entry of a normalised vector exceeds √(D - 1)
        if not size.max() <= 2.5 * cap:
            centre, extra = np.zeros(width), np.zeros(width)
            generators = np.zeros_like(generators)
            error = np.full(width, cap)
            size = error
        inner = (radius @ np.abs(c)) * np.abs(c) / v
        error = error + own * (size + (radius + inner + entries + entries.mean()) / smallest)
        error = error + size * 2 * centring / smallest
        scale, shift, moved = norm_rounding(entries, np.array([smallest]), rounding)
        if not np.isfinite(scale).all():
            raise FloatingPointError("rounding can be as large as the norm")
        error = (error + moved) * (1 + scale) + radius_of(generators, extra) * scale
        error = raised(error, rounds)
        gain = np.abs(norm.gain)
        whole = (size + shift) * (1 + scale) + error
        error = raised(error * gain + norm.error(whole, rounding), 8)
        # Rounding of the norm scales all entries alike, and of the mean shifts them.
        alike = [centre * raised(scale, 4), np.ones(width) * raised(shift * (1 + scale), 4)]
        together = np.vstack([generators, extra[None], *(row[None] for row in alike)]) * norm.gain
        centre = centre * norm.gain + norm.shift
        return replace(self, centre=centre, generators=together, error=error)


def radius_of(*generators: Array) -> Array:
    """How far the sum of generators reaches, entry by entry."""
    return sum((np.abs(np.atleast_2d(rows)).sum(0) for rows in generators), np.zeros(1))
