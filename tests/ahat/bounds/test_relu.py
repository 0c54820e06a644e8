"""How error passes a ReLU: nothing within the bounds comes out larger, and some as large."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.ahat.bounds.functionals import UnitGroup
from softhat.ahat.bounds.relu import _range, relu_change

numbers = st.floats(-8, 8)


@given(numbers, numbers)
def test_the_change_of_a_relu(z: float, change: float) -> None:
    found = float(relu_change(np.array([z]), np.array([change]))[0])
    assert np.isclose(found, max(z + change, 0) - max(z, 0), atol=1e-12)


@given(
    st.lists(
        st.tuples(numbers, st.sampled_from([-2.0, -1.0, 1.0, 3.0]), numbers), min_size=1, max_size=4
    ),
    numbers,
    numbers,
    numbers,
    st.lists(st.floats(0, 1), min_size=1, max_size=6),
)
def test_the_range_of_a_group(
    units: list[tuple[float, float, float]], linear: float, one: float, two: float, at: list[float]
) -> None:
    """Σ effect·(ReLU(z + scale·y) - ReLU(z)) + linear·y, for every y in an interval."""
    pre = np.array([[z for z, _, _ in units]])
    group = UnitGroup(
        np.zeros((2, 2)),
        tuple(range(len(units))),
        np.array([scale for _, scale, _ in units]),
        np.array([[effect for _, _, effect in units]]),
        np.array([linear]),
    )
    low, high = min(one, two), max(one, two)
    top, bottom = _range(group, np.array([low]), np.array([high]), pre)
    tried = [low + share * (high - low) for share in (0.0, 1.0, *at)]
    tried += [min(max(-z / scale, low), high) for z, scale, _ in units]
    values = [
        sum(e * (max(z + s * y, 0) - max(z, 0)) for z, s, e in units) + linear * y for y in tried
    ]
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert bottom[0, 0] - slack <= min(values) and max(values) <= top[0, 0] + slack
    # The kinks are among what was tried, so the bounds are reached.
    assert max(values) >= top[0, 0] - slack and min(values) <= bottom[0, 0] + slack
