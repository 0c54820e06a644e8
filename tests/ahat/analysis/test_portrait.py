"""A portrait holds what every word makes: values within their ranges and on their grids."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from softhat.ahat.analysis.portrait import Portrait, portrait
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT, MASKS
from softhat.numbers.grids import Grid
from softhat.proof.simulations.residual import ResidualStream
from softhat.proof.simulations.steps import row_size
from tests.ahat import definition
from tests.ahat.models import random_model
from tests.slices import every

MODELS = [GALLERY[name]() for name in sorted(GALLERY)[::2]]
MODELS += [random_model(random.Random(seed), layers=1 + seed % 2) for seed in range(14)]


def words(model: AHAT) -> list[tuple[int, ...]]:
    longest = min(model.longest or 4, 4 if len(model.alphabet) < 4 else 3)
    letters = range(len(model.alphabet))
    return [w for n in range(1, longest + 1) for w in product(letters, repeat=n)][:40]


def check(state: ResidualStream, residual: list[list[Fraction]], n: int) -> None:
    """Every coordinate of every position, and its differences between positions."""
    d = len(residual[0])
    for c in range(d):
        row = tuple(Fraction(k == c) for k in range(d))
        read = state.read(row)
        interval = state.range(read)
        low, high = interval.low.at(n), interval.high.at(n)
        column = [x[c] for x in residual]
        assert all(low <= x <= high for x in column)
        whole, spread = state.whole(read), state.apart(read).paired()
        assert all(on(whole, x, n) for x in column)
        assert all(on(spread, x - y, n) for x in column for y in column)


def on(grid: Grid, x: Fraction, n: int) -> bool:
    """0, or not nearer to it than a grid allows."""
    return not x or (bool(grid.unit) and abs(x) >= grid.least.at(n))


@pytest.mark.parametrize("number", every(2, range(len(MODELS))))
def test_first_and_last_states(number: int) -> None:
    model = MODELS[number]
    seen = portrait(model)
    for word in words(model):
        n = len(word)
        symbols = [model.alphabet[k] for k in word]
        check(seen.states[0], definition.embed(model, symbols), n)
        values = definition.evaluate(model, symbols).values
        interval = seen.states[-1].range(seen.output)
        grid = seen.states[-1].whole(seen.output)
        for x in values:
            assert interval.low.at(n) <= x <= interval.high.at(n) and on(grid, x, n)


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_heads_that_copy_have_one_winner(number: int) -> None:
    model = MODELS[number]
    seen: Portrait = portrait(model)
    claimed = [name for name, tieless in seen.tieless.items() if tieless]
    for word in words(model):
        layers = run(model, np.array(word)[None]).layers
        for l, h in claimed:
            head = layers[l].heads[h]
            keys = head.mask.sum(axis=1)
            assert (head.highest.sum(axis=2)[0][keys > 0] == 1).all()


@pytest.mark.parametrize("sinks", [0, 1, 2])
def test_the_size_of_a_row(sinks: int) -> None:
    """With a sink before the word and one after it."""
    for mask in MASKS:
        (bound,) = row_size(mask, sinks).bounds()
        for n in range(1, 8):
            total = n + sinks
            sizes = [sum(definition.sees(mask, i, j) for j in range(total)) for i in range(total)]
            assert max(sizes) <= bound.at(n)
            assert (min(sizes) == 0) == (mask in ("<", ">"))
            if mask == "none":
                assert set(sizes) == {bound.at(n)}
