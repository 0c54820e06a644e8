"""Mutations aimed at heads that select by categories and codes, and at counts decoded by steps.

Each looks as if the model still computed its program: a score that is nearly the same, a step
that moved with both its units, a sink that stands a little higher, two categories that change
places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.proof.aimed import MUTATIONS, Mutate, Open, Rng


def _some_head(m: Open, rng: Rng) -> tuple[dict[str, Any], int] | None:
    found = [
        (layer, h)
        for layer in m.layers
        for h, kind in enumerate(layer["kinds"])
        if kind in ("Match", "Width", "At")
    ]
    return found[int(rng.integers(len(found)))] if found else None


def _some_units(m: Open, rng: Rng) -> tuple[dict[str, Any], np.ndarray[Any, Any]] | None:
    """The units of one or all steps of a layer: those with a bias that read one coordinate."""
    found = []
    for layer in m.layers:
        one = np.count_nonzero(layer["into"], axis=1) == 1
        units = np.flatnonzero(one & (layer["into_bias"] != 0))
        if len(units) >= 2:
            found.append((layer, units))
    if not found:
        return None
    layer, units = found[int(rng.integers(len(found)))]
    if rng.random() < 0.7:
        at = int(rng.integers(len(units) // 2)) * 2
        ordered = units[np.argsort(layer["into_bias"][units], kind="stable")]
        units = ordered[at : at + 2]
    return layer, units


def moved_steps(m: Open, rng: Rng) -> None:
    """Steps a little to the left or right, both units alike."""
    if (found := _some_units(m, rng)) is not None:
        layer, units = found
        scale = float(np.abs(layer["into_bias"][units]).max())
        layer["into_bias"][units] += scale * float(
            rng.choice((2.0**-6, -(2.0**-6), 2.0**-10, -(2.0**-10), 0.25, -0.25))
        )


def steeper_steps(m: Open, rng: Rng) -> None:
    """A step half or twice as wide, and the weight that goes with it."""
    if (found := _some_units(m, rng)) is not None:
        layer, units = found
        if len(units) != 2:
            return
        low, high = sorted(layer["into_bias"][units])
        middle, factor = (low + high) / 2, float(rng.choice((0.5, 2.0, 4.0)))
        layer["into_bias"][units] = middle + (layer["into_bias"][units] - middle) * factor
        layer["out"][:, units] /= factor


def heavier_steps(m: Open, rng: Rng) -> None:
    """A step that counts twice, or backwards."""
    if (found := _some_units(m, rng)) is not None:
        layer, units = found
        layer["out"][:, units] *= float(rng.choice((2.0, -1.0, 3.0, 0.0)))


def nudged_sinks(m: Open, rng: Rng) -> None:
    """Another score on the sinks."""
    if (found := _some_head(m, rng)) is None:
        return
    (layer, h), one = found, m.at("1")
    rows = [r for r in range(layer["key"].shape[1]) if one is not None and layer["key"][h, r, one]]
    for r in rows:
        layer["query"][h, r] *= float(rng.choice((2.0, 0.5, 1.5, 1 + 2.0**-12, -1.0, 0.0)))


def other_sharpness(m: Open, rng: Rng) -> None:
    if (found := _some_head(m, rng)) is not None:
        layer, h = found
        layer["sharpness"][h] *= float(rng.choice((0.25, 0.5, 2.0, 4.0, 1 + 2.0**-20, 0.75)))


def other_mask(m: Open, rng: Rng) -> None:
    if (found := _some_head(m, rng)) is not None:
        layer, h = found
        layer["masks"][h] = str(rng.choice(("<=", "<", ">", ">=", "none")))


def changed_places(m: Open, rng: Rng) -> None:
    """Two coordinates change places in the queries, the keys or the values of a head."""
    if (found := _some_head(m, rng)) is None:
        return
    layer, h = found
    name = str(rng.choice(("query", "key", "value")))
    used = np.flatnonzero(layer[name][h].any(axis=0))
    if len(used) >= 2:
        a, b = rng.choice(used, 2, replace=False)
        layer[name][h][:, [a, b]] = layer[name][h][:, [b, a]]


def repeated_row(m: Open, rng: Rng) -> None:
    """A category that matches twice: its score is twice as large."""
    if (found := _some_head(m, rng)) is None:
        return
    layer, h = found
    r, d_k = int(rng.integers(layer["query"].shape[1])), layer["query"].shape[1]
    for name in ("query", "key"):
        layer[name] = np.pad(layer[name], ((0, 0), (0, 1), (0, 0)))
        layer[name][h, d_k] = layer[name][h, r]


def lost_row(m: Open, rng: Rng) -> None:
    """A category, or a digit, that is not compared."""
    if (found := _some_head(m, rng)) is not None:
        layer, h = found
        r = int(rng.integers(layer["query"].shape[1]))
        layer["query"][h, r] = layer["key"][h, r] = 0.0


def flipped_digit(m: Open, rng: Rng) -> None:
    """Both sides of a digit negated: the same; one side: the opposite."""
    if (found := _some_head(m, rng)) is not None:
        layer, h = found
        r = int(rng.integers(layer["query"].shape[1]))
        layer["query"][h, r] *= -1
        if rng.random() < 0.5:
            layer["key"][h, r] *= -1


def louder_numbers(m: Open, rng: Rng) -> None:
    """Values of means, or what reads them, times something."""
    if rng.random() < 0.5:
        m.readout *= float(rng.choice((2.0, 0.5, 1 + 2.0**-9)))
    elif (found := _some_head(m, rng)) is not None:
        layer, h = found
        layer["value"][h] *= float(rng.choice((2.0, 0.5, 1 + 2.0**-9)))


SELECTIONS: tuple[Mutate, ...] = (
    *MUTATIONS,
    moved_steps,
    moved_steps,
    steeper_steps,
    heavier_steps,
    nudged_sinks,
    nudged_sinks,
    other_sharpness,
    other_sharpness,
    other_mask,
    changed_places,
    changed_places,
    repeated_row,
    lost_row,
    flipped_digit,
    louder_numbers,
)
