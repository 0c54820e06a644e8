"""Theorem 4: the score of Shift, and what leaks beside the position at its distance."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.program.draft import Draft
from softhat.program.heads import Direction, Shift
from softhat.transformer.lowering.heads.shift import shift_scores
from tests.transformer.lowering.heads.suite import logits, scale, sharpnesses, softmax, wiring


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("direction", ["past", "future"])
@given(n=st.integers(1, 16), distance=st.integers(2, 5), more=st.integers(0, 3), c=sharpnesses)
def test_score_and_leak(
    n: int, distance: int, more: int, c: float, direction: Direction, scaled: bool
) -> None:
    """Another Shift of the program may make the common modulus larger."""
    draft = Draft("a")
    a = draft.token(["a"])
    head = Shift(a, distance, direction)
    bits = {"out": draft.add(head, "head")}
    if more:
        bits["far"] = draft.add(Shift(a, distance + more, "past"), "far")
    program = draft.finish(bits)
    made = shift_scores(head, c, wiring(program, scaled))
    found = logits(made, program, np.zeros(n, np.int64), scaled, c)
    m = distance + more + 1
    past = direction == "past"
    penalty = 2 * scale(n) if scaled else distance + 3
    far = exp(-m * c) / (1 - exp(-m * c))
    leak = exp(-c) + exp(-3 * c) / (1 - exp(-c)) + far
    for i in range(1, n + 1):
        wanted = i - distance if past else i + distance
        for j in range(i + 1) if past else range(i, n + 2):
            wrong = 1 <= j <= n and (j - wanted) % m != 0
            assert found[i, j] == pytest.approx(-c * (abs(j - i) + penalty * wrong), abs=1e-9)
        winner = min(max(wanted, 0), n + 1)
        weights = softmax(found[i])
        assert (1 - weights[winner]) / weights[winner] <= leak + 1e-12
