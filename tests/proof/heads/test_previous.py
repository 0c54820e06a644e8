"""Previous: recognised by its weights, its leak in the reals, its error in number formats."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.numerics.formats import FORMATS
from softhat.program.heads import Direction
from softhat.program.heads import Previous as PreviousHead
from softhat.program.signals import Program
from softhat.proof.heads.previous import PreviousKind
from softhat.proof.scores import Scores
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention
from tests.proof.heads.suite import ATTENTIONS, Derived, one_head, outputs_within_bounds, scaled

NAMES: dict[Direction, str] = {"past": "Previous", "future": "Next"}


def program_of(direction: Direction) -> Program:
    return one_head(lambda a, *_: PreviousHead(a, direction), "ab")


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("direction", NAMES)
def test_it_is_recognised(direction: Direction, attention: Attention) -> None:
    kind = Derived(lower(program_of(direction), attention)).kind(NAMES[direction])
    assert isinstance(kind, PreviousKind)
    assert kind.numbers == {"slope": 4.0, "offset": 8.0, "alternation": 8.0}
    assert kind.min_gap == 8.0
    assert kind.leak == pytest.approx((exp(-8) + exp(-12)) / (1 - exp(-8)))


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("direction", NAMES)
@pytest.mark.parametrize("dtype", FORMATS)
def test_outputs_stay_within_the_bound(
    direction: Direction, attention: Attention, dtype: str
) -> None:
    rng = np.random.default_rng(5)
    words = [rng.integers(0, 2, 30), np.zeros(30, np.int64), np.arange(30) % 2, np.arange(31) % 2]
    outputs_within_bounds(program_of(direction), attention, words, dtype)


@given(st.integers(1, 25), st.floats(0.5, 6), st.floats(0.01, 6))
def test_the_leak_in_the_reals(i: int, slope: float, more: float) -> None:
    """Theorem 3, from the score as its docstring states it: 2·A1 > B is all it needs."""
    alternation = slope / 2 + more
    kind = PreviousKind("past", Scores("unbounded", 1.0, ()), slope, 0.0, alternation)
    scores = np.array([slope * (j - i) - alternation * (-1) ** (i + j) for j in range(i + 1)])
    weights = np.exp(scores - scores.max())
    assert scores.argmax() == i - 1
    losers = (weights.sum() - weights[i - 1]) / weights[i - 1]
    assert losers <= kind.leak + 1e-12
    if i > 1:
        assert np.sort(scores)[-1] - np.sort(scores)[-2] >= kind.min_gap - 1e-9


def test_weights_that_do_not_meet_the_theorem_are_refused() -> None:
    t = lower(program_of("past"), "unbounded")
    with pytest.raises(VoidError, match="own parity are not ruled out"):
        Derived(scaled(t, "query", 2, 0.25))
    with pytest.raises(VoidError, match="do not fall by one slope"):
        Derived(scaled(t, "query", 0, 2.0))
    assert Derived(scaled(t, "query", 2, 2.0)).kind("Previous").numbers["alternation"] == 16.0
