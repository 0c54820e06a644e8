"""Theorem 8: the sinks' share of attention says how many keys match."""

from __future__ import annotations

from math import ceil, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softhat.program.draft import Draft
from softhat.program.gates import Steps
from softhat.program.heads import Mask, Selector, Width
from softhat.transformer.lowering.heads.width import width_scores
from tests.transformer.lowering.heads.suite import logits, softmax, wiring

words = st.lists(st.integers(0, 1), min_size=1, max_size=12).map(np.array)


@pytest.mark.parametrize("mask", ["none", "<=", "<", ">=", ">"])
@given(word=words)
def test_the_share_of_the_sinks(word: NDArray[np.int64], mask: Mask) -> None:
    """a selects a, b selects a too."""
    draft = Draft("ab")
    a, b = draft.token(["a"]), draft.token(["b"])
    selector = Selector((a, b), (a,), ((0, 0), (1, 0)), mask, 12)
    width = draft.add(Width(selector), "width").signal
    program = draft.finish({"out": draft.add(Steps(width, (1,)), "some")})
    made = width_scores(selector, wiring(program, False))
    beta = ceil(log(64 * 12))
    assert made.beta == beta
    found = logits(made, program, word, False, 1.0)
    n = len(word)
    for i in range(1, n + 1):
        seen = np.flatnonzero(found[i] > -np.inf)
        sinks = [j for j in seen if j in (0, n + 1)]
        w = sum(1 for j in seen if 1 <= j <= n and word[j - 1] == 0)
        share = softmax(found[i])[sinks].sum()
        s = len(sinks)
        epsilon = s / share - s - w
        assert -1e-9 <= epsilon <= n * exp(-beta) + 1e-9 <= 1 / 64 + 1e-9
