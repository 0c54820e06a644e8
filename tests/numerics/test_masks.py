"""Masks against their definition."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest

from softhat.numerics.masks import MASKS, Mask, allowed

SEES: dict[Mask, Callable[[int, int], bool]] = {
    "none": lambda j, i: True,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}


@pytest.mark.parametrize("mask", MASKS)
def test_a_query_sees_the_keys_that_its_mask_allows(mask: Mask) -> None:
    for length in range(5):
        seen = allowed(mask, length)
        assert seen.shape == (length, length)
        for i in range(length):
            assert seen[i].tolist() == [SEES[mask](j, i) for j in range(length)]


def test_a_mask_is_shared_and_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        allowed("<=", 3)[0, 0] = False
