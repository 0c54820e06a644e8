"""Grids hold the rationals that they are said to hold, and nothing on one is nearer to 0."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from softhat.numbers.grids import ZERO, Generator, Grid, common

N = Generator("global", "n", 0)
I = Generator("local", "i", 0)
fractions = st.fractions(-4, 4, max_denominator=12)
units = st.fractions(Fraction(1, 12), 4, max_denominator=12)
grids = st.builds(
    Grid,
    units,
    st.dictionaries(st.sampled_from([N, I]), st.integers(1, 2)).map(
        lambda d: tuple(sorted(d.items(), key=lambda item: (item[0].role, item[0].name)))
    ),
)


def member(grid: Grid, k: int, n: int, i: int) -> Fraction:
    """k units over the generators' monomial, at length n and position i."""
    below = math.prod((n if g.role == "global" else i) ** degree for g, degree in grid.degrees)
    return k * grid.unit / below


def on(grid: Grid, x: Fraction, n: int, i: int) -> bool:
    if not grid.unit:
        return x == 0
    return (x / member(grid, 1, n, i)).denominator == 1


@given(grids, grids, st.integers(-5, 5), st.integers(-5, 5), st.integers(1, 6), st.data())
def test_sums_and_products(
    one: Grid, two: Grid, k: int, m: int, n: int, data: st.DataObject
) -> None:
    i = data.draw(st.integers(1, n))
    x, y = member(one, k, n, i), member(two, m, n, i)
    assert on(common([one, two]), x + y, n, i)
    assert on(one * two, x * y, n, i)
    factor = data.draw(fractions)
    assert on(one.scaled(factor), x * factor, n, i)
    if x:
        assert abs(x) >= one.least.at(n)


@given(grids, st.integers(-5, 5), st.integers(-5, 5), st.integers(2, 6))
def test_differences_between_positions(grid: Grid, k: int, m: int, n: int) -> None:
    """Each position has its own local generators."""
    pairs = grid.paired()
    for i, j in product(range(1, n + 1), repeat=2):
        difference = member(grid, k, n, i) - member(grid, m, n, j)
        if difference:
            assert abs(difference) >= pairs.least.at(n)


@given(st.integers(0, 2), st.integers(0, 4), st.integers(1, 9))
def test_sizes_that_are_one_or_fit_together(alone: int, together: int, n: int) -> None:
    """Every least common multiple of two sizes that are equal, or of sum n + together at most."""
    pair = Grid(Fraction(1), ((Generator("local", "ties", alone, together), 1),)).paired()
    sizes = range(1, n + alone + 1)
    for s, t in product(sizes, repeat=2):
        if s == t or 1 in (s, t) or s + t <= n + together:
            assert Fraction(1, math.lcm(s, t)) >= pair.least.at(n)


def test_many_such_sizes_have_a_law_too() -> None:
    sizes = [Generator("local", f"ties of {k}", 0, 0) for k in range(6)]
    few, many = (Grid(Fraction(1), tuple((g, 1) for g in sizes[:k])).paired() for k in (1, 6))
    assert few.least.text == "min(1/n, 4/((n+1)·(n-1)))"
    assert many.least.at(7) == Fraction(1, 42**6)


@given(grids, st.lists(st.integers(-3, 3), min_size=1, max_size=6))
def test_averages(grid: Grid, ks: list[int]) -> None:
    """Over all positions of a word: what was local becomes the least common multiple of 1..n."""
    n = len(ks)
    mean = sum((member(grid, k, n, i) for i, k in enumerate(ks, start=1)), Fraction(0)) / n
    found = grid.summed(Generator("local", "keys", 0))
    assert found.exponential == any(g.role == "local" for g, _ in grid.degrees)
    if mean:
        assert abs(mean) >= found.least.at(n)


def test_zero_and_copies() -> None:
    grid = Grid(Fraction(1, 2), ((I, 1),))
    assert ZERO * grid == grid * ZERO == ZERO and common([ZERO, grid]) == grid
    assert grid.copied("0.1").degrees == ((Generator("local", "i@0.1", 0), 1),)
    assert grid.scaled(Fraction(0)) == ZERO
