"""Balls of errors: singular values against LAPACK, and disturbed activations inside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softhat.trained.activations import ACTIVATIONS
from softhat.trained.balls import Balls, Growths, largest_stretch
from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.radius import moving
from softhat.trained.rounding import rounding_of
from softhat.trained.walk import feed_forward, logits, tail
from tests.trained import tiny

EXACT = rounding_of("float64")


@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (64, 64), (40, 3), (5, 1)])
def test_largest_stretch(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(shape[0])
    for scale in (1e-30, 1.0, 1e30):
        matrix = random.normal(size=shape) * scale
        exact = np.linalg.norm(matrix, 2)
        assert exact <= largest_stretch(matrix) <= 1.08 * exact
    one = np.outer(random.normal(size=shape[0]), random.normal(size=shape[1]))
    exact = np.linalg.norm(one, 2)
    assert exact * (1 - 1e-14) <= largest_stretch(one) <= exact * (1 + 1e-9)
    assert largest_stretch(np.zeros(shape)) == 0
    assert largest_stretch(np.full(shape, np.inf)) == np.inf


def test_norm_of_the_derivative(tmp_path: Path) -> None:
    model = read_checkpoint(tiny.model(tmp_path / "m", scale=0.7))
    block = model.blocks[0]
    slopes = np.random.default_rng(0).normal(size=(5, block.units.weight.shape[1]))
    norms = Growths(model).through(block.before_units, block.units, slopes, block.output)
    for row, norm in zip(slopes, norms, strict=True):
        matrix = (block.before_units.gain[:, None] * block.units.weight * row) @ block.output.weight
        assert np.isclose(norm, np.linalg.norm(matrix)) and norm >= np.linalg.norm(matrix)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
@pytest.mark.parametrize("radius", [1e-9, 1e-4, 0.02, 0.5, 20.0])
def test_disturbed_streams_stay_inside(tmp_path: Path, name: str, radius: float) -> None:
    """Streams anywhere in a ball, its border above all, and along the steepest ways out of it."""
    model = read_checkpoint(tiny.model(tmp_path / "m", scale=0.6, activation_function=name))
    random, width = np.random.default_rng(1), model.width
    centre = random.normal(size=(20, width))
    ball = Balls(centre, np.full((20, 1), radius), Growths(model))
    out = logits(feed_forward(ball, model.blocks[0], model, EXACT), model, EXACT)
    assert np.allclose(out.centre, tail(centre, model, 0))
    ways = random.normal(size=(300, width))
    small = 1e-6 * np.eye(width)
    steep = [tail(x + small, model, 0) - tail(x, model, 0) for x in centre]
    for at, x in enumerate(centre):
        every = np.concatenate([ways, steep[at].T, -steep[at].T])
        every /= np.linalg.norm(every, axis=1, keepdims=True)
        moved = tail(x + radius * every, model, 0) - out.centre[at]
        assert (np.abs(moved) <= out.entries[at]).all()
    if radius == 1e-4:
        reached = np.abs(
            tail(centre + radius * ways[:20] / 3, model, 0) - tail(centre, model, 0)
        ).max()
        assert out.entries.max() < 1e4 * reached  # no bound that says nothing


def test_weights_that_move_stay_inside(tmp_path: Path) -> None:
    """Each weight at the end of its interval that moves the result furthest. The parts of a product
    are heads' queries, keys and values."""
    model = moving(
        read_checkpoint(tiny.model(tmp_path / "m")), lambda weight: 0.01 * np.abs(weight) + 1e-3
    )
    block, x = model.blocks[0], np.random.default_rng(2).normal(size=(10, model.width))
    ball = Balls(x, np.zeros((10, 1)), Growths(model))
    for step in (block.attention, block.projection, block.units):
        assert step.moved is not None
        out = ball.affine(step, EXACT)
        furthest = np.abs(x) @ step.moved.weight + step.moved.bias
        parts = furthest.reshape(10, out.radius.shape[-1], -1)
        reached = np.linalg.norm(parts, axis=-1)
        assert (out.radius >= reached).all() and (out.radius <= 20 * reached).all()
    norm = block.before_units
    assert norm.moved is not None
    normed = ball.normalised(norm, model.epsilon, EXACT).folded()
    before_gain = (normed.centre - norm.shift) / norm.gain
    furthest = np.abs(before_gain) * norm.moved.gain + norm.moved.shift
    reached = np.linalg.norm(furthest, axis=-1)[:, None]
    assert (normed.radius >= reached * (1 - 1e-9)).all() and (normed.radius <= 1.1 * reached).all()


def test_nothing_is_said_of_what_is_not_finite(tmp_path: Path) -> None:
    model = read_checkpoint(tiny.model(tmp_path / "m"))
    centre = np.ones((3, model.width)) * np.arange(model.width)
    for radius in (np.nan, np.inf):
        ball = Balls(centre, np.full((3, 1), radius), Growths(model))
        with np.errstate(all="ignore"):
            out = logits(feed_forward(ball, model.blocks[0], model, EXACT), model, EXACT)
        assert not (out.entries < np.inf).any()
