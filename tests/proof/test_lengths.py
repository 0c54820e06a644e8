"""The search for a length, and the sums that are asked once for all lengths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import softhat
from softhat.models.model import Model
from softhat.proof import lengths
from softhat.proof.lengths import _ends, _search
from softhat.transformer.weights import scale
from tests.proof.aimed import MUTATIONS, originals, tampered_weights
from tests.proof.aimed_ledger import tampered_ledger


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
        found, why = _search(fails, upto, scaled, landmarks, digits=8)
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


@pytest.mark.parametrize("start", [0, pytest.param(1_000, marks=pytest.mark.full)])
def test_no_length_within_the_limit_fails(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search asks few lengths. Here every one to 60 is asked, and many beyond, of models that
    were tampered with so that bounds may behave otherwise than the search expects."""
    search = lengths._search

    def every(
        fails: Callable[[int], str | None],
        upto: int,
        scaled: bool,
        landmarks: list[int],
        digits: int,
    ) -> tuple[int, str]:
        limit, why = search(fails, upto, scaled, landmarks, digits)
        steps = np.geomspace(1, max(1, limit), 40).astype(np.int64).tolist()
        near = (limit // 2, limit // 2 + 1, limit - 2, limit - 1, limit)
        for n in {*range(1, 61), *steps, *near}:
            assert not 0 < n <= limit or fails(n) is None, (n, limit)
        return limit, why

    monkeypatch.setattr(lengths, "_search", every)
    models = list(originals(("unbounded", "temperature")))
    with np.errstate(all="ignore"):
        for seed in range(start, start + (40 if not start else 2_000)):
            rng = np.random.default_rng(seed)
            model = models[seed % len(models)]
            _, weights = (
                tampered_ledger(model.transformer, rng)
                if seed % 2
                else tampered_weights(model.transformer, rng, MUTATIONS)
            )
            heads = Model(weights, model.formulas).certificate.heads
            assert all(head.max_length for head in heads)  # each alone, as far as it goes
