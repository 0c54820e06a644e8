"""The sets that numerical predicates name, against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from softhat.numbers.arithmetic_sets import BUILT_IN
from softhat.numbers.predicates import BuiltIn, column, depends_on_length
from tests.logic.oracle import PREDICATES


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_sets(name: str) -> None:
    for n in (1, 2, 3, 10, 60, 1000, 1001):
        held = column(BuiltIn(name), np.arange(n + 2), n)
        want = [bool(1 <= i <= n and PREDICATES[name](i, n)) for i in range(n + 2)]
        assert held.tolist() == want
    assert depends_on_length(BuiltIn(name)) == (name == "middle")


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("prime", [2**31 - 1, 10**9 + 7, 10**12 + 39]),
        ("square", [10**12, (3 * 10**7 + 1) ** 2]),
        ("triangular", [10**6 * (10**6 + 1) // 2]),
        ("power2", [2**40]),
        ("fibonacci", [1548008755920]),
        ("factorial", [math.factorial(15)]),
    ],
)
def test_far_out(name: str, members: list[int]) -> None:
    index = np.array(sorted({m + d for m in members for d in (-1, 0, 1)} | set(members)))
    held = column(BuiltIn(name), index, 1 << 60)
    assert all(held[np.searchsorted(index, m)] for m in members)
    assert held.sum() == len(members)
