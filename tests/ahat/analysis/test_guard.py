"""A law that words refute is never printed: the guard says so, and honest models pass it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import softhat
from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.analysis.guard import RefutedError, hold_against, ties_are_broken
from softhat.ahat.analysis.tally import row_tally
from softhat.ahat.gallery import GALLERY
from softhat.numbers.laws import as_law
from tests.ahat.models import random_deep


def test_a_law_above_a_gap_is_refuted() -> None:
    laws, tally = gap_laws(GALLERY["last-token"]()), row_tally(GALLERY["last-token"](), 3, 1e-3)
    hold_against(laws, tally)
    bold = replace(laws, gap={name: as_law(1000) for name in laws.gap})
    with pytest.raises(RefutedError, match="gap of"):
        hold_against(bold, tally)


def test_ties_where_none_were_promised_are_refuted() -> None:
    model = GALLERY["induction-average"]()
    laws, tally = gap_laws(model), row_tally(model, 3, 1e-3)
    hold_against(laws, tally)
    with pytest.raises(RefutedError, match="several maximal keys"):
        hold_against(replace(laws, tieless=dict.fromkeys(laws.tieless, True)), tally)


def test_rows_that_should_be_uniform_and_are_not_are_refuted() -> None:
    model = GALLERY["last-token"]()
    laws, tally = gap_laws(model), row_tally(model, 3, 1e-3)
    with pytest.raises(RefutedError, match="not uniform"):
        hold_against(replace(laws, gap=dict.fromkeys(laws.gap)), tally)


def test_a_unique_head_whose_ties_are_not_broken_is_refuted() -> None:
    ties = next(
        model
        for seed in range(100)
        for model in [random_deep(random.Random(seed))]
        if any(head.ties != "average" for layer in model.layers for head in layer.heads)
        and not gap_laws(model).uniform_tieless
        and any(
            row_tally(model, 3, 1e-3).several[l, h]
            for l, h in model.heads
            if model.layers[l].heads[h].ties != "average"
        )
    )
    with pytest.raises(RefutedError):
        ties_are_broken(row_tally(ties, 3, 1e-3))


@pytest.mark.parametrize("seed", range(12))
def test_no_analysis_prints_a_law_above_its_gap(seed: int) -> None:
    found = softhat.analyze(random_deep(random.Random(seed)), up_to=4)
    for name, law in found.gap_law.items():
        for n, gaps in found.gaps.items():
            assert law is None or law.at(n) <= gaps[name]
