"""Comparisons of past counts as thresholds a position: equal atoms say the same of every word."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from softhat.proof.atoms import CountSum
from softhat.proof.boolean import Space
from softhat.proof.stock.bounded import BoundedAtoms

MOST = 5


def _said(constants: tuple[int, ...], m: int, threshold: int, negated: bool) -> Any:
    """a·#(x) + b·#(y or not y) + p·i + d·#(i <= m) >= threshold, for all words over x, y, z."""
    a, b, p, d = constants
    words = np.array(list(product("xyz", repeat=MOST)))
    x = np.cumsum(words == "x", axis=1)
    y = np.cumsum((words == "y") != negated, axis=1)
    i = np.arange(1, MOST + 1)
    return a * x + b * y + p * i + d * np.minimum(i, m) >= threshold


@pytest.mark.parametrize("seed", range(2))
def test_equal_atoms_say_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = BoundedAtoms(Space(("x", "y", "z"), False), MOST)
    space = atoms.space
    met: dict[int, Any] = {}
    again = 0
    for _ in range(150):
        constants = tuple(int(c) for c in rng.integers(-2, 3, 4))
        m, threshold = int(rng.integers(0, MOST + 1)), int(rng.integers(-6, 7))
        negated = bool(rng.integers(2))
        y = space.negation(space.symbol("y")) if negated else space.symbol("y")
        early = atoms.table(atoms.index <= m, 1)
        counts: dict[Any, int] = {}
        for f, c in ((space.symbol("x"), constants[0]), (y, constants[1]), (early, constants[3])):
            counts["past", f] = counts.get(("past", f), 0) + c
        found = atoms.at_least(CountSum(counts, position=constants[2]), threshold, 1 << 20)
        said = _said(constants, m, threshold, negated)
        for function, truth in ((found, said), (space.negation(found), ~said)):
            if function in met:
                again += 1
                assert (met[function] == truth).all()
            met[function] = truth
    assert again > 10


def test_a_constant_is_a_count_of_positions() -> None:
    atoms = BoundedAtoms(Space(("a", "b"), False), 500)
    a = atoms.space.symbol("a")
    early = atoms.table(atoms.index <= 300, 1)
    plain = atoms.at_least(CountSum({("past", a): 1}), 301, 1 << 20)
    assert atoms.at_least(CountSum({("past", a): 1, ("past", early): -1}), 1, 1 << 20) == plain
    late = atoms.table(atoms.index <= 299, 1)
    assert atoms.at_least(CountSum({("past", a): 1, ("past", late): -1}), 1, 1 << 20) != plain
