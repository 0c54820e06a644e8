"""Theorem 9: the score of At, and what leaks beside the position with the same code."""

from __future__ import annotations

from itertools import product
from math import ceil, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.program.draft import Draft
from softhat.program.heads import At
from softhat.program.inputs import PositionBit
from softhat.program.literals import TRUE
from softhat.transformer.lowering.heads.at import at_scores
from tests.transformer.lowering.heads.suite import logits, softmax, wiring

DIGITS = 4


@pytest.mark.parametrize("scaled", [False, True])
@given(n=st.integers(1, 15), back=st.integers(-3, 3))
def test_score_and_leak(n: int, back: int, scaled: bool) -> None:
    """The position `back` before, by its binary digits; a fifth digit says that it is one."""
    draft = Draft("a")
    keys = [draft.add(PositionBit(b, 1, 0, 0), f"i{b}") for b in range(DIGITS)]
    queries = [draft.add(PositionBit(b, 1, 0, -back), f"j{b}") for b in range(DIGITS)]
    head = At((*queries, TRUE), (*keys, TRUE), keys[0], "none", 15)
    program = draft.finish({"out": draft.add(head, "head")})
    made = at_scores(head, False, wiring(program, scaled))
    cost = 2 * ceil(log(64 * 15))
    assert made.beta == cost
    found = logits(made, program, np.zeros(n, np.int64), scaled, 1.0)

    def code(number: int) -> list[int]:
        return [max(number, 0) >> b & 1 for b in range(DIGITS)]

    best = cost / 2 * (DIGITS + 1)
    for i, j in product(range(1, n + 1), range(n + 2)):
        differ = sum(x != y for x, y in zip(code(i - back), code(j), strict=True))
        wanted = best - cost / 2 if j in (0, n + 1) else best - cost * differ
        assert found[i, j] == pytest.approx(wanted, abs=1e-9)
    for i in range(1, n + 1):
        weights = softmax(found[i])
        matches = [j for j in range(1, n + 1) if code(j) == code(i - back)]
        if matches:
            assert weights[matches].sum() >= 1 - n * exp(-cost) - 2 * exp(-cost / 2)
        else:
            assert weights[[0, n + 1]].sum() >= 1 - n * exp(-cost / 2)
