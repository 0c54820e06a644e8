"""Rows with one winner: bounded in batches as they would be one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from softhat.ahat.bounds import set_rows, single_winners
from softhat.ahat.bounds.sets import SetBounds
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.lengths import Lengths
from tests.ahat.models import random_program


@pytest.mark.parametrize("stored", [0, 12_000_000])
def test_the_size_of_batches_plays_no_part(stored: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(8)
    models = [GALLERY["induction-latest"](), *(random_program(rng) for _ in range(8))]
    for model in models:
        lengths = Lengths(model)
        sets = lengths.sets(4)
        if not sets.complete:
            continue
        betas = {name: 3.0 + k for k, name in enumerate(model.heads)}
        large = SetBounds(lengths._plan, sets).errors(betas)
        monkeypatch.setattr(single_winners, "_BATCH", 7)
        monkeypatch.setattr(set_rows, "_MOST_STORED", stored)
        bounds = SetBounds(lengths._plan, sets)
        for _ in range(2):  # what is stored gives the same again
            small = bounds.errors(betas)
            assert small.error == pytest.approx(large.error, rel=1e-8, abs=1e-12)
            assert small.leaks == pytest.approx(large.leaks, rel=1e-8, abs=1e-12)
            bounds._known.clear()
        monkeypatch.undo()


def test_layers_below_are_not_bounded_again_unless_their_temperature_changes() -> None:
    model = GALLERY["induction-latest"]()
    lengths = Lengths(model)
    sets = lengths.sets(6)
    bounds = SetBounds(lengths._plan, sets)
    rng = np.random.default_rng(4)
    for _ in range(8):
        betas = {(0, 0): float(rng.choice([4.0, 8.0])), (1, 0): float(rng.choice([50.0, 90.0]))}
        assert bounds.errors(betas) == SetBounds(lengths._plan, sets).errors(betas)
