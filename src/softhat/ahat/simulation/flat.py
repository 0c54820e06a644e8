"""Where a feed-forward sublayer is flat around every exact value: it sets an error to 0.

Snaps are made so. The sublayer must act on the coordinate by itself, and the coordinate must be
one of finitely many values at every length.
"""

from __future__ import annotations

from fractions import Fraction

from softhat.ahat.bounds.functionals import diagonal
from softhat.ahat.model import FeedForward
from softhat.proof.simulations.residual import ResidualStream


def flat_radius(state: ResidualStream | None, forward: FeedForward, c: int) -> Fraction:
    """How far coordinate c may be off and still come out exactly; 0 if not at all."""
    if state is None or state.forms[c] or c not in diagonal(forward):
        return Fraction(0)
    units = [
        (row[c], forward.in_bias[u], forward.out_weights[c][u])
        for u, row in enumerate(forward.in_weights)
        if row[c]
    ]
    radius: Fraction | None = None
    for x in {k.content[c] for k in state.classes}:
        left = right = Fraction(1)  # slopes of x + out · ReLU(in · x + bias) on both sides
        for w, b, out in units:
            z = w * x + b
            left += out * w if z > 0 or (z == 0 and w < 0) else 0
            right += out * w if z > 0 or (z == 0 and w > 0) else 0
        if left or right:
            return Fraction(0)
        away = [abs(x + b / w) for w, b, _ in units if x != -b / w]
        radius = min([*away, *([radius] if radius is not None else [])], default=Fraction(1))
    return radius if radius is not None else Fraction(0)
