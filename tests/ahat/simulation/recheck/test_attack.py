"""The attack finds the worst word where all words can be tried."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.recheck.attack import attack
from softhat.ahat.simulation.recheck.definition import ExactDefinition
from softhat.ahat.simulation.recheck.files import Files
from softhat.ahat.simulation.recheck.tensors import Tensors


def test_the_worst_word_is_found(tmp_path: Path) -> None:
    softhat.simulate(GALLERY["induction-average"](), max_length=8).save(tmp_path / "m")
    files = Files(tmp_path / "m")
    model = Tensors(files, ExactDefinition(files.ahat))
    found = attack(model, 2, 8, 12, np.random.default_rng(0))
    everything = model.errors(list(itertools.product(range(2), repeat=8)))
    assert model.errors(found).max() >= 0.9 * everything.max()
