"""Latest: recognised by its weights, its leak in the reals, its error in number formats."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.numerics.formats import FORMATS
from softhat.program.heads import Direction
from softhat.program.heads import Latest as LatestHead
from softhat.program.signals import Program
from softhat.proof.heads.latest import LatestKind
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention
from tests.proof.heads.suite import (
    ATTENTIONS,
    Derived,
    decided_far_away,
    one_head,
    outputs_within_bounds,
    scaled,
)

NAMES: dict[Direction, str] = {"past": "Latest", "future": "Earliest"}


def program_of(direction: Direction) -> Program:
    """`a S b`, mirrored `a U b`, over {a, b, c}."""
    return one_head(lambda a, b, _: LatestHead(a, b, direction))


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("direction", NAMES)
def test_it_is_recognised(direction: Direction, attention: Attention) -> None:
    kind = Derived(lower(program_of(direction), attention)).kind(NAMES[direction])
    assert isinstance(kind, LatestKind)
    assert kind.numbers == {"slope": 4.0, "penalty": 8.0}
    assert kind.min_gap == 4.0 and kind.leak == exp(-4)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("direction", NAMES)
@pytest.mark.parametrize("dtype", FORMATS)
def test_outputs_stay_within_the_bound(
    direction: Direction, attention: Attention, dtype: str
) -> None:
    program = program_of(direction)
    reached = outputs_within_bounds(program, attention, decided_far_away(3), dtype)
    assert max(reached) > 0.5  # the bound is about what happens


@given(st.lists(st.booleans(), max_size=12), st.floats(0.5, 6))
def test_the_leak_in_the_reals(bad: list[bool], slope: float) -> None:
    """Theorem 1, from the score as its docstring states it, with the least penalty allowed."""
    i = len(bad)
    ruled_out = np.array([False, *bad])
    scores = slope * (np.arange(i + 1) - i) - 2 * slope * i * ruled_out
    winner = int(np.flatnonzero(~ruled_out)[-1])
    weights = np.exp(scores - scores.max())
    assert 1 - weights[winner] / weights.sum() <= exp(-slope) + 1e-12


def test_weights_that_do_not_meet_the_theorem_are_refused() -> None:
    t = lower(program_of("past"), "unbounded")
    with pytest.raises(VoidError, match="less than twice the slope"):
        Derived(scaled(t, "query", 0, 0.5))
    with pytest.raises(VoidError, match="do not fall by one slope"):
        Derived(scaled(t, "query", 1, 2.0))
    with pytest.raises(VoidError, match="do not fall by one slope"):
        Derived(scaled(scaled(t, "key", 1, -1.0), "key", 2, -1.0))
    assert Derived(scaled(t, "query", 0, 2.0)).kind("Latest").numbers["penalty"] == 16.0


def test_a_format_ends_where_positions_are_not_exact() -> None:
    kind = Derived(lower(program_of("past"), "unbounded")).kind("Latest")
    for name, form in FORMATS.items():
        held = 2 ** FORMATS[name].digits // 4  # 4·i is exact to here
        kind.bound(min(held // 4, 4000), form)
        with pytest.raises(VoidError):
            kind.bound(2**60, form)
