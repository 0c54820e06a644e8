"""Theorem 3: the score of Previous, and what leaks beside the position before."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.program.draft import Draft
from softhat.program.heads import Direction, Previous
from softhat.transformer.lowering.heads.previous import previous_scores
from tests.transformer.lowering.heads.suite import Array, logits, sharpnesses, softmax, wiring


def scores_of(n: int, c: float, direction: Direction, scaled: bool) -> Array:
    draft = Draft("a")
    head = Previous(draft.token(["a"]), direction)
    program = draft.finish({"out": draft.add(head, "head")})
    made = previous_scores(head, c, wiring(program, scaled))
    return logits(made, program, np.zeros(n, np.int64), scaled, c)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("direction", ["past", "future"])
@given(n=st.integers(1, 15), c=sharpnesses)
def test_score_and_leak(n: int, c: float, direction: Direction, scaled: bool) -> None:
    found = scores_of(n, c, direction, scaled)
    past = direction == "past"
    leak = (exp(-2 * c) + exp(-3 * c)) / (1 - exp(-2 * c))
    for i in range(1, n + 1):
        seen = range(i + 1) if past else range(i, n + 2)
        for j in seen:
            wanted = -c * (abs(j - i) + 2 * (1 + (-1) ** (i + j)))
            assert found[i, j] == pytest.approx(wanted, abs=1e-9)
        winner = i - 1 if past else i + 1
        assert 1 - softmax(found[i])[winner] <= leak + 1e-12


def test_the_leak_is_of_that_size() -> None:
    c = 1.0
    losers = softmax(scores_of(40, c, "past", False)[40])
    leak = (exp(-2 * c) + exp(-3 * c)) / (1 - exp(-2 * c))
    assert (1 - losers[39]) / losers[39] == pytest.approx(leak, rel=1e-9)
