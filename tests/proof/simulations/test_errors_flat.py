"""Where a feed-forward is flat: an error within the radius vanishes, one beyond it stays."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from softhat.proof.simulations.errors import flat_radius
from softhat.proof.simulations.residual import Class, ResidualStream
from softhat.proof.simulations.source import Forward

F = Fraction


def snapping(centres: list[Fraction], half: Fraction) -> Forward:
    """x + Σ out·ReLU(in·x + bias) on one coordinate: flat within `half` of each centre, steep
    between. Built from the slopes: -1 on a flat stretch, what is needed between two of them."""
    kinks: list[tuple[Fraction, Fraction]] = [(centres[0] - half, F(-1))]
    for left, right in pairwise(centres):
        climb = (right - left) / (right - left - 2 * half)
        kinks += [(left + half, climb), (right - half, -climb)]
    kinks.append((centres[-1] + half, F(1)))
    rows = tuple((F(1),) for _ in kinks)
    return Forward(rows, tuple(-at for at, _ in kinks), (tuple(w for _, w in kinks),), (F(0),))


def through(forward: Forward, x: Fraction) -> Fraction:
    units = zip(forward.into, forward.into_bias, forward.out[0], strict=True)
    return x + sum((w * max(F(0), row[0] * x + b) for row, b, w in units), F(0))


def state_of(contents: list[Fraction]) -> ResidualStream:
    return ResidualStream(tuple(Class((x,)) for x in contents), ({},), ())


@pytest.mark.parametrize("half", [F(1, 10), F(1, 4), F(2, 5)])
def test_an_error_within_the_radius_vanishes(half: Fraction) -> None:
    centres = [F(0), F(1), F(3)]
    forward = snapping(centres, half)
    radius = flat_radius(state_of(centres), forward, 0)
    assert radius == half
    for x in centres:
        for off in (-radius, -radius / 3, F(0), radius / 7, radius):
            assert through(forward, x + off) == through(forward, x)
    beyond = radius + F(1, 100)
    assert through(forward, centres[0] + beyond) != through(forward, centres[0])


def test_a_value_beside_the_flat_stretch_has_no_radius() -> None:
    forward = snapping([F(0), F(1)], F(1, 4))
    assert flat_radius(state_of([F(0), F(1, 2)]), forward, 0) == 0
    assert flat_radius(state_of([F(1, 5)]), forward, 0) == F(1, 20)
