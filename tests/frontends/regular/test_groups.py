"""Series of groups, against facts that are known and against the definition."""

from __future__ import annotations

import pytest

from softhat.frontends.regular.groups import CyclicStep, cyclic_series, generated, inverse, then

KNOWN: dict[str, tuple[list[tuple[int, ...]], tuple[int, ...] | None]] = {
    "Z6": ([(1, 0, 2, 3, 4), (0, 1, 3, 4, 2)], (6,)),
    "Z2 x Z2": ([(1, 0, 2, 3), (0, 1, 3, 2)], (2, 2)),
    "S4": ([(1, 0, 2, 3), (1, 2, 3, 0)], (2, 3, 2, 2)),
    "D5": ([(1, 2, 3, 4, 0), (0, 4, 3, 2, 1)], (2, 5)),
    "quaternions": ([(1, 2, 3, 0, 5, 6, 7, 4), (4, 7, 6, 5, 2, 1, 0, 3)], (2, 4)),
    "A5": ([(1, 2, 3, 4, 0), (1, 2, 0, 3, 4)], None),
}


@pytest.mark.parametrize("name", KNOWN)
def test_series(name: str) -> None:
    generators, orders = KNOWN[name]
    group = generated(generators, len(generators[0]))
    assert group is not None
    series = cyclic_series(group)
    if orders is None:
        assert series is None and len(group) == 60
        return
    assert series is not None
    assert tuple(step.order for step in series) == orders
    for step in series:
        is_cyclic_quotient(group, step)
        group = step.kernel
    assert len(group) == 1


def is_cyclic_quotient(group: frozenset[tuple[int, ...]], step: CyclicStep) -> None:
    """By the definition: powers add up, and those of power 0 are a normal subgroup."""
    assert set(step.power) == set(group) and len(group) == step.order * len(step.kernel)
    for x in group:
        for y in group:
            assert step.power[then(x, y)] == (step.power[x] + step.power[y]) % step.order
        assert all(then(then(inverse(x), k), x) in step.kernel for k in step.kernel)


def test_large_groups_are_left_alone() -> None:
    assert generated([(1, 2, 3, 4, 5, 0), (1, 0, 2, 3, 4, 5)], 6) is None
