"""Compiled models pass the verified check of `proofs/Compare.v`, and spoilt ones do not.

A model that passes has the theorem `Compare.checked_right`: its softmax transformer decides its
formula at every position of every word, in the reals. Coq computes the weights from the program
and the schedule by itself and compares them with Python's, entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.lowering import gates, heads
from softhat.lowering.heads import sign
from softhat.transformer.weights import Attention, Layer, Sparse
from tests.lowering.suite import MIXED
from tests.proofs.claims import IMPORTS, Compiled, claim, compiled
from tests.proofs.coq import booleans, needs_coq

TARGETS: tuple[Attention, ...] = ("unbounded", "temperature")
EVERYTHING = (
    "(Y a | b S a) & (X b | a U b) & (Y Y a | X X X b | Y(a S b)) &"
    " 2*#(a) - #>(b) + #*(a) - i >= 1 | mod(3, 1)"
)
"""Every kind of head, a sum of conjunctions, a complement, coordinates used again."""


def _checked(models: list[Compiled], folder: Path) -> list[bool]:
    return booleans(IMPORTS, "", [f"checked {claim(model)}" for model in models], folder)


def _random(seed: int, count: int) -> list[Formula]:
    rng = np.random.default_rng(seed)
    return [random_formula(rng, int(rng.integers(3, 25)), ("a", "b", "c")) for _ in range(count)]


def _all_checked(formulas: list[Formula], folder: Path) -> None:
    pairs = [(formula, target) for formula in formulas for target in TARGETS]
    models = [compiled(formula, ("a", "b", "c"), target) for formula, target in pairs]
    for (formula, target), right in zip(pairs, _checked(models, folder), strict=True):
        assert right, f"{formula} ({target})"


def test_models_pass(tmp_path: Path) -> None:
    needs_coq()
    _all_checked([*map(parse, MIXED), parse(EVERYTHING), *_random(0, 20)], tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 11))
def test_many_models_pass(seed: int, tmp_path: Path) -> None:
    needs_coq()
    _all_checked(_random(seed, 50), tmp_path)


TENSORS = ("query", "key", "value", "output", "into", "into_bias", "out", "out_bias")


def _spoilt(model: Compiled, rng: np.random.Generator) -> Iterator[tuple[str, Compiled]]:
    """The model with one number of each tensor of each layer, and of the read-out, changed."""
    layers = model.weights.layers
    for number, layer in enumerate(layers):
        for name in TENSORS:
            tensor = getattr(layer, name)
            if name == "output" or not np.any(_values(tensor)):
                continue
            changed: Layer = replace(layer, **{name: _changed(tensor, rng)})
            weights = replace(
                model.weights, layers=(*layers[:number], changed, *layers[number + 1 :])
            )
            yield f"layer {number + 1}, {name}", replace(model, weights=weights)
        masks = tuple("none" if mask != "none" else "<=" for mask in layer.masks)
        if masks:
            changed = replace(layer, masks=masks)
            weights = replace(
                model.weights, layers=(*layers[:number], changed, *layers[number + 1 :])
            )
            yield f"layer {number + 1}, masks", replace(model, weights=weights)
    readout = replace(model.weights, readout=_changed(model.weights.readout, rng))
    yield "readout", replace(model, weights=readout)
    bias = replace(model.weights, readout_bias=_changed(model.weights.readout_bias, rng))
    yield "readout_bias", replace(model, weights=bias)


def _values(tensor: Sparse | NDArray[np.float64]) -> NDArray[np.float64]:
    return tensor.values if isinstance(tensor, Sparse) else tensor


def _changed(tensor: Sparse | NDArray[np.float64], rng: np.random.Generator) -> Any:
    values = _values(tensor).copy()
    at = rng.choice(np.flatnonzero(values))
    values[at] *= 1 + 2.0**-20
    return Sparse(tensor.shape, tensor.where, values) if isinstance(tensor, Sparse) else values


@pytest.mark.parametrize("target", TARGETS)
def test_a_changed_weight_fails(target: Attention, tmp_path: Path) -> None:
    needs_coq()
    model = compiled(parse(EVERYTHING), ("a", "b"), target)
    spoilt = list(_spoilt(model, np.random.default_rng(0)))
    assert len(spoilt) > 15
    for (what, _), right in zip(spoilt, _checked([m for _, m in spoilt], tmp_path), strict=True):
        assert not right, what


@pytest.mark.parametrize(
    "module, name, value",
    [
        (heads, "SHARPNESS", 5.0),
        (heads, "SHARPNESS", 3.0),
        (gates, "LOW", 5 / 16),
        (gates, "HIGH", 1 / 2),
        (sign, "steepness", lambda gain, opposed: gain),
    ],
    ids=["C = 5", "C = 3", "clip from 5/16", "clip to 1/2", "D = C'"],
)
def test_a_changed_constant_fails(
    module: object,
    name: str,
    value: float | Callable[[float, float], float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs_coq()
    monkeypatch.setattr(module, name, value)
    models = [compiled(parse(EVERYTHING), ("a", "b"), target) for target in TARGETS]
    assert _checked(models, tmp_path) == [False, False]
