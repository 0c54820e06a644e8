"""Gates, against their truth tables, in every representation that they are used in."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softhat.logic.semantics.gates import Gate, gate
from softhat.logic.syntax import nodes

A, B = nodes.symbol("a"), nodes.symbol("b")
TABLES: list[tuple[Gate, str]] = [
    (nodes.Not(A), "1100"),
    (nodes.And(A, B), "0001"),
    (nodes.Or(A, B), "0111"),
    (nodes.Xor(A, B), "0110"),
    (nodes.Implies(A, B), "1101"),
    (nodes.Iff(A, B), "1001"),
]
"""The value where (a, b) is (0, 0), (0, 1), (1, 0), (1, 1)."""


@pytest.mark.parametrize(("node", "table"), TABLES, ids=[str(node) for node, _ in TABLES])
def test_the_truth_table(node: Gate, table: str) -> None:
    expected = [digit == "1" for digit in table]
    rows = list(product((False, True), repeat=2))
    assert [gate(node, row, True) for row in rows] == expected
    masks = [sum(row[k] << at for at, row in enumerate(rows)) for k in (0, 1)]
    assert gate(node, masks, 0b1111) == sum(1 << at for at in range(4) if expected[at])
    sets = [frozenset(at for at, row in enumerate(rows) if row[k]) for k in (0, 1)]
    everything = frozenset(range(4))
    assert gate(node, sets, everything) == {at for at in range(4) if expected[at]}
    lanes = [np.array([-int(row[k]) for row in rows]).astype(np.uint64) for k in (0, 1)]
    ones = np.uint64(2**64 - 1)
    assert gate(node, lanes, ones).tolist() == [int(ones) if value else 0 for value in expected]
