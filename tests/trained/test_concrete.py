"""Bounds of rounding: what `transformers` computes lies inside, whatever the kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.concrete import Prefixes, bounded_logits
from softhat.trained.replay import Replay
from softhat.trained.rounding import rounding_of
from softhat.trained.walk import forward
from tests.trained import tiny


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("scale", [0.05, 0.5, 2.0])
def test_float_logits_lie_inside(tmp_path: Path, attention: str, layers: int, scale: float) -> None:
    pytest.importorskip("transformers")
    model = read_checkpoint(tiny.model(tmp_path / "m", seed=layers, layers=layers, scale=scale))
    ids = np.random.default_rng(0).integers(0, 4, size=(64, 11))
    with np.errstate(all="ignore"):
        bounds = bounded_logits(model, ids, 1, rounding_of("float32"))
    logits = Replay(model, attention=attention).logits(ids.tolist(), 1)
    assert not (np.abs(logits - bounds.centre) > bounds.error).any()
    assert np.abs(forward(model, ids, 1) - bounds.centre).max() < 1e-9
    prefixes = Prefixes(model, 1, rounding_of("float32"))
    for word in range(8):
        for at in range(11):
            try:
                known = prefixes.logits(ids[word, : at + 1].tolist())
            except FloatingPointError:  # nothing is claimed
                assert scale == 2.0
                break
            off = np.abs(logits[word, at] - known.centre)
            assert (off <= known.radius + known.error).all()
            if layers == 1 and scale == 0.5:
                assert (known.radius + known.error).max() < 0.02
