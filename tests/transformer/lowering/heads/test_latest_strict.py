"""Theorem 2: StrictLatest has Latest's scores over j < i, and leaks no more."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from softhat.program.draft import Draft
from softhat.program.heads import Direction, Latest, StrictLatest
from softhat.transformer.lowering.heads.latest import latest_scores
from tests.transformer.lowering.heads.suite import logits, sharpnesses, softmax, wiring, words


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("direction", ["past", "future"])
@given(word=words, c=sharpnesses)
def test_score_and_leak(
    word: NDArray[np.int64], c: float, direction: Direction, scaled: bool
) -> None:
    draft = Draft("ab")
    bad, value = draft.token(["a"]), draft.token(["b"])
    head = StrictLatest(bad, value, direction)
    program = draft.finish({"out": draft.add(head, "head")})
    made = latest_scores(head, c, wiring(program, scaled))
    loose = latest_scores(Latest(bad, value, direction), c, wiring(program, scaled))
    found = logits(made, program, word, scaled, c)
    weak = logits(loose, program, word, scaled, c)
    n = len(word)
    past = direction == "past"
    ruled_out = [False, *(word == 0).tolist(), False]
    for i in range(1, n + 1):
        seen = list(range(i - 1, -1, -1) if past else range(i + 1, n + 2))
        assert np.array_equal(found[i][seen], weak[i][seen])
        assert sorted(seen) == np.flatnonzero(found[i] > -np.inf).tolist()
        winner = next(j for j in seen if not ruled_out[j])
        assert softmax(found[i])[winner] >= 1 - exp(-c) - 1e-12
