"""Weights moved within the radius, at random and to the corners, break no word."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import softhat
from softhat import SofthatError
from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.decisions import Decisions
from softhat.trained.radius import COPIES, moved_by
from softhat.trained.specification import read_specification
from softhat.trained.walk import forward
from tests.trained import tiny

MODEL = Path(__file__).resolve().parent / "models" / "nonempty"
WORDS = [word for n in range(5) for word in product(range(2), repeat=n)]


def copied(folder: Path, change: Callable[[Any], Any]) -> Path:
    """The model with every tensor changed."""
    shutil.copytree(MODEL, folder)
    stored = load_file(folder / "model.safetensors")
    stored = {name: change(tensor).astype(np.float32) for name, tensor in stored.items()}
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def right(folder: Path) -> bool:
    """Is every short word decided as the specification says?"""
    spec, model = read_specification(MODEL / "spec.json"), read_checkpoint(folder)
    decisions = Decisions(spec, model.outputs)
    for word in WORDS:
        ids = np.array([[spec.bos, *(spec.ids[k] for k in word)]])
        state = np.asarray(spec.run(word)[-1])
        if not decisions.margins(forward(model, ids)[0, -1], state) > 0:
            return False
    return True


@pytest.mark.parametrize("kind", ["relative", "largest"])
def test_weights_within_the_radius(tmp_path: Path, kind: str) -> None:
    result = softhat.radius(MODEL, MODEL / "spec.json", kind=kind, max_length=5, budget=30)
    assert 1e-6 < result.radius < 0.25
    random = np.random.default_rng(0)

    def change(tensor: Any) -> Any:
        whole = np.abs(tensor) if kind == "relative" else np.abs(tensor).max()
        signs = random.choice([-1.0, 1.0], size=tensor.shape)
        return tensor + 0.999 * result.radius * whole * signs

    for trial in range(8):
        folder = copied(tmp_path / str(trial), change)
        assert moved_by(MODEL, folder, kind) <= result.radius
        assert right(folder)


def rounded(name: str) -> Callable[[Any], Any]:
    """Weights rounded as the formats say, by numpy and by integers."""

    def change(tensor: Any) -> Any:
        match name:
            case "float16":
                return tensor.astype(np.float16)
            case "bfloat16":
                bits = tensor.view(np.uint32).astype(np.uint64)
                nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
                return nearest.astype(np.uint32).view(np.float32)
            case _:
                scale = np.abs(tensor).max() / np.float32(127)
                return np.round(tensor / scale).astype(np.int8).astype(np.float32) * scale

    return change


@pytest.mark.parametrize("name", sorted(COPIES))
def test_a_rounded_copy_moves_within_its_bound(tmp_path: Path, name: str) -> None:
    folder = copied(tmp_path / name, rounded(name))
    before, after = (load_file(at / "model.safetensors") for at in (MODEL, folder))
    for tensor, weight in before.items():
        exact = weight.astype(np.float64)
        assert (np.abs(after[tensor] - exact) <= COPIES[name](exact)).all()
    assert right(folder)


def test_what_has_no_radius(tmp_path: Path) -> None:
    assert softhat.radius(tiny.model(tmp_path / "m", 1), tiny.AB, max_length=4).radius == 0
    with pytest.raises(SofthatError, match="kind is one of"):
        softhat.radius(MODEL, MODEL / "spec.json", kind="other")
    with pytest.raises(SofthatError, match="do not fit"):
        softhat.radius(MODEL, MODEL / "spec.json", max_length=5000)


def test_a_change_of_anything_but_weights_has_no_distance(tmp_path: Path) -> None:
    one = tiny.model(tmp_path / "one")
    assert moved_by(one, one) == 0
    assert moved_by(one, tiny.model(tmp_path / "heads", n_head=4)) == float("inf")
    assert moved_by(one, tiny.model(tmp_path / "relu", activation_function="relu")) == float("inf")
