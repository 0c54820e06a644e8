"""The search for the longest length that is proved."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.proof.lengths import _ends
from softhat.proof.longest import longest
from softhat.transformer.weights import scale


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

        first = next((n for n in range(1, upto + 1) if fails(n)), None)
        found = longest(fails, upto, _ends(upto, scaled), landmarks, digits=8)
        assert found == (upto if first is None else first - 1)
