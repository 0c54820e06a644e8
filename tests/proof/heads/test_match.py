"""Match and At: recognised by their weights, their leak in the reals, their error in formats."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.numerics.formats import FORMATS
from softhat.program.draft import Draft
from softhat.program.heads import At, Mask, Match, Selector
from softhat.program.inputs import PositionBit
from softhat.program.literals import TRUE
from softhat.program.signals import Program
from softhat.proof.heads.match import Selects, scores_fit
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention
from tests.proof.heads.suite import ATTENTIONS, Derived, outputs_within_bounds, scaled

MASKS: tuple[Mask, ...] = ("none", "<=", "<", ">=", ">")


def matching(mask: Mask) -> Program:
    """a reads from c, b from a: each value is agreed on because it is the category itself."""
    draft = Draft("abc")
    a, b, c = (draft.token([symbol]) for symbol in "abc")
    selector = Selector((a, b), (a, c), ((0, 1), (1, 0)), mask, 60)
    return draft.finish({"out": draft.add(Match(selector, c), "head")})


def at_distance(mask: Mask) -> Program:
    """The value two positions before, by binary digits of positions."""
    draft = Draft("ab")
    keys = tuple(draft.add(PositionBit(b, 1, 0, 0), f"i{b}") for b in range(6))
    queries = tuple(draft.add(PositionBit(b, 1, 0, -2), f"j{b}") for b in range(6))
    head = At((*queries, TRUE), (*keys, TRUE), draft.token(["a"]), mask, 60)
    return draft.finish({"out": draft.add(head, "head")})


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", ["Match", "At"])
def test_it_is_recognised(name: str, mask: Mask, attention: Attention) -> None:
    program = (matching if name == "Match" else at_distance)(mask)
    kind = Derived(lower(program, attention)).kind(name)
    assert isinstance(kind, Selects) and kind.mask == mask
    # β = 2⌈ln(64·60)⌉ = 18, and the proof ends where n·e^-9 passes 1/64.
    assert kind.gap == 18.0 and kind.min_gap == 9.0
    assert kind.reach == int(exp(9) / 64) >= 60


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_outputs_stay_within_the_bound(dtype: str, mask: Mask, attention: Attention) -> None:
    rng = np.random.default_rng(8)
    n = 60
    alone = np.array([0, *[1] * (n - 2), 2])
    words = [rng.integers(0, 3, n), alone, alone[::-1].copy(), np.zeros(n, np.int64)]
    outputs_within_bounds(matching(mask), attention, words, dtype)
    outputs_within_bounds(at_distance(mask), attention, [w % 2 for w in words], dtype)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 2), st.integers(4, 40))
def test_the_leak_in_the_reals(match: int, other: int, sinks: int, gap: int) -> None:
    """Theorem 7: w keys at b, the others at 0, the sinks at b/2."""
    kind = Selects("Match", "unbounded", "none", float(gap), float(gap), (), 1.0)
    found, none = kind.losers(match + other)
    winners = match * 1.0
    sink, rest = sinks * exp(-gap / 2), other * exp(-gap)
    if match:
        assert (sink + rest) / winners <= found + 1e-12
    else:
        assert other * exp(-gap / 2) / sinks <= none + 1e-12
    if match + other <= kind.reach:
        assert found <= kind.leak + 1e-12 and none <= 1 / 64 + 1e-12


def test_beyond_its_reach_nothing_is_proved() -> None:
    kind = Derived(lower(matching("none"), "unbounded")).kind("Match")
    assert isinstance(kind, Selects)
    form = FORMATS["float64"]
    kind.bound(kind.reach, form)
    with pytest.raises(VoidError, match="too many positions for its sharpness"):
        kind.bound(kind.reach + 1, form)


def test_the_sinks_stand_halfway() -> None:
    """Their row is the last one of the query."""
    t = lower(matching("none"), "unbounded")
    rows = t.layers[0].query.shape[1]
    with pytest.raises(VoidError, match="halfway between a match and the rest"):
        Derived(scaled(t, "query", rows - 1, 0.5))
    with pytest.raises(VoidError, match="different scores"):
        Derived(scaled(t, "query", 0, 0.5))


def test_scores_are_whole_and_representable() -> None:
    bfloat16, float32 = FORMATS["bfloat16"], FORMATS["float32"]
    scores_fit((1.0, 9.0), 18.0, 9.0, 1.0, bfloat16)
    scores_fit((1.0, 257.0), 18.0, 9.0, 1.0, float32)
    for size, grid in ((512.0, 256.0), (800.0, 40.0), (36.0 * 28, 36.0)):
        scores_fit((1.0,), size, grid, 1.0, bfloat16)
        multiples = np.arange(0.0, size + 1, grid)
        assert np.array_equal(bfloat16.load(multiples), multiples)
    for weights, size, grid, form in (
        ((1.0, 257.0), 18.0, 9.0, bfloat16),
        ((1.0,), 18.0, 9.5, float32),
        ((1.0,), 514.0, 2.0, bfloat16),
        ((1.0,), 257.0, 1.0, bfloat16),
        ((1.0,), 36.0 * 29, 36.0, bfloat16),
    ):
        with pytest.raises(VoidError, match="not representable"):
            scores_fit(weights, size, grid, 1.0, form)
