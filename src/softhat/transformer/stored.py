"""A transformer as the files `config.json` and `model.safetensors`, and back.

The configuration says everything but the numbers: symbols, sinks, features, masks, laws of
temperature and labels, all as data. Reading checks every shape and refuses what it does not know;
version 1, which named features and had a sharpness instead of a law, is read too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.io.files import RECORD
from softhat.numbers.laws import Law
from softhat.numbers.laws.stored import from_json
from softhat.numbers.positions import Feature
from softhat.numbers.predicates import Predicate
from softhat.numbers.stored import from_json as feature_of
from softhat.numbers.stored import from_name as feature_named
from softhat.numbers.stored import to_json as feature_to_json
from softhat.transformer.weights import (
    BOS,
    EOS,
    RESERVED,
    Attention,
    Coordinate,
    Layer,
    Mask,
    Sparse,
    Transformer,
    law_of_sharpness,
)

FORMAT = "softhat-model"
VERSION = 2
READ = (1, 2)
"""Versions that are read."""
SHARED = ("embedding", "position_embedding", "readout", "readout_bias")
_IN_VERSION_1 = ("compiled", "simulation")
_ADDED = frozenset({RECORD, "accepts_at", "length", "epsilon", "dtype"})
"""What folders and kinds of models say besides; whoever reads one checks it."""


class DamagedError(Exception):
    """What is wrong with stored weights; becomes an error that names their folder."""


STUMBLES = (DamagedError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What a reader of damaged files stumbles over."""


def said_of(error: Exception) -> str:
    """What is wrong with a file over which a reader stumbled."""
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


@contextmanager
def damaged(folder: Path) -> Iterator[None]:
    """Whatever is wrong with a model's files is an error that names their folder."""
    try:
        yield
    except STUMBLES as error:
        raise SofthatError(f"{folder} is damaged: {said_of(error)}") from None


