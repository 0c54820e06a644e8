"""Model folders: `config.json`, `model.safetensors`, `formula.txt`, `certificate.json`.

The same model gives byte-identical files, written as a whole or not at all (`softhat.files`).
Loading reads only JSON and safetensors, checks every shape, and refuses what it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from softhat.errors import SofthatError
from softhat.files import json_bytes, read_json, read_tensors, read_text, write_folder
from softhat.laws import Law, from_json
from softhat.logic.binding import bind, predicates_of
from softhat.logic.syntax.parse import parse
from softhat.model import Model
from softhat.positions import from_name, text
from softhat.predicates import Predicate, to_json
from softhat.predicates import from_json as read_predicate
from softhat.transformer.weights import (
    BOS,
    EOS,
    Attention,
    Coordinate,
    Layer,
    Mask,
    Sparse,
    Transformer,
    law_of_sharpness,
)

if TYPE_CHECKING:
    from softhat.logic.syntax.nodes import Formula

FORMAT = "softhat-model"
VERSION = 1
SHARED = ("embedding", "position_embedding", "readout", "readout_bias")


def save(model: Model, folder: Path) -> None:
    """Write `model` to `folder`; an older model there is replaced."""
    certificate = json_bytes(model.certificate.to_json())
    write_folder(folder, {**contents(model), "certificate.json": certificate})


def contents(model: Model) -> dict[str, bytes]:
    """The files of a model's folder that `load` reads, by name."""
    from safetensors.numpy import save as to_bytes

    lines = [f"{name}: {formula}\n" for name, formula in model.formulas.items()]
    return {
        "config.json": json_bytes(_config(model.transformer) | _predicates(model)),
        "model.safetensors": to_bytes(_tensors(model.transformer)),
        "formula.txt": "".join(lines).encode(),
    }


def load(folder: str | Path) -> Any:
    """The model in a folder that `save` (or `simulate`) wrote."""
    folder = Path(folder)
    config = read_config(folder)
    match config.get("kind"):
        case "compiled":
            return _load_compiled(folder, config)
        case "simulation":
            from softhat.ahat.simulation.folder import load as load_simulation

            return load_simulation(folder)
        case kind:
            raise SofthatError(f"{folder}/config.json: unknown kind of model {kind!r}")


def read_config(folder: Path) -> dict[str, Any]:
    """`config.json`, if its format and version are ours."""
    path = folder / "config.json"
    if not folder.is_dir():
        raise SofthatError(f"no model folder {folder}: expected one that `softhat compile` wrote")
    if not path.is_file():
        raise SofthatError(f"{folder} is not a model folder: it has no config.json")
    try:
        config = read_json(path, inside=folder)
    except SofthatError as error:
        raise SofthatError(f"{folder} is damaged: {error}") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise SofthatError(f"{folder} is not a softhat model: its config.json has another format")
    version = config.get("version")
    if version != VERSION:
        raise SofthatError(
            f"{folder} has format version {version}; this softhat reads version {VERSION}: "
            "compile it again, or install the softhat that wrote it"
        )
    return config


def _config(t: Transformer) -> dict[str, Any]:
    size = t.size
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "compiled",
        "attention": t.attention,
        "alphabet": list(t.symbols),
        "propositional": t.propositional,
        "sinks": list(t.sinks),
        "positions": [text(feature) for feature in t.positions],
        "outputs": list(t.outputs),
        "size": {
            "layers": size.layers,
            "heads": size.heads,
            "d_model": size.d_model,
            "d_ff": size.d_ff,
            "parameters": size.parameters,
        },
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


def _predicates(model: Model) -> dict[str, Any]:
    """The numerical predicates in use, if there are any."""
    found = predicates_of(*model.formulas.values())
    return {"predicates": [to_json(predicate) for predicate in found.values()]} if found else {}


def _tensors(t: Transformer) -> dict[str, NDArray[np.float64]]:
    def dense(tensor: Sparse | NDArray[np.float64]) -> NDArray[np.float64]:
        return tensor.dense() if isinstance(tensor, Sparse) else tensor

    tensors = {name: dense(getattr(t, name)) for name in SHARED}
    for number, layer in enumerate(t.layers):
        for name in layer.tensors:
            tensors[f"layers.{number}.{name}"] = dense(getattr(layer, name))
    return tensors


