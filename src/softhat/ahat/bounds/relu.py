"""How error passes a ReLU sublayer, given the exact pre-activations.

Theorem 34. Hidden units that read the same direction y are taken together with the residual: their
joint effect is a piecewise linear function of y, whose range over an interval is settled at the
ends and the kinks. So a clip, built from two ReLUs, or a snap, which is flat around each exact
value, loses nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.functionals import LayerPlan, UnitGroup
from softhat.ahat.bounds.means import NOISE

Floats = npt.NDArray[np.float64]


def through_forward(layer: LayerPlan, error: Floats, pre: Floats | None) -> Floats:
    """Bounds after the sublayer. error: (rows, 2r) before it; pre: (rows, units), exact."""
    result = error @ layer.passed
    if pre is None:
        return result
    for group in layer.groups:
        bounds = error @ group.reader  # (rows, 2): y ≤ first, -y ≤ second
        top, bottom = _range(group, -bounds[:, 1], bounds[:, 0], pre[:, list(group.units)])
        result = result + np.concatenate([top, -bottom], axis=1)
    return result


def _range(group: UnitGroup, low: Floats, high: Floats, pre: Floats) -> tuple[Floats, Floats]:
    """Greatest and least effect on each tracked direction for y in [low, high]."""
    kinks = -pre / group.scales  # (rows, units)
    inside = np.clip(kinks, low[:, None], high[:, None])
    y = np.concatenate([low[:, None], high[:, None], inside], axis=1)  # (rows, candidates)
    change = relu_change(pre[:, None, :], y[..., None] * group.scales)  # (rows, candidates, units)
    effect = change @ group.effects.T + y[..., None] * group.linear  # (rows, candidates, r)
    size = np.abs(change) @ np.abs(group.effects.T) + np.abs(y)[..., None] * np.abs(group.linear)
    # A flat stretch (snap) cancels large terms exactly in the reals; its rounding is noise.
    slack = NOISE * size.max(axis=1)
    return effect.max(axis=1) + slack, effect.min(axis=1) - slack


def relu_change(z: Floats, change: Floats) -> Floats:
    """ReLU(z + change) - ReLU(z), without cancellation."""
    moved = z + change
    from_open = np.where(moved >= 0, change, -z)
    return np.where(z >= 0, from_open, np.maximum(moved, 0.0))
