"""Theorem 7: the score of Match, and what leaks where keys match and where none does."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softhat.program.draft import Draft
from softhat.program.heads import Mask, MatchMean, Selector
from softhat.program.signals import Number
from softhat.transformer.lowering.heads.match import match_scores, sharp, table_pairs
from tests.transformer.lowering.heads.suite import logits, softmax, wiring

tables = st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1).map(sorted).map(tuple)
words = st.lists(st.integers(0, 2), min_size=1, max_size=10).map(np.array)


@pytest.mark.parametrize("mask", ["none", "<=", "<", ">=", ">"])
@given(word=words, table=tables)
def test_score_and_leak(
    word: NDArray[np.int64], table: tuple[tuple[int, int], ...], mask: Mask
) -> None:
    draft = Draft("abc")
    categories = tuple(draft.token([symbol]) for symbol in "abc")
    selector = Selector(categories, categories, table, mask, 10)
    mean = draft.add(MatchMean(selector, ((1, categories[0].signal),)), "mean").signal
    program = draft.finish({}, {"mean": Number(((Fraction(1), mean),), Fraction(0))})
    n = len(word)
    made = match_scores(selector, False, wiring(program, False))
    beta = 2 * ceil(log(64 * 10))
    assert made.beta == beta and made.mask == mask
    found = logits(made, program, word, False, 1.0)
    for i in range(1, n + 1):
        seen = np.flatnonzero(found[i] > -np.inf)
        matches = [j for j in seen if 1 <= j <= n and (word[i - 1], word[j - 1]) in table]
        for j in seen:
            sink = j in (0, n + 1)
            assert found[i, j] == pytest.approx(beta * (0.5 if sink else j in matches), abs=1e-9)
        weights = softmax(found[i])
        if matches:
            leak = (n - len(matches)) * exp(-beta) + 2 * exp(-beta / 2)
            assert weights[matches] == pytest.approx(1 / len(matches), abs=leak)
            assert weights[matches].sum() >= 1 - leak
        else:
            sinks = [j for j in seen if j in (0, n + 1)]
            assert weights[sinks].sum() >= 1 - n * exp(-beta / 2)
            assert n * exp(-beta / 2) <= 1 / 64


@given(table=tables)
def test_keys_with_the_same_partners_share_a_row(table: tuple[tuple[int, int], ...]) -> None:
    draft = Draft("abcd")
    categories = tuple(draft.token([symbol]) for symbol in "abc")
    selector = Selector(categories, categories, table, "none", 4)
    mean = draft.add(MatchMean(selector, ((1, categories[0].signal),)), "mean").signal
    program = draft.finish({}, {"mean": Number(((Fraction(1), mean),), Fraction(0))})
    columns = {tuple(sorted(q for q, k in table if k == at)) for at in range(3)} - {()}
    rows = {tuple(sorted(k for q, k in table if q == at)) for at in range(3)} - {()}
    assert len(table_pairs(selector, wiring(program, False))) == min(len(columns), len(rows))


@given(longest=st.integers(1, 10**9), wide=st.booleans())
def test_sharp_is_the_least_integer_that_suffices(longest: int, wide: bool) -> None:
    least = sharp(longest, wide)
    share = 4096 if wide else 64
    assert longest * exp(-least) <= 1 / share * (1 + 1e-9)
    assert longest * exp(-(least - 1)) >= 1 / share * (1 - 1e-9)
