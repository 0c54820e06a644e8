"""The search for the longest length that is proved."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np
import pytest

from softhat.proof.lengths import _ends
from softhat.proof.longest import longest
from softhat.proof.softmax import Bound
from softhat.transformer.weights import scale

Hint = Callable[[float], Bound | None]


def high(error: float) -> Bound:
    return Bound(0.0, error, 0.0)


HINTS: tuple[Hint, ...] = (
    lambda left: high(1 / (1 + 3 * exp(left))),  # odds of e^-left to 3: a straight line
    lambda left: high(0.2 / (1 + left)),
    lambda left: high(0.25),
    lambda left: high(0.0),
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

        hint = HINTS[len(landmarks) % len(HINTS)]

        def ask(n: int, hint: Hint = hint, limit: float = limit) -> Bound | str | None:
            return "too large" if error(n) > limit else hint(9 * (limit - error(n)))

        first = next((n for n in range(1, upto + 1) if isinstance(ask(n), str)), None)
        found = longest(ask, upto, _ends(upto, scaled), landmarks, 8)
        assert found == (upto if first is None else first - 1)


@pytest.mark.parametrize("limit", [507435696293649, 7236584])
def test_errors_that_are_known_save_questions(limit: int) -> None:
    """What is off by e to the power of a straight line is found in half of the questions."""
    asked: list[list[int]] = []
    for hint in HINTS[0], HINTS[-1]:
        asked.append([])

        def ask(n: int, questions: list[int] = asked[-1], hint: Hint = hint) -> Bound | str | None:
            questions.append(n)
            return "too large" if n > limit else hint(8 * (limit - n + 1) / limit)

        assert longest(ask, 2**53, [2**53], [], 24) == limit
    assert 2 * len(set(asked[0])) < len(asked[1])
