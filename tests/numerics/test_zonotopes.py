"""Zonotopes as sets: sums by name, and boxes that become generators."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.numerics.zonotopes import Zonotope, exactly


@given(st.lists(st.integers(0, 5), unique=True), st.lists(st.integers(0, 5), unique=True))
def test_sums_by_name(left: list[int], right: list[int]) -> None:
    """Against dictionaries."""
    x = Zonotope(np.zeros(1), np.arange(1.0, len(left) + 1)[:, None], symbols=tuple(left))
    y = Zonotope(np.zeros(1), 10 * np.arange(1.0, len(right) + 1)[:, None], symbols=tuple(right))
    both = x.plus(y)
    found = dict(zip(both.symbols, both.generators[:, 0], strict=True))
    wanted = dict.fromkeys((*left, *right), 0.0)
    for z, names in ((x, left), (y, right)):
        for at, name in enumerate(names):
            wanted[name] += z.generators[at, 0]
    assert found == wanted and len(both.symbols) == len(found)


def test_a_box_becomes_symbols_of_its_own() -> None:
    """Side by side, each set has its own; an entry without error in all of them needs none."""
    x = exactly(np.ones((2, 3))).off(np.array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.5]]))
    assert x.generators.shape == (2, 2, 3) and not x.error.any()
    assert np.allclose(x.size, [[1.0, 2.0, 1.0], [1.0, 3.0, 1.5]], rtol=1e-12)
    assert x.folded() is x
    assert x.plus(exactly(np.ones(3))).symbols == x.symbols


def test_columns_keep_their_symbols() -> None:
    x = Zonotope(np.arange(3.0), np.eye(3))
    some = x.only(np.array([0, 2]))
    assert some.symbols == x.symbols and some.generators.tolist() == [[1, 0], [0, 0], [0, 1]]
    assert x.plus(x).generators.tolist() == (2 * np.eye(3)).tolist()
