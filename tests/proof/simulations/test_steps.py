"""Every number of every word lies where the streams say: on its grid, in its range."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from softhat.numbers.grids import Grid
from softhat.proof.simulations.residual import ResidualStream
from softhat.proof.simulations.source import Vector
from softhat.proof.simulations.words import all_words, run
from tests.proof.simulations.claims import random_source, read_somewhere, source_of, streams_of


def on_grid(x: Fraction, grid: Grid, n: int) -> bool:
    """Is x a multiple of unit/M, for what M can be at length n? Local sizes are integers to n + s:
    their least common multiple stands for them."""
    if not x or not grid.unit:
        return not x
    scale = Fraction(1)
    for generator, degree in grid.degrees:
        top = max(1, n + generator.shift)
        size = top if generator.role == "global" else math.lcm(*range(1, top + 1))
        scale *= Fraction(size) ** degree
    return (x * scale / grid.unit).denominator == 1


def holds(stream: ResidualStream, c: int, vectors: list[Vector], n: int) -> bool:
    width = len(stream.forms)
    x = stream.read(tuple(Fraction(int(k == c)) for k in range(width)))
    reach, values = stream.range(x), [v[c] for v in vectors]
    inside = all(reach.low.at(n) <= value <= reach.high.at(n) for value in values)
    exact = all(on_grid(value, stream.whole(x), n) for value in values)
    apart = all(on_grid(a - values[0], stream.apart(x), n) for a in values)
    return inside and exact and apart


def check_streams(seed: int) -> None:
    source = source_of(random_source(seed))
    streams, _ = streams_of(source)
    for n in (1, 2, 3, 4):
        for word in list(all_words(source, n))[:12]:
            for l, (stream, seen) in enumerate(
                zip(streams, run(source, word).streams, strict=True)
            ):
                for c in read_somewhere(source, l):
                    assert holds(stream, c, seen.fractions(), n), (seed, word, l, c)


@pytest.mark.parametrize("seed", range(8))
def test_streams_hold_what_words_show(seed: int) -> None:
    check_streams(seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(8, 300))
def test_streams_hold_what_words_show_at_full_size(seed: int) -> None:
    check_streams(seed)
