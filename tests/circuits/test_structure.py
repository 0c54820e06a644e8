"""Wires of heads: those that a head uses, where others share its keys and values."""

from __future__ import annotations

import numpy as np

from softhat.circuits.structure import head_wires


def test_a_head_has_the_shared_keys_and_values_that_it_uses() -> None:
    """Rows 0 and 2 turn together, and so do 1 and 3: a query in row 0 meets the keys 0 and 2. A
    value that nothing is made of is not used."""
    rows = np.ones((4, 5))
    query = np.zeros((4, 5))
    query[0, 1] = -2.0
    output = np.zeros((4, 5))
    output[3, 4] = 1.0
    head = head_wires({"q": query, "k": rows, "v": rows}, output, turns=True)
    assert head.inputs["k"].any(axis=1).tolist() == [True, False, True, False]
    assert head.inputs["v"].any(axis=1).tolist() == [False, False, False, True]
    assert np.argwhere(head.inputs["q"]).tolist() == [[0, 1]]
    assert np.argwhere(head.output).tolist() == [[3, 4]]


def test_a_head_of_its_own_has_all_its_weights() -> None:
    rows, query = np.ones((4, 5)), np.zeros((4, 5))
    head = head_wires({"q": query, "k": rows, "v": rows}, query, turns=False)
    assert head.inputs["k"].all() and head.inputs["v"].all() and not head.output.any()
