"""Shift: recognised by its residues, its leak in the reals, its error in number formats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.numerics.formats import FORMATS
from softhat.program.heads import Direction
from softhat.program.heads import Shift as ShiftHead
from softhat.program.signals import Program
from softhat.proof.heads.shift import ShiftKind
from softhat.proof.scores import Scores
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention
from tests.proof.heads.suite import ATTENTIONS, Derived, one_head, outputs_within_bounds, scaled

NAMES: dict[Direction, str] = {"past": "Shift", "future": "ShiftAhead"}


def program_of(direction: Direction, distance: int = 3) -> Program:
    return one_head(lambda a, *_: ShiftHead(a, distance, direction), "ab")


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("direction", NAMES)
def test_it_is_recognised(direction: Direction, attention: Attention) -> None:
    kind = Derived(lower(program_of(direction), attention)).kind(NAMES[direction])
    assert isinstance(kind, ShiftKind)
    assert (kind.slope, kind.distance, kind.modulus) == (4.0, 3, 4)
    assert kind.penalty == (24.0 if attention == "unbounded" else 8.0)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("direction", NAMES)
@pytest.mark.parametrize("dtype", FORMATS)
def test_outputs_stay_within_the_bound(
    direction: Direction, attention: Attention, dtype: str
) -> None:
    rng = np.random.default_rng(6)
    words = [rng.integers(0, 2, 30), np.zeros(30, np.int64), (np.arange(30) % 4 > 0) * 1]
    outputs_within_bounds(program_of(direction), attention, words, dtype)


@given(st.integers(1, 25), st.integers(1, 5), st.integers(1, 3), st.floats(0.5, 5))
def test_the_leak_in_the_reals(i: int, c: int, more: int, slope: float) -> None:
    """Theorem 4, from the score as its docstring states it, with the least penalty allowed."""
    m, penalty = c + more, (c + 2) * slope
    kind = ShiftKind("past", Scores("unbounded", 1.0, ()), slope, penalty, c, m)
    wrong = np.array([j > 0 and (j - (i - c)) % m != 0 for j in range(i + 1)])
    scores = slope * (np.arange(i + 1) - i) - penalty * wrong
    weights = np.exp(scores - scores.max())
    winner = max(i - c, 0)
    assert scores.argmax() == winner
    assert (weights.sum() - weights[winner]) / weights[winner] <= kind.leak + 1e-12


def test_weights_that_do_not_meet_the_theorem_are_refused() -> None:
    t = lower(program_of("past"), "unbounded")
    with pytest.raises(VoidError, match="do not all lose the same"):
        Derived(scaled(t, "query", 2, 2.0))
    weak = t
    for row in range(2, 6):
        weak = scaled(weak, "query", row, 0.5)
    with pytest.raises(VoidError, match="are not ruled out"):
        Derived(weak)
    with pytest.raises(VoidError, match=r"no kind of head has|do not all lose"):
        Derived(scaled(t, "key", 2, -1.0))
