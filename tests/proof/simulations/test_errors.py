"""Snaps are flat where they are said to be; inverses are inverses."""

from __future__ import annotations

from fractions import Fraction

import pytest

from softhat.ahat.gallery import GALLERY
from softhat.io.errors import VoidError
from softhat.numbers.laws import Constant, N, minimum
from softhat.proof.simulations.errors import erring, flat_radius, inverse, require
from softhat.proof.simulations.source import Forward
from tests.proof.simulations.claims import claims_of, source_of, streams_of


def through(forward: Forward, c: int, x: Fraction) -> Fraction:
    units = zip(forward.into, forward.into_bias, range(len(forward.into)), strict=True)
    return (
        x
        + forward.out_bias[c]
        + sum(forward.out[c][u] * max(Fraction(0), row[c] * x + bias) for row, bias, u in units)
    )


def test_a_snap_sets_errors_to_0() -> None:
    model = claims_of(GALLERY["induction-average"](), snap=True).model
    source = source_of(model)
    streams, _ = streams_of(source)
    (l,) = (l for l, layer in enumerate(source.layers) if not layer.heads)
    forward = source.layers[l].forward
    assert forward is not None
    flat = [c for c in range(source.width) if flat_radius(streams[l], forward, c)]
    assert flat
    for c in flat:
        radius = flat_radius(streams[l], forward, c)
        for kind in streams[l].classes:
            x = kind.content[c]
            for step in (-1, Fraction(-1, 3), Fraction(2, 3), 1):
                assert through(forward, c, x + step * radius) == through(forward, c, x)
    middle, after = erring(source.layers[l], streams[l], frozenset(flat), [])
    assert middle == frozenset(flat) and not after & set(flat)


def test_inverses() -> None:
    law = minimum(Constant(Fraction(1, 2)), N**-2)
    assert all(inverse(law).at(n) * law.at(n) == 1 for n in range(1, 9))


def test_requirements() -> None:
    require(True, "nothing")
    with pytest.raises(VoidError, match="does not prove it: the gap"):
        require(False, "the gap")
