"""Fits find the shape that made the points, prefer the plain one, and are called fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.ahat.analysis.fits import SHAPES, fitted


@pytest.mark.parametrize("shape", [s for s in SHAPES if s != "constant"])
@given(slope=st.floats(0.5, 20), offset=st.floats(0, 5))
def test_the_shape_is_found_again(shape: str, slope: float, offset: float) -> None:
    points = {n: slope * SHAPES[shape](n) + offset for n in range(2, 24)}
    fit = fitted(points)
    assert fit is not None and fit.error < 1e-2
    assert all(fit(n) == pytest.approx(points[n], rel=2e-2) for n in range(10, 24))
    if slope * (SHAPES[shape](23) - SHAPES[shape](9)) > 5 * offset:
        assert fit.shape == shape


def test_what_does_not_grow_is_constant() -> None:
    fit = fitted(dict.fromkeys(range(1, 12), 7.0))
    assert fit is not None and fit.shape == "constant" and str(fit) == "fitted: constant, 7"
    assert fit(1000) == pytest.approx(7.0)


def test_few_points_fit_anything() -> None:
    assert fitted({1: 2.0, 2: 3.0, 3: 4.0}) is None
    fit = fitted({n: 3.0 * n + 1 for n in (1, 2, 3, 4)})
    assert fit is not None and str(fit) == "fitted: 3·n + 1"
    assert fit.points == ((1, 4.0), (2, 7.0), (3, 10.0), (4, 13.0))
