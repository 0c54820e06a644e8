"""The search for the longest length that is proved."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np
import pytest

from softhat.proof.lengths import _ends
from softhat.proof.longest import longest
from softhat.transformer.weights import scale

Hint = Callable[[float], float | None]
HINTS: tuple[Hint, ...] = (
    lambda left: 1 / (1 + 3 * exp(left)) if left > 0 else None,  # odds of e^-left to 3
    lambda left: 0.2 / (1 + left) if left > 0 else None,
    lambda left: 0.25,
    lambda left: 0.0,
    lambda left: None,
)


@pytest.mark.parametrize("scaled", [True, False])
def test_the_search_finds_the_first_failure(scaled: bool) -> None:
    """Of bounds that grow while P is the same, judged length by length."""
    rng = np.random.default_rng(7)
    landmarks = [3]
    attention = "temperature" if scaled else "unbounded"
    for _ in range(200):
        upto = int(rng.integers(1, 600))
        drop = rng.uniform(0, 2, 12) if scaled else np.zeros(12)

        def error(n: int, drop: np.ndarray = drop) -> float:
            return n / 400 - float(drop[scale(attention, n).bit_length()])

        limit = float(rng.uniform(-1, 1))

        def fails(n: int, limit: float = limit) -> str | None:
            return "too large" if error(n) > limit else None

        def hint(
            n: int, k: int = len(landmarks) % len(HINTS), limit: float = limit
        ) -> float | None:
            return HINTS[k](9 * (limit - error(n)))

        first = next((n for n in range(1, upto + 1) if fails(n)), None)
        found = longest(fails, upto, _ends(upto, scaled), landmarks, 8, hint)
        assert found == (upto if first is None else first - 1)


@pytest.mark.parametrize("limit", [507435696293649, 7236584])
def test_errors_that_are_known_save_questions(limit: int) -> None:
    """What is off by e to the power of a straight line is found in half of the questions."""
    asked: list[list[int]] = []
    for hint in HINTS[0], HINTS[-1]:
        asked.append([])

        def fails(n: int, questions: list[int] = asked[-1]) -> str | None:
            questions.append(n)
            return "too large" if n > limit else None

        def error(n: int, hint: Hint = hint) -> float | None:
            return hint(8 * (limit - n + 1) / limit)

        assert longest(fails, 2**53, [2**53], [], 24, error) == limit
    assert 2 * len(asked[0]) < len(asked[1])