def config_of(t: Transformer, kind: str) -> dict[str, Any]:
    """The configuration of a transformer, for a model of this kind."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "attention": t.attention,
        "alphabet": list(t.symbols),
        "propositional": t.propositional,
        "sinks": list(t.sinks),
        "positions": [feature_to_json(feature) for feature in t.positions],
        "outputs": list(t.outputs),
        "size": asdict(t.size),
        "layers": [
            {
                "heads": [
                    {"label": label, "kind": kind, "mask": mask, "law": law.to_json()}
                    for label, kind, mask, law in zip(
                        layer.labels, layer.kinds, layer.masks, layer.laws, strict=True
                    )
                ]
            }
            for layer in t.layers
        ],
        "coordinates": [
            [{"from_layer": since, "holds": text} for since, text in c.holds] for c in t.coordinates
        ],
    }


def tensors_of(t: Transformer) -> dict[str, NDArray[np.float64]]:
    """Its weights by name."""

    def dense(tensor: Sparse | NDArray[np.float64]) -> NDArray[np.float64]:
        return tensor.dense() if isinstance(tensor, Sparse) else tensor

    tensors = {name: dense(getattr(t, name)) for name in SHARED}
    for number, layer in enumerate(t.layers):
        for name in layer.tensors:
            tensors[f"layers.{number}.{name}"] = dense(getattr(layer, name))
    return tensors


def transformer_of(
    config: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    known: Mapping[str, Predicate] | None = None,
) -> Transformer:
    """What `config_of` and `tensors_of` gave; `known` are the predicates that version 1 names."""
    d_model = int(config["size"]["d_model"])
    symbols, sinks = _strings(config, "alphabet"), _strings(config, "sinks")
    for reserved in RESERVED:
        if reserved in symbols:
            raise DamagedError(f"config.json: {reserved} is reserved and cannot be a symbol")
    features = _features(config, known or {})
    outputs = _strings(config, "outputs")
    if config["attention"] not in get_args(Attention):
        raise DamagedError(f"config.json: unknown attention {config['attention']!r}")
    if sinks not in ((), (BOS,), (BOS, EOS)):
        raise DamagedError(f"config.json: unknown sinks {sinks}")
    remaining = dict(tensors)

    def take(name: str, *shape: int | None) -> NDArray[np.float64]:
        array = remaining.pop(name)
        fits = len(array.shape) == len(shape) and all(
            want is None or want == have for want, have in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype != np.float64:
            expected = "×".join("any" if want is None else str(want) for want in shape)
            have = "×".join(map(str, array.shape))
            raise DamagedError(f"{name} is {array.dtype} {have}, expected float64 {expected}")
        if not np.isfinite(array).all():
            raise DamagedError(f"{name} has entries that are not finite")
        return array

    layers = []
    for number, entry in enumerate(config["layers"]):
        heads = entry["heads"]
        count, at = len(heads), f"layers.{number}."
        if any(head["mask"] not in get_args(Mask) for head in heads):
            raise DamagedError(f"config.json: unknown mask in layer {number}")
        query = take(at + "query", count, None, d_model)
        value = take(at + "value", count, None, d_model)
        forward = at + "into" in remaining
        into = take(at + "into", None, d_model) if forward else np.zeros((0, d_model))
        layers.append(
            Layer(
                labels=tuple(str(head["label"]) for head in heads),
                kinds=tuple(str(head["kind"]) for head in heads),
                masks=tuple(head["mask"] for head in heads),
                laws=tuple(_law(head, config["attention"]) for head in heads),
                query=Sparse.from_dense(query),
                key=Sparse.from_dense(take(at + "key", count, query.shape[1], d_model)),
                value=Sparse.from_dense(value),
                output=Sparse.from_dense(take(at + "output", count, d_model, value.shape[1])),
                into=Sparse.from_dense(into),
                into_bias=take(at + "into_bias", len(into)) if forward else np.zeros(0),
                out=Sparse.from_dense(
                    take(at + "out", d_model, len(into)) if forward else np.zeros((d_model, 0))
                ),
                out_bias=take(at + "out_bias", d_model) if forward else np.zeros(d_model),
            )
        )
    transformer = Transformer(
        attention=config["attention"],
        symbols=symbols,
        propositional=bool(config["propositional"]),
        sinks=sinks,
        positions=features,
        embedding=Sparse.from_dense(take("embedding", len(symbols) + len(sinks), d_model)),
        position_embedding=Sparse.from_dense(take("position_embedding", d_model, len(features))),
        layers=tuple(layers),
        outputs=outputs,
        readout=Sparse.from_dense(take("readout", len(outputs), d_model)),
        readout_bias=take("readout_bias", len(outputs)),
        coordinates=tuple(
            Coordinate(tuple((int(h["from_layer"]), str(h["holds"])) for h in holds))
            for holds in config["coordinates"]
        ),
    )
    if remaining:
        raise DamagedError(f"model.safetensors has unknown tensors: {', '.join(sorted(remaining))}")
    return transformer


def transformer_in(
    config: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    known: Mapping[str, Predicate] | None = None,
) -> Transformer:
    """The transformer of a folder. Every entry of its configuration, names and sizes too, must be
    the one that is written for these weights, of the same type. Only entries that a kind of model
    adds may stand beside them. (Configurations of version 1 held less.)"""
    transformer = transformer_of(config, tensors, known)
    if len(transformer.coordinates) != transformer.d_model:
        raise DamagedError("config.json: coordinates are not those that the weights have")
    if config.get("version") == 1 and config["kind"] in _IN_VERSION_1:
        return transformer
    expected = config_of(transformer, config["kind"])
    for name, value in config.items():
        if name in _ADDED:
            continue
        if name not in expected:
            raise DamagedError(f"config.json: nothing is known of {name[:60]!r}: take it out")
        if json.dumps(value, sort_keys=True) != json.dumps(expected[name], sort_keys=True):
            raise DamagedError(f"config.json: {name} is not what softhat writes for these weights")
    return transformer


def _features(config: Mapping[str, Any], known: Mapping[str, Predicate]) -> tuple[Feature, ...]:
    if config.get("version") == 1:
        return tuple(feature_named(name, known) for name in _strings(config, "positions"))
    entries = config["positions"]
    if not isinstance(entries, list):
        raise DamagedError("config.json: positions must be a list")
    where = "config.json: positions"
    return tuple(feature_of(x, f"{where}[{k}]") for k, x in enumerate(entries))


def _law(head: dict[str, Any], attention: Attention) -> Law:
    """Version 1 has C of compiled heads instead of their law."""
    if "law" in head:
        return from_json(head["law"])
    sharpness = float(head["sharpness"])
    if not 0 < sharpness < float("inf"):
        raise DamagedError(f"config.json: sharpness must be positive, not {sharpness}")
    return law_of_sharpness(sharpness, attention)


def _strings(config: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = config[name]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DamagedError(f"config.json: {name} must be a list of strings")
    return tuple(value)
