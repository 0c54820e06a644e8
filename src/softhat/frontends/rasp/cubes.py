"""A function of binary digits as few conjunctions of them: digits that do not matter are left out.

The digits are split from the lowest up or from the highest down, whichever needs fewer: what
repeats is decided by low digits, what is an interval by high ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Cube = tuple[tuple[int, bool], ...]
"""Digits and their values."""


def cubes_of(codes: Ints, labels: Ints, count: int) -> dict[int, list[Cube]]:
    """For each label disjoint conjunctions of digits that hold exactly at its codes, among those
    that are given; other codes may get any label."""
    up = _split(codes, labels, list(range(count)))
    down = _split(codes, labels, list(range(count))[::-1])
    return min(up, down, key=lambda cubes: sum(map(len, cubes.values())))


def _split(codes: Ints, labels: Ints, order: list[int]) -> dict[int, list[Cube]]:
    cubes: dict[int, list[Cube]] = {}
    open_: list[tuple[Ints, Cube, int]] = [(np.arange(len(codes)), (), 0)]
    while open_:
        places, cube, depth = open_.pop()
        inside = labels[places]
        if (inside == inside[0]).all():
            cubes.setdefault(int(inside[0]), []).append(cube)
            continue
        bit = order[depth]
        ones = (codes[places] >> bit & 1).astype(bool)
        for value, part in ((False, places[~ones]), (True, places[ones])):
            if len(part) == len(places):
                open_.append((part, cube, depth + 1))  # all have this digit: nothing to ask
            elif len(part):
                open_.append((part, (*cube, (bit, value)), depth + 1))
    return cubes
