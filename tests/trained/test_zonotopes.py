"""Every point of a set lands in the set's image: norms, activations, products, sums."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.trained.activations import ACTIVATIONS
from softhat.trained.checkpoint import Affine, LayerNorm
from softhat.trained.rounding import rounding_of
from softhat.trained.zonotopes import ActivationSet

ROUNDING = rounding_of("float32")


def _set(random: np.random.Generator, width: int, size: float) -> ActivationSet:
    return ActivationSet(
        random.normal(size=width),
        random.normal(size=(5, width)) * size,
        np.abs(random.normal(size=width)) * size * 0.1,
    )


def _points(random: np.random.Generator, x: ActivationSet, count: int) -> np.ndarray:
    corners = random.choice([-1.0, 1.0], size=(count, len(x.generators)))
    inside = random.uniform(-1, 1, size=(count, len(x.generators)))
    signs = np.where(random.random((count, 1)) < 0.5, corners, inside)
    box = random.uniform(-1, 1, size=(count, len(x.centre))) * x.error
    return x.centre + signs @ x.generators + box


def _contains(x: ActivationSet, points: np.ndarray) -> bool:
    """The box around a set holds the points; so do its bounds in random directions."""
    directions = np.random.default_rng(1).normal(size=(20, len(x.centre)))
    directions = np.vstack([directions, np.eye(len(x.centre))])
    reach = np.abs(x.generators @ directions.T).sum(0) + np.abs(directions) @ x.error
    away = np.abs((points - x.centre) @ directions.T)
    return bool((away <= reach * (1 + 1e-12) + 1e-13).all())


@pytest.mark.parametrize("size", [1e-4, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_norms(seed: int, size: float) -> None:
    random = np.random.default_rng(seed)
    x = _set(random, 8, size).folded()
    norm = LayerNorm(random.normal(size=8), random.normal(size=8))
    points = _points(random, x, 400)
    centred = points - points.mean(1, keepdims=True)
    exact = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    assert _contains(x.normalised(norm, 1e-5, ROUNDING), exact * norm.gain + norm.shift)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("size", [1e-3, 0.3, 2.0])
def test_activations(name: str, size: float) -> None:
    random = np.random.default_rng(3)
    x = _set(random, 8, size)
    points = _points(random, x, 400)
    image = ACTIVATIONS[name].function(points)
    assert _contains(x.activated(ACTIVATIONS[name], ROUNDING), image)


def test_products_and_sums() -> None:
    random = np.random.default_rng(5)
    x = _set(random, 8, 0.3).folded()
    step = Affine(random.normal(size=(8, 8)), random.normal(size=8))
    points = _points(random, x, 400)
    image = x.affine(step, ROUNDING)
    assert _contains(image, points @ step.weight + step.bias)
    assert _contains(x.added(image, ROUNDING), points + points @ step.weight + step.bias)
