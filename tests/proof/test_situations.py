"""States as numbers, and what is possible at one position of many words."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.proof.situations import (
    MOST_BITS,
    LeftOpenError,
    Situations,
    StateLayout,
    bit_of,
    distinct,
    new_ones,
)


def test_parts_of_a_state_do_not_meet() -> None:
    layout = StateLayout()
    for part, most in (("a", 5), ("b", 1), ("c", 200)):
        layout.add(part, most)
    states = np.ones(3, np.int64)  # they differ already
    for part, value in (("a", [0, 5, 3]), ("b", [1, 0, 1]), ("c", [200, 7, 0])):
        states = layout.put(states, part, np.array(value))
    assert layout.get(states, "a").tolist() == [0, 5, 3]
    assert layout.holds(states, "b").tolist() == [True, False, True]
    assert layout.get(states, "c").tolist() == [200, 7, 0] and bit_of(states, 0).all()
    with pytest.raises(LeftOpenError):
        layout.add("d", 1 << MOST_BITS)


def test_numbers_once_and_new_ones() -> None:
    rng = np.random.default_rng(3)
    for size in (0, 1, 7, 40):
        codes, known = rng.integers(0, 30, size), np.unique(rng.integers(0, 30, 12))
        assert np.array_equal(distinct(codes), np.unique(codes))
        assert np.array_equal(new_ones(codes, known), np.setdiff1d(codes, known))
        assert np.array_equal(new_ones(codes, known[:0]), np.unique(codes))


def test_promises_that_go_with_those_before() -> None:
    now = Situations(np.array([1]), np.array([0, 1]), np.array([0]), [("first",), ("x",)])
    assert now.letters.tolist() == [0, 1]
    no, yes = np.array([False]), np.array([True])
    among = np.array([1])  # only that the promise is made
    now.promise(0, among, ("x",), [(no, yes), (yes, yes)])
    assert now.promised.tolist() == [1, 1] and now.values["x",].all()
    now.keep(now.letters == 1)
    assert now.letters.tolist() == [1] and len(now.values["x",]) == 1
