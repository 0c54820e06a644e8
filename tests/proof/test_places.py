"""Atoms of the position alone, at each position, by their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.numbers.definitions import define
from softhat.proof.places import held_at, period_of

BITS = [False, True, True, False, True, True, True, True]
CASES = [
    (("mod", 3, 2), (0, 3), lambda i: i % 3 == 2),
    (("at", define("p", "0110(01)")), (4, 2), lambda i: "0110010101010101010101"[i - 1] == "1"),
    (
        ("positions", len(BITS), np.packbits(BITS).tobytes()),
        (4, 1),
        lambda i: BITS[min(i, len(BITS)) - 1],
    ),
]


@pytest.mark.parametrize(("key", "period", "holds"), CASES, ids=["mod", "periodic", "table"])
def test_places(key: tuple[object, ...], period: tuple[int, int], holds: object) -> None:
    assert callable(holds) and period_of(key) == period
    held = held_at(key, 20)
    assert held[1:].tolist() == [holds(i) for i in range(1, 21)]
    start, length = period  # after its start it repeats
    assert all(held[i] == held[i + length] for i in range(start + 1, 21 - length))


def test_other_atoms_depend_on_the_word() -> None:
    assert period_of(("since", "past", 1, 2)) is None
    with pytest.raises(TypeError, match="not an atom of the position"):
        held_at(("first",), 3)
