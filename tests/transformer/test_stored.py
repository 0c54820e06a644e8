"""A transformer as files and back: the same, or refused with what is wrong."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.transformer.stored import DamagedError, config_of, tensors_of, transformer_of
from softhat.transformer.weights import Transformer


def same(one: Transformer, other: Transformer) -> bool:
    plain = ("attention", "symbols", "propositional", "sinks", "positions", "outputs")
    if any(getattr(one, name) != getattr(other, name) for name in (*plain, "coordinates")):
        return False
    for left, right in zip(one.layers, other.layers, strict=True):
        if (left.labels, left.kinds, left.masks, left.laws) != (
            right.labels, right.kinds, right.masks, right.laws,
        ):  # fmt: skip
            return False
    stored, again = tensors_of(one), tensors_of(other)
    return stored.keys() == again.keys() and all(
        np.array_equal(stored[name], again[name]) for name in stored
    )


@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
@pytest.mark.parametrize("formula", ["Y a & #(a) > #(b)", "X (a U b) | mod(3, 1)", "a"])
def test_there_and_back(formula: str, attention: str) -> None:
    t = softhat.compile(formula, alphabet="ab", attention=attention).transformer
    config = json.loads(json.dumps(config_of(t, "compiled")))
    assert same(transformer_of(config, tensors_of(t)), t)


def test_simulations_are_transformers_too() -> None:
    t = softhat.simulate(GALLERY["majority"](), max_length=6).transformer
    config = json.loads(json.dumps(config_of(t, "simulation")))
    assert same(transformer_of(config, tensors_of(t)), t)


def damaged(change: str) -> tuple[dict[str, Any], dict[str, Any]]:
    t = softhat.compile("Y a & X b", alphabet="ab").transformer
    config, tensors = copy.deepcopy(config_of(t, "compiled")), dict(tensors_of(t))
    name = "layers.0.query"
    match change:
        case "attention":
            config["attention"] = "other"
        case "sinks":
            config["sinks"] = ["<eos>"]
        case "mask":
            config["layers"][0]["heads"][0]["mask"] = "=="
        case "reserved":
            config["alphabet"][0] = "<pad>"
        case "alphabet":
            config["alphabet"] = "ab"
        case "shape":
            tensors[name] = tensors[name][:, :, :-1]
        case "dtype":
            tensors[name] = tensors[name].astype(np.float32)
        case "nan":
            tensors[name] = tensors[name] * np.nan
        case "more":
            tensors["extra"] = np.zeros(3)
    return config, tensors


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("attention", "unknown attention 'other'"),
        ("sinks", "unknown sinks"),
        ("mask", "unknown mask in layer 0"),
        ("reserved", "<pad> is reserved"),
        ("alphabet", "alphabet must be a list of strings"),
        ("shape", "layers.0.query is float64"),
        ("dtype", "layers.0.query is float32"),
        ("nan", "layers.0.query has entries that are not finite"),
        ("more", "unknown tensors: extra"),
    ],
)
def test_damage_is_named(change: str, reason: str) -> None:
    with pytest.raises(DamagedError, match=reason):
        transformer_of(*damaged(change))


def test_version_1_has_a_sharpness_instead_of_a_law() -> None:
    t = softhat.compile("Y a", alphabet="ab", attention="temperature").transformer
    config = config_of(t, "compiled")
    for layer in config["layers"]:
        for head in layer["heads"]:
            del head["law"]
            head["sharpness"] = 4.0
    assert transformer_of(config, tensors_of(t)).layers[0].laws == t.layers[0].laws
    config["layers"][0]["heads"][0]["sharpness"] = -1.0
    with pytest.raises(DamagedError, match="sharpness must be positive"):
        transformer_of(config, tensors_of(t))
