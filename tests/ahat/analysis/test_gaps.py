"""Proved gaps: never above the measured ones, exact for first-layer heads."""

from __future__ import annotations

import random

import pytest

from softhat.ahat.analysis.gaps import proved_gaps
from softhat.ahat.analysis.tally import row_tally
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from tests.ahat.models import random_deep, random_model, random_program, random_tieless
from tests.slices import sizes


def compare(model: AHAT, n: int) -> tuple[int, int]:
    """(heads proved equal, heads proved); fails if a proof is above the truth."""
    proof = proved_gaps(model, n)
    truth = row_tally(model, n, 1e-3)
    equal = 0
    for name, gap in proof.gaps.items():
        assert gap <= truth.gaps[n][name]
        assert proof.may_tie[name] or truth.rows[n][name][2] == 0
        assert proof.critical_beta[name] >= truth.betas[n][name] * (1 - 1e-9)
        equal += gap == truth.gaps[n][name]
        if name[0] == 0:  # exact over all words
            assert gap == truth.gaps[n][name]
            assert proof.may_tie[name] == (truth.rows[n][name][2] > 0)
            assert proof.critical_beta[name] == pytest.approx(truth.betas[n][name], rel=1e-9)
    return equal, len(proof.gaps)


def random_models(seed: int, count: int) -> list[AHAT]:
    rng = random.Random(seed)
    makers = [random_model, random_program, random_tieless, random_deep]
    return [makers[k % 4](rng) for k in range(count)]


@pytest.mark.parametrize("count", sizes(40, 156))
def test_random_models(count: int) -> None:
    equal = total = models = 0
    for k, model in enumerate(random_models(11, count)):
        found, proved = compare(model, 2 + k % 3)
        equal, total, models = equal + found, total + proved, models + (proved > 0)
    assert models >= 0.96 * count
    assert equal >= 0.85 * total


@pytest.mark.full
def test_more_random_models() -> None:
    equal = total = 0
    for k, model in enumerate(random_models(12, 600)):
        found, proved = compare(model, 2 + k % 4)
        equal, total = equal + found, total + proved
    assert equal >= 0.85 * total


def test_first_layers_at_64() -> None:
    for name, gap in {"previous-token": 1, "histogram": 1, "last-token": 1 / 64}.items():
        proof = proved_gaps(GALLERY[name](), 64)
        assert proof.complete
        assert float(proof.gaps[0, 0]) == gap


def test_too_large_sets_say_so() -> None:
    proof = proved_gaps(GALLERY["dyck-uniform"](), 40)
    assert not proof.complete
    assert "layer 1" in proof.reason
    assert (0, 0) in proof.gaps  # what could be proved is there
