"""Weights moved within the radius, at random and to the corners, break no word."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from softhat import SofthatError
from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.decisions import Decisions
from softhat.trained.radius import moved_by, radius
from softhat.trained.specification import read_specification
from softhat.trained.walk import forward
from tests.trained import tiny

MODEL = Path(__file__).resolve().parent / "models" / "nonempty"


def test_weights_within_the_radius(tmp_path: Path) -> None:
    spec = read_specification(MODEL / "spec.json")
    found = radius(MODEL, spec, max_length=5, budget=30)
    assert 1e-6 < found < 0.25
    words = [word for n in range(5) for word in product(range(2), repeat=n)]
    random = np.random.default_rng(0)
    for trial in range(12):
        folder = tmp_path / str(trial)
        shutil.copytree(MODEL, folder)
        made = load_file(folder / "model.safetensors")
        for name, tensor in made.items():
            signs = random.choice([-1.0, 1.0], size=tensor.shape)
            made[name] = (tensor * (1 + 0.999 * found * signs)).astype(np.float32)
        save_file(made, folder / "model.safetensors", metadata={"format": "pt"})
        model = read_checkpoint(folder)
        assert moved_by(MODEL, folder) <= found
        for word in words:
            ids = np.array([[spec.bos, *(spec.ids[k] for k in word)]])
            state = np.asarray(spec.run(word)[-1])
            assert Decisions(spec, model.outputs).margins(forward(model, ids)[0, -1], state) > 0


def test_what_has_no_radius(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="one layer"):
        radius(tiny.model(tmp_path / "two", layers=2), tiny.AB, max_length=3)
    assert radius(tiny.model(tmp_path / "m", 1), tiny.AB, max_length=4) == 0.0
