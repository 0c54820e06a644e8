"""The error of a softmax in a number format: no set of scores and values is further off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.numerics.formats import FORMATS
from softhat.proof.softmax import EXACT, Bound, Ladder, checked, one_winner, softmax


def computed(gaps: np.ndarray, bits: np.ndarray, dtype: str) -> float:
    """Weighted mean of bits as the dense runtime takes it: weights e^-gap are stored, sums are
    taken in float32 (float64), divided, stored."""
    form = FORMATS[dtype]
    weights = np.exp(-gaps.astype(form.accumulate)).astype(form.accumulate)
    weights = weights.astype(form.storage).astype(form.accumulate)
    above, below = form.accumulate(0), form.accumulate(0)
    for weight, bit in zip(weights, bits, strict=True):
        above, below = above + weight * bit, below + weight
    return float(np.asarray(above / below).astype(form.storage))


@pytest.mark.parametrize("dtype", FORMATS)
@given(data=st.data())
def test_no_output_is_further_off(dtype: str, data: st.DataObject) -> None:
    gaps = np.array(data.draw(st.lists(st.floats(1.5, 30), min_size=0, max_size=30)))
    winner = data.draw(st.booleans())
    losers = float(np.exp(-gaps).sum())
    form = FORMATS[dtype]
    bound = softmax(losers, losers, len(gaps) + 1.0, (len(gaps) + 1) * form.held.normal, form)
    # The worst case: every loser says the opposite.
    bits = np.array([winner, *[not winner] * len(gaps)])
    found = computed(np.array([0.0, *gaps]), bits, dtype)
    if winner:
        assert 1 - found <= bound.low
    else:
        assert found <= bound.high
    alike = computed(np.array([0.0, *gaps]), np.ones(len(gaps) + 1), dtype)
    assert alike <= 1 + bound.over


@pytest.mark.parametrize("dtype", FORMATS)
@given(st.floats(0, 0.1), st.floats(0, 0.1))
def test_more_leak_is_never_a_smaller_bound(dtype: str, leak: float, more: float) -> None:
    form = FORMATS[dtype]
    less, worse = (softmax(x, x, 10.0, 0.0, form) for x in (leak, leak + more))
    assert less.low <= worse.low and less.high <= worse.high


def test_a_quarter_is_the_most() -> None:
    """Gates tell 0 from 1 with a clip between 1/4 and 3/8."""
    assert checked(EXACT) is EXACT
    assert checked(Bound(0.25, 0.25, 0.0)) == Bound(0.25, 0.25, 0.0)
    for wrong in (Bound(0.26, 0.0, 0.0), Bound(0.0, 0.26, 0.0)):
        with pytest.raises(VoidError, match="exceeds 1/4"):
            checked(wrong)


@pytest.mark.parametrize("dtype", FORMATS)
@given(slope=st.floats(1.5, 12), off=st.floats(0, 0.5), keys=st.integers(1, 60))
def test_a_ladder_bounds_its_keys(dtype: str, slope: float, off: float, keys: int) -> None:
    """Every loser comes as near as its ladder allows, and says the opposite."""
    form = FORMATS[dtype]
    fact = one_winner((Ladder(slope, slope, off),), keys, form, hard=False)
    gaps = slope * np.arange(1, keys + 1) - off
    assert float(np.exp(-gaps).sum()) <= fact.yes * (1 + 1e-12)
    assert np.count_nonzero(gaps < form.visible) + 1 <= fact.seen
    found = computed(np.array([0.0, *gaps]), np.array([1.0, *[0.0] * keys]), dtype)
    try:
        assert 1 - found <= fact.bound(form).low
    except VoidError:
        assert slope < 3


def test_rows_without_losers_are_exact_and_coarse_scores_prove_nothing() -> None:
    form = FORMATS["float32"]
    near = Ladder(4.0, 4.0, 3.9)
    assert one_winner((near,), 10, form, hard=True).bound(form) is EXACT
    with pytest.raises(VoidError, match="rounded together"):
        one_winner((near,), 10, form, hard=False)
    with pytest.raises(VoidError, match="rounded together"):
        one_winner((Ladder(4.0, 4.0, 4.0),), 10, form, hard=True)
    alone = Ladder(5.0, float("inf"), 0.0)
    assert alone.seen(form) == 1 and alone.weight() == np.exp(-5.0)
