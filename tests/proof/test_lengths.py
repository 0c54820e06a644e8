"""The search for a length, and the sums that are asked once for all lengths."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.proof import lengths
from softhat.proof.lengths import _ends, _search
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
        found, why = _search(fails, upto, scaled, landmarks)
        assert found == (upto if first is None else first - 1)
        assert why == (lengths.CONSIDERED if first is None else "too large")


def test_every_length_has_an_end_with_the_same_scale_behind_it() -> None:
    for upto in (1, 2, 3, 6, 7, 100, 1000):
        ends = list(_ends(upto, True))
        for n in range(1, upto + 1):
            assert any(n <= end <= upto and _scale(end) == _scale(n) for end in ends)


def _scale(n: int) -> int:
    return scale("temperature", n)


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
def test_asking_once_for_all_lengths_changes_nothing(
    attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    formulas = ["(a S b) S c & Y a", "#(a) >= #(b) | !c S a", "F (a & X b) & 2*#(a) > i"]

    def certified() -> list[dict[str, int]]:
        made = [softhat.compile(f, alphabet="abc", attention=attention) for f in formulas]
        return [dict(model.certificate.max_length) for model in made]

    found = certified()
    monkeypatch.setattr(lengths.Report, "_worst", lambda self, kind, form, upto: "not asked")
    assert certified() == found
