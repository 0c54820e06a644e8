"""Bends and slopes that the proof relies on, measured; values against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.trained.activations import ACTIVATIONS
from softhat.trained.rounding import rounding_of

PLACES = np.linspace(-12, 12, 240_001)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_bends_and_slopes(name: str) -> None:
    activation = ACTIVATIONS[name]
    step = PLACES[1] - PLACES[0]
    values = activation.function(PLACES)
    assert np.abs(np.diff(values) / step).max() <= activation.slope + 1e-9
    if activation.bend is not None:
        assert np.abs(np.diff(values, 2) / step**2).max() <= activation.bend + 1e-6


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_kernels_are_within_the_error(name: str) -> None:
    torch = pytest.importorskip("torch")
    activations = pytest.importorskip("transformers.activations")
    x = np.concatenate([PLACES[::37], np.random.default_rng(0).normal(size=2000) * 1e-3])
    x = x.astype(np.float32)
    given = torch.from_numpy(x)
    computed = activations.ACT2FN[name](given).double().numpy()
    exact = ACTIVATIONS[name].function(x.astype(np.float64))
    error = ACTIVATIONS[name].error(np.abs(x).astype(np.float64), rounding_of("float32"))
    assert (np.abs(computed - exact) <= error).all()