class _DamagedError(Exception):
    """What is wrong with a folder; becomes an error that names the folder."""


def _load_compiled(folder: Path, config: dict[str, Any]) -> Model:
    try:
        tensors = read_tensors(folder / "model.safetensors", inside=folder)
        listed = [read_predicate(entry, "config.json") for entry in config.get("predicates", ())]
        known = {predicate.name: predicate for predicate in listed}
        transformer = _transformer(config, tensors, known)
        return Model(transformer, _formulas(folder, transformer, known))
    except (_DamagedError, KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, SofthatError):
            raise SofthatError(f"{folder} is damaged: {error}") from None
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise SofthatError(f"{folder} is damaged: {what}") from None


def _formulas(folder: Path, t: Transformer, known: Mapping[str, Predicate]) -> dict[str, Formula]:
    formulas = {}
    known_names = {"propositions" if t.propositional else "alphabet": t.symbols}
    for line in read_text(folder / "formula.txt", inside=folder).removesuffix("\n").split("\n"):
        name, colon, text = line.partition(": ")
        if not colon:
            raise _DamagedError(f"formula.txt: expected `name: formula`, got {line[:60]!r}")
        if name in formulas:
            raise _DamagedError(f"formula.txt: output {name!r} stands there twice")
        formulas[name] = bind(parse(text, **known_names), known)
        predicates_of(formulas[name])  # all are known
    if tuple(formulas) != t.outputs:
        raise _DamagedError("formula.txt and config.json name different outputs")
    return formulas


def _transformer(
    config: dict[str, Any], tensors: dict[str, NDArray[Any]], known: Mapping[str, Predicate]
) -> Transformer:
    d_model = int(config["size"]["d_model"])
    symbols, sinks = _strings(config, "alphabet"), _strings(config, "sinks")
    for reserved in (BOS, EOS, "<pad>"):
        if reserved in symbols:
            raise _DamagedError(f"config.json: {reserved} is reserved and cannot be a symbol")
    positions = tuple(from_name(name, known) for name in _strings(config, "positions"))
    outputs = _strings(config, "outputs")
    if config["attention"] not in get_args(Attention):
        raise _DamagedError(f"config.json: unknown attention {config['attention']!r}")
    if sinks not in ((BOS,), (BOS, EOS)):
        raise _DamagedError(f"config.json: unknown sinks {sinks}")
    remaining = dict(tensors)

    def take(name: str, *shape: int | None) -> NDArray[np.float64]:
        array = remaining.pop(name)
        fits = len(array.shape) == len(shape) and all(
            want is None or want == have for want, have in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype != np.float64:
            expected = "×".join("any" if want is None else str(want) for want in shape)
            have = "×".join(map(str, array.shape))
            raise _DamagedError(f"{name} is {array.dtype} {have}, expected float64 {expected}")
        if not np.isfinite(array).all():
            raise _DamagedError(f"{name} has entries that are not finite")
        return array

    layers = []
    for number, entry in enumerate(config["layers"]):
        heads = entry["heads"]
        count, at = len(heads), f"layers.{number}."
        if any(head["mask"] not in get_args(Mask) for head in heads):
            raise _DamagedError(f"config.json: unknown mask in layer {number}")
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
        positions=positions,
        embedding=Sparse.from_dense(take("embedding", len(symbols) + len(sinks), d_model)),
        position_embedding=Sparse.from_dense(take("position_embedding", d_model, len(positions))),
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
        raise _DamagedError(
            f"model.safetensors has unknown tensors: {', '.join(sorted(remaining))}"
        )
    return transformer


def _law(head: dict[str, Any], attention: Attention) -> Law:
    """Version 1 has C of compiled heads instead of their law."""
    if "law" in head:
        return from_json(head["law"])
    sharpness = float(head["sharpness"])
    if not 0 < sharpness < float("inf"):
        raise _DamagedError(f"config.json: sharpness must be positive, not {sharpness}")
    return law_of_sharpness(sharpness, attention)


def _strings(config: dict[str, Any], name: str) -> tuple[str, ...]:
    value = config[name]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _DamagedError(f"config.json: {name} must be a list of strings")
    return tuple(value)
