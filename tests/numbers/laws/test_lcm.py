"""lcm(1..n) against its definition and Hanson's bounds."""

from __future__ import annotations

import math

import pytest

from softhat.numbers.laws import Lcm
from softhat.numbers.laws.lcm import lcm_to, log_lcm_to


def test_values_are_those_of_the_definition() -> None:
    for n in range(1, 200):
        assert lcm_to(n) == math.lcm(*range(1, n + 1))
        assert log_lcm_to(n) == pytest.approx(math.log(lcm_to(n)), rel=1e-14)


def test_bounds_at_any_length() -> None:
    """2^(n-1) ≤ lcm(1..n) < 3^n (Hanson 1972)."""
    for n in (10, 1000, 12345):
        assert (n - 1) * math.log(2) <= Lcm().log_at(n) < n * math.log(3)
    assert (1 / Lcm()).log_at(5000) == -Lcm().log_at(5000)
