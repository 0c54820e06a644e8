"""The re-check's softmax evaluator: softmax in float64 nearby, hard attention the definition's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.recheck.definition import ExactDefinition
from softhat.ahat.simulation.recheck.files import Files
from softhat.ahat.simulation.recheck.tensors import Tensors


@pytest.mark.parametrize("name", ["induction-average", "dyck-argmin", "previous-token"])
def test_soft_and_hard_values(name: str, tmp_path: Path) -> None:
    simulation = softhat.simulate(GALLERY[name](), max_length=6)
    simulation.save(tmp_path / "m")
    files = Files(tmp_path / "m")
    exact = ExactDefinition(files.ahat)
    model = Tensors(files, exact)
    words = [(0, 1, 1, 0, 1, 0), (1, 1, 0, 0, 0, 1)]
    soft, attention = model.run(words, hard=False)
    hard, _ = model.run(words, hard=True)
    for k, codes in enumerate(words):
        word = [simulation.source.alphabet[c] for c in codes]
        assert np.allclose(soft[k].astype(float), simulation.values(word, dtype="float64"), 0, 1e-9)
        wanted = [float(v) for v in exact.values(codes)[0]]
        assert np.allclose(hard[k].astype(float), wanted, rtol=0, atol=1e-12)
    for weights in attention.values():
        rows = weights.sum(axis=2)
        assert np.all((np.abs(rows - 1) < 1e-15) | (rows == 0))
    assert model.errors(words) == pytest.approx(np.abs(soft - hard).max(axis=1).astype(float))
