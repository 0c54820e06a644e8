"""Lengths: what the search says is asked again, and sums are asked once for all lengths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import softhat
from softhat.models.model import Model
from softhat.proof import lengths, longest
from softhat.proof.lengths import _ends
from softhat.proof.softmax import Bound
from softhat.transformer.weights import scale
from tests.proof.aimed import MUTATIONS, originals, tampered_weights
from tests.proof.aimed_ledger import tampered_ledger


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


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
def test_a_search_that_says_too_much_is_not_believed(
    attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def certified() -> dict[str, int]:
        model = softhat.compile("(a S b) S c & #(a) > i", alphabet="abc", attention=attention)
        return dict(model.certificate.max_length)

    right = certified()
    search = longest.longest
    for beyond in (1, 1 << 20, 1 << 60):
        monkeypatch.setattr(longest, "longest", lambda *all, more=beyond: search(*all) + more)
        assert all(0 <= n <= right[dtype] for dtype, n in certified().items())


@pytest.mark.parametrize("start", [0, pytest.param(1_000, marks=pytest.mark.full)])
def test_no_length_within_the_limit_fails(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search asks few lengths. Here every one to 60 is asked, and many beyond, of models that
    were tampered with so that bounds may behave otherwise than the search expects."""
    search = longest.longest

    def every(ask: Callable[[int], Bound | str | None], *others: object) -> int:
        limit = search(ask, *others)
        steps = np.geomspace(1, max(1, limit), 40).astype(np.int64).tolist()
        near = (limit // 2, limit // 2 + 1, limit - 2, limit - 1, limit)
        for n in {*range(1, 61), *steps, *near}:
            assert not 0 < n <= limit or not isinstance(ask(n), str), (n, limit)
        return limit

    monkeypatch.setattr(longest, "longest", every)
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
