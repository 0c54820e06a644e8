"""Steps: hidden units decode a count as their theorem says, for every count, in every format."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.numerics.formats import FORMATS
from softhat.proof.heads.width import WidthKind
from softhat.proof.steps import (
    Decoded,
    DecodingStep,
    Unit,
    steps_of_share,
    steps_of_whole,
    turns_of,
    whole_of,
)
from softhat.transformer.lowering.steps import MIDDLE, step

WIDTH = WidthKind("unbounded", "none", 16.0, (), 1.0)


def share_units(ks: list[int], sinks: int, weights: list[int] | None = None) -> list[Unit]:
    units: list[Unit] = []
    for k, weight in zip(ks, weights or [1] * len(ks), strict=True):
        low, high = step(k, sinks)
        gain = weight / (high - low)
        units += [(high, gain), (low, -gain)]
    return units


def relu(x: Fraction) -> Fraction:
    return max(x, Fraction(0))


@given(st.sets(st.integers(1, 60), min_size=1, max_size=5).map(sorted), st.integers(1, 2))
@settings(max_examples=30)
def test_units_are_read_back_as_the_steps_they_are(ks: list[int], sinks: int) -> None:
    """And add up to the number of steps reached, for every count, with all that may leak."""
    units = share_units(ks, sinks)
    found = steps_of_share(units, sinks)
    assert [s.k for s in found] == ks and all(s.weight == 1 for s in found)
    for w in range(80):
        for epsilon in (Fraction(0), Fraction(1, 64)):
            share = Fraction(sinks) / (sinks + w + epsilon)
            total = sum(Fraction(g) * relu(Fraction(bias) - share) for bias, g in units)
            assert total == sum(w >= k for k in ks)


@given(st.sets(st.integers(-5, 40), min_size=1, max_size=5).map(sorted))
def test_steps_of_whole_numbers(ks: list[int]) -> None:
    gain = 1 / (2 * MIDDLE)
    units: list[Unit] = []
    for k in ks:
        units += [(0.5 - k + MIDDLE, gain), (0.5 - k - MIDDLE, -gain)]
    assert [s.k for s in steps_of_whole(units)] == ks
    for x in range(-10, 50):
        assert sum(g * max(0.0, x + bias) for bias, g in units) == sum(x >= k for k in ks)


@pytest.mark.parametrize(
    ("units", "reason"),
    [
        ([(0.75, 4.0)], "no steps"),
        ([(0.75, 4.0), (0.5, -2.0)], "no steps"),
        ([(0.75, 3.0), (0.4, -3.0)], "no steps"),
        ([(1.25, 2.0), (0.75, -2.0)], "outside what a share can be"),
        ([(0.75, 2.0), (0.25, -2.0)], "between no two counts"),
        (share_units([3], 1) * 2, "no steps"),
    ],
)
def test_other_units_are_refused(units: list[Unit], reason: str) -> None:
    with pytest.raises(VoidError, match=reason):
        steps_of_share(units, 1)


def test_bits_and_numbers() -> None:
    def steps(*pairs: tuple[int, int]) -> tuple[DecodingStep, ...]:
        return tuple(DecodingStep(k, 0.0, 1.0, weight) for k, weight in pairs)

    assert turns_of(steps((2, 1), (5, -1), (6, 1))) == (2, 5, 6)
    assert turns_of(steps((2, 1), (5, 1))) is None
    assert turns_of(steps((2, -1))) is None
    assert whole_of(steps((1, 3), (2, 3), (3, 3))) == (3, 3)
    assert whole_of(steps((2, 3), (3, 3))) is None
    assert whole_of(steps((1, 3), (2, 1))) is None


@pytest.mark.parametrize("name", FORMATS)
@given(ks=st.sets(st.integers(1, 30), min_size=1, max_size=4).map(sorted), w=st.integers(0, 30))
def test_the_error_of_a_bit_is_no_larger_than_stated(name: str, ks: list[int], w: int) -> None:
    """The share is off by all that is allowed, each unit is rounded to storage, then their sum."""
    form = FORMATS[name]
    n = 30
    weights = [(1, -1)[at % 2] for at in range(len(ks))]
    units = share_units(ks, 2, weights)
    decoded = Decoded(((WIDTH, 2, steps_of_share(units, 2)),), is_bit=True)
    assert turns_of(decoded.of[0][2]) == tuple(ks)
    try:
        error = decoded.error(n, form)
    except VoidError:
        return
    epsilon, delta = WIDTH.share(n, form)
    bit = sum(w >= k for k in ks) % 2
    for share in (2 / (2 + w + epsilon) * (1 - delta), 2 / (2 + w) * (1 + delta)):
        x = form.stored(share)
        total = sum(g * form.stored(max(0.0, bias - x)) for bias, g in units)
        assert abs(form.stored(total) - bit) <= error
