"""Theorem 5: equal scores are the mean over what the mask shows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from softhat.program.draft import Draft
from softhat.program.evaluate import evaluate
from softhat.program.heads import Average, Range
from softhat.program.signals import Number
from softhat.transformer.lowering.heads.average import average_scores
from tests.transformer.lowering.heads.suite import logits, softmax, words


@pytest.mark.parametrize("over", ["past", "future", "total"])
@given(word=words)
def test_a_mean_over_its_range(word: NDArray[np.int64], over: Range) -> None:
    draft = Draft("ab")
    a = draft.token(["a"])
    head = Average(((3, a.signal), (-1, -1)), over)
    at = draft.add(head, "mean").signal
    program = draft.finish({}, {"mean": Number(((Fraction(1), at),), Fraction(0))})
    found = logits(average_scores(head), program, word, False, 1.0)
    n = len(word)
    values = np.array([0.0, *(3.0 * (word == 0) - 1.0), 0.0])
    for i in range(1, n + 1):
        seen = {"past": range(i + 1), "future": range(i, n + 2), "total": range(n + 2)}[over]
        assert softmax(found[i]) @ values == pytest.approx(sum(values[j] for j in seen) / len(seen))
        assert sum(values[j] for j in seen) == evaluate(program, word)[at][i - 1]
