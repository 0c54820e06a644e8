"""Methods that predict directions of the residual stream, and when each of them is active.

Sparse autoencoders by the package's own code (sae_lens, github.com/decoderesearch/SAELens), on the
activations of a disguised model and nothing else. Probes are told each bit's truth on the
words that they learn from, so they are marked by how well they find its direction. They are
softhat's own: least squares with a small ridge, and the difference of the two means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softhat.circuits.exam.packages import SAE_LENS, import_package
from softhat.circuits.exam.stored import learned_places, marked_places, stored_bits, truth_of
from softhat.circuits.exam.subject import Subject
from softhat.circuits.network import Array
from softhat.io.errors import SofthatError

RIDGE = 1e-6
"""Of a probe, as a share of the residual stream's variance. Rounding is below it, bits above."""
STEPS, BATCH, LEARNING_RATE = 3000, 256, 3e-3
L1 = 0.01
"""The weight of sparsity beside reconstruction, for activations whose mean square is d_model. Of
seven from 0.0001 to 0.3 it had the highest mean MCC on three models of the paper."""


@dataclass(frozen=True, slots=True)
class Features:
    """What a method found: features (k) of the residual stream x (d_model)."""

    directions: Array
    """(k, d_model): what an active feature adds to the stream."""
    readers: Array
    """(k, d_model): a feature is active where its reader·x is above its threshold."""
    thresholds: Array
    """(k,)"""

    def to_json(self) -> dict[str, Any]:
        return {name: _rounded(getattr(self, name)) for name in FIELDS}

    @staticmethod
    def from_json(data: Mapping[str, Any], d_model: int) -> Features:
        """As a prediction says it. Without readers a feature is read along its direction."""
        try:
            directions = np.array(data["directions"], float)
            readers = np.array(data.get("readers", data["directions"]), float)
            thresholds = np.array(data.get("thresholds", [0.0] * len(directions)), float)
        except (KeyError, TypeError, ValueError):
            raise SofthatError(
                "features are lists of numbers: directions and readers (features × d_model), "
                "thresholds (features)"
            ) from None
        shape = (len(directions), d_model)
        if not directions.shape == readers.shape == shape or thresholds.shape != shape[:1]:
            raise SofthatError(
                f"expected directions and readers of {d_model} numbers each, and a threshold for "
                "every direction"
            )
        if not all(np.isfinite(part).all() for part in (directions, readers, thresholds)):
            raise SofthatError("a feature has a number that is not finite")
        return Features(directions, readers, thresholds)


FIELDS = ("directions", "readers", "thresholds")


def _rounded(values: Array) -> Any:
    digits = [float(f"{value:.7g}") for value in values.ravel().tolist()]
    return np.array(digits).reshape(values.shape).tolist()


def sparse_autoencoder(subject: Subject, repository: Path | None) -> Features:
    """sae_lens' standard autoencoder (ReLU, L1), as many features as the stream has dimensions,
    trained by its SAETrainer. The activations are centred and scaled before, as is usual."""
    import torch

    package = import_package(SAE_LENS, "", repository)
    trainer = import_package(SAE_LENS, "training.sae_trainer", repository)
    config = import_package(SAE_LENS, "config", repository)
    residual = learned_places(subject).residual
    d_model = residual.shape[1]
    mean = residual.mean(axis=0)
    scale = float(np.sqrt(d_model / residual.var(axis=0).sum()))
    scaled = torch.from_numpy(((residual - mean) * scale).astype(np.float32))
    torch.manual_seed(subject.seed)
    autoencoder = package.StandardTrainingSAE(
        package.StandardTrainingSAEConfig(d_in=d_model, d_sae=d_model, l1_coefficient=L1)
    )
    trainer.SAETrainer(
        config.SAETrainerConfig(
            total_training_samples=STEPS * BATCH,
            train_batch_size_samples=BATCH,
            lr=LEARNING_RATE,
            lr_end=LEARNING_RATE / 10,
            lr_decay_steps=STEPS // 2,
        ),
        autoencoder,
        _batches(scaled, subject.seed),
    ).fit()
    weights = {
        name: value.detach().double().numpy() for name, value in autoencoder.named_parameters()
    }
    readers = weights["W_enc"].T * scale
    thresholds = readers @ mean + weights["b_dec"] @ weights["W_enc"] - weights["b_enc"]
    return Features(weights["W_dec"], readers, thresholds)


def _batches(activations: Any, seed: int) -> Iterator[Any]:
    import torch

    generator = torch.Generator().manual_seed(seed)
    while True:
        yield activations[torch.randint(len(activations), (BATCH,), generator=generator)]


def linear_probe(subject: Subject, repository: Path | None) -> Features:
    """For each bit the linear reading of its truth with the least squared error."""
    places = learned_places(subject)
    mean = places.residual.mean(axis=0)
    x = places.residual - mean
    moments = x.T @ x / len(x)
    moments += RIDGE * np.trace(moments) / len(moments) * np.eye(len(moments))
    wanted = _told(subject)
    centred = wanted - wanted.mean(axis=1, keepdims=True)
    readers = np.linalg.solve(moments, x.T @ centred.T / len(x)).T
    return Features(readers, readers, readers @ mean + 0.5 - wanted.mean(axis=1))


def difference_of_means(subject: Subject, repository: Path | None) -> Features:
    """For each bit the mean where it is true, less the mean where it is false; active where the
    stream is nearer to the first, along their difference."""
    x = learned_places(subject).residual
    wanted = _told(subject) > 0
    true, false = (np.array([x[row].mean(axis=0) for row in rows]) for rows in (wanted, ~wanted))
    steps = true - false
    return Features(steps, steps, ((true + false) / 2 * steps).sum(axis=1))


def _told(subject: Subject) -> Array:
    """(bits, places) 0 or 1: what a probe is told of the words that it learns from."""
    asked = stored_bits(subject, marked_places(subject)).formulas
    return truth_of(subject, asked, learned_places(subject)).astype(float)


def true_directions(subject: Subject, repository: Path | None) -> Features:
    """The truth, to mark the marks. Stored bits are orthogonal to each other, so the direction of
    one reads it; positions and means are orthogonal to it, too."""
    places = learned_places(subject).residual
    steps = stored_bits(subject, marked_places(subject)).directions
    readings = places @ steps.T
    return Features(steps, steps, (readings.min(axis=0) + readings.max(axis=0)) / 2)


def random_directions(subject: Subject, repository: Path | None) -> Features:
    """As many as the stream has dimensions, each active at half of the places."""
    places = learned_places(subject).residual
    rng = np.random.default_rng([subject.seed, *subject.id.encode()])
    drawn = rng.normal(size=(places.shape[1], places.shape[1]))
    return Features(drawn, drawn, np.median(places @ drawn.T, axis=0))


SABOTAGES = ("random", "permuted", "reversed")


def sabotaged(features: Features, how: str, seed: int) -> Features:
    """What a broken method would say: any directions, each with the next one's reader, or the
    opposite directions."""
    directions = features.directions
    match how:
        case "random":
            directions = np.random.default_rng(seed).normal(size=directions.shape)
        case "permuted":
            directions = np.roll(directions, 1, axis=0)
        case "reversed":
            directions = -directions
        case _:
            known = ", ".join(SABOTAGES)
            raise SofthatError(f"there is no sabotage {how!r} of directions: choose {known}")
    return Features(directions, features.readers, features.thresholds)
