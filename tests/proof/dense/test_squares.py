"""The mean square of a residual stream whose gates write 2(1 + ρ)²: intervals hold what is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.proof.dense.squares import Squares, squares_off

SMALL = st.floats(-0.04, 0.04)


@given(SMALL, SMALL, st.floats(0, 1), st.integers(8, 200), st.data())
def test_gates_that_hold_stay_in_the_interval(
    a: float, b: float, at: float, d: int, data: st.DataObject
) -> None:
    """Direct computation: d coordinates of which k, ±1, are replaced by what the gates leave."""
    low, high = sorted((a, b))
    most = data.draw(st.integers(0, d))
    k = data.draw(st.integers(0, most))
    e = low + at * (high - low)
    rho = (1 + e) ** -0.5 - 1
    bit = -1 + 2 * (1 + rho) ** 2
    after = (d * (1 + e) + k * (bit**2 - 1)) / d - 1
    found = Squares(low, high).clipped(most / d, 0.0)
    assert found.low - 1e-12 <= after <= found.high + 1e-12


@given(SMALL, SMALL, st.floats(0, 1))
def test_factors_are_reciprocal_roots(a: float, b: float, at: float) -> None:
    low, high = sorted((a, b))
    least, most = Squares(low, high).factors(1e-9)
    assert least <= (1 + low + at * (high - low)) ** -0.5 - 1 <= most


def test_few_gates_do_not_widen() -> None:
    """At most half of the coordinates: what was off comes back, and never overshoots by more."""
    found = Squares(-1e-3, 2e-3)
    assert found.clipped(0.25, 0.0) == Squares(-1e-3, 2e-3)
    assert found.clipped(0.5, 0.0).most <= 2e-3 * 1.01
    assert found.clipped(0.9, 0.0).most > 2e-3
    assert found.widened(1e-3) == Squares(-2e-3, 3e-3)
    assert found.attended(1e-3, 5e-3) == Squares(-2e-3, 8e-3) and found.most == 2e-3


@given(st.lists(st.tuples(st.booleans(), SMALL, SMALL, st.booleans()), min_size=1, max_size=9))
def test_what_heads_write_changes_squares_by_no_more(
    rows: list[tuple[bool, float, float, bool]],
) -> None:
    """Any old and new signs, any errors within the bounds."""
    written = np.array([w for w, *_ in rows])
    before, off = (np.abs([row[k] for row in rows]) for k in (1, 2))
    old = np.array([1.0 + row[1] for row in rows])
    new = np.array([(-1.0 if row[3] else 1.0) + row[2] for row in rows])
    change = float((new**2 - old**2)[written].sum())
    assert abs(change) <= squares_off(written, before, off) + 1e-12
