"""Theorem 1: the score of Latest, and that all but e^-C is on the last position not ruled out."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from softhat.program.draft import Draft
from softhat.program.heads import Direction, Latest
from softhat.transformer.lowering.heads.latest import latest_scores
from tests.transformer.lowering.heads.suite import (
    logits,
    scale,
    sharpnesses,
    softmax,
    wiring,
    words,
)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("direction", ["past", "future"])
@given(word=words, c=sharpnesses)
def test_score_and_leak(
    word: NDArray[np.int64], c: float, direction: Direction, scaled: bool
) -> None:
    draft = Draft("ab")
    bad = draft.token(["a"])
    head = Latest(bad, draft.token(["b"]), direction)
    program = draft.finish({"out": draft.add(head, "head")})
    made = latest_scores(head, c, wiring(program, scaled))
    n = len(word)
    found = logits(made, program, word, scaled, c)
    past = direction == "past"
    ruled_out = [False, *(word == 0).tolist(), False]
    for i in range(1, n + 1):
        seen = range(i + 1) if past else range(i, n + 2)
        here = i if past else n + 1 - i
        for j in seen:
            away = abs(j - i)
            sink = j in (0, n + 1)  # 0 away from the word, as i and r are there
            distance = here if sink else away
            penalty = 2 * (scale(n) if scaled else here) * ruled_out[j]
            assert found[i, j] == pytest.approx(-c * (distance + penalty), abs=1e-9)
        nearest = reversed(seen) if past else iter(seen)
        winner = next(j for j in nearest if not ruled_out[j])
        assert softmax(found[i])[winner] >= 1 - exp(-c) - 1e-12


def test_the_leak_is_nearly_reached() -> None:
    """By a long word of candidates."""
    draft = Draft("ab")
    head = Latest(draft.token(["a"]), draft.token(["b"]), "past")
    program = draft.finish({"out": draft.add(head, "head")})
    made = latest_scores(head, 1.0, wiring(program, False))
    weights = softmax(logits(made, program, np.ones(30, np.int64), False, 1.0)[30])
    assert 1 - weights[30] == pytest.approx(exp(-1), rel=1e-9)
