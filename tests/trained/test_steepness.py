"""Differences of logits, bounded by their derivative: disturbed streams, and `transformers`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softhat.trained.activations import ACTIVATIONS
from softhat.trained.balls import Balls, Growths
from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.concrete import PositionWalk, PrefixRows
from softhat.trained.replay import Replay
from softhat.trained.rounding import rounding_of
from softhat.trained.steepness import Differences, LastSteps
from softhat.trained.walk import tail
from tests.trained import tiny


def _asked(rows: int, outputs: int) -> Differences:
    """Every output by itself with both signs, and against every other."""
    row, first, second = np.indices((rows, outputs, outputs + 2)).reshape(3, -1)
    sign = np.where(second == outputs + 1, -1.0, 1.0)
    return Differences(row, sign, first, np.where(second >= outputs, -1, second))


def _differences(logits: np.ndarray, asked: Differences) -> np.ndarray:
    first = asked.sign * logits[..., asked.first]
    return np.asarray(first - np.where(asked.second < 0, 0.0, logits[..., asked.second]))


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - {"relu"}))
@pytest.mark.parametrize("radius", [1e-9, 1e-4, 0.02, 0.3, 5.0])
@pytest.mark.parametrize("many", [0, 3])
def test_disturbed_streams_stay_inside(tmp_path: Path, name: str, radius: float, many: int) -> None:
    """Streams in the ball, and at the corners that generators make, and along the steepest ways."""
    model = read_checkpoint(tiny.model(tmp_path / "m", scale=0.6, activation_function=name))
    random, width, outputs = np.random.default_rng(1), model.width, model.outputs
    growths, rounding = Growths(model), rounding_of("float64")
    for _ in range(6):
        centre = random.normal(size=(1, width))
        generators = random.normal(size=(1, many, width)) * radius
        ball = Balls(centre, np.full((1, 1), radius), growths, None, generators if many else None)
        asked = _asked(1, outputs)
        last = LastSteps(model, growths, rounding)
        with np.errstate(all="ignore"):
            least = last.least(ball, asked)
            bounds = last.outputs(last.rows(ball))
        exact = _differences(tail(centre, model, 0)[0], asked)
        assert not (least > exact).any()
        small = 1e-6 * np.eye(width)
        slopes = _differences(tail(centre + small, model, 0), asked) - exact
        ways = np.concatenate([random.normal(size=(60, width)), slopes.T, -slopes.T])
        long = np.linalg.norm(ways, axis=1, keepdims=True)
        ways = np.divide(ways, long, out=np.zeros_like(ways), where=long > 0)
        corners = np.sign(ways @ generators[0].T) @ generators[0]
        logits = tail(centre + radius * ways + corners, model, 0)
        moved = _differences(logits, asked)
        assert not (moved.min(0) < least).any()
        assert not (np.abs(logits - bounds.centre) > bounds.error).any()
        if radius == 1e-4:
            reached = (exact - moved.min(0)).max()
            assert (exact - least).max() < 3 * reached  # to first order nothing is lost


def _attack(folder: Path, seed: int, words: int) -> tuple[int, float]:
    """Random words through a random model in `transformers`, eager and fused, against balls,
    generators and derivatives: words tried, and the median slack of a difference."""
    random = np.random.default_rng(seed)
    layers = 1 + seed % 3
    model = read_checkpoint(
        tiny.model(
            folder, seed, layers, 10.0 ** random.uniform(-1.3, 0.0),
            activation_function=sorted(ACTIVATIONS)[seed % len(ACTIVATIONS)],
        )
    )  # fmt: skip
    offset, slack = seed % 2, []
    positions = PositionWalk(model, offset, rounding_of("float32"))
    ids = random.integers(0, 4, size=(words, 11))
    replayed = [
        Replay(model, attention=attention).logits(ids.tolist(), offset)
        for attention in ("eager", "sdpa")
    ]
    rows: tuple[PrefixRows, ...] = ()
    asked = _asked(words, model.outputs)
    for at in range(ids.shape[1]):
        with np.errstate(all="ignore"):
            rows, read = positions.longer(rows, ids[:, at], np.ones(words, bool))
            bounds = [positions.logits(read)]
            least = positions.last.least(read, asked)
            if model.activation.bend is not None:
                bounds.append(positions.last.outputs(positions.last.rows(read)))
        for logits in replayed:
            for each in bounds:
                assert not (np.abs(logits[:, at] - each.centre) > each.error).any()
            first = asked.sign * logits[asked.row, at, asked.first]
            other = logits[asked.row, at, asked.second]
            difference = first - np.where(asked.second < 0, 0.0, other)
            assert not (least > difference).any()
            slack.append(float(np.median(difference - least)))
    return 2 * words, float(np.median(slack))


@pytest.mark.parametrize("seed", range(6))
def test_float_logits_lie_inside(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("transformers")
    _attack(tmp_path / "m", seed, 20)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 127))
def test_float_logits_of_many_words_lie_inside(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("transformers")
    assert _attack(tmp_path / "m", seed, 200)[0] == 400


def test_bounds_say_something(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    assert _attack(tmp_path / "m", 6, 20)[1] < 1e-3


def test_without_a_derivative_nothing_is_said(tmp_path: Path) -> None:
    model = read_checkpoint(tiny.model(tmp_path / "m", activation_function="relu"))
    growths = Growths(model)
    ball = Balls(np.ones((1, model.width)), np.zeros((1, 1)), growths)
    least = LastSteps(model, growths, rounding_of("float32")).least(ball, _asked(1, model.outputs))
    assert (least == -np.inf).all()
