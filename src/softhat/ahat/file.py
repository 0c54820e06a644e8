"""Average-hard attention transformers as JSON files (`softhat-ahat/1`), read exactly.

Numbers are integers or strings (`"-3"`, `"p/q"`, `"0.125"`); a JSON float is refused, since the
text `0.1` would then mean two different numbers. Every error names its place in the file, such
as `layers[1].heads[0].key[2][3]`.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from softhat.ahat.model import AHAT, BOS, EOS, MASKS, TIES, FeedForward, Head, Layer, Matrix, Vector
from softhat.io.argument_types import instance
from softhat.io.errors import SofthatError
from softhat.io.files import as_path, exists, is_file, parse_json, read_text, write_file
from softhat.numbers import stored
from softhat.numbers.positions import Feature, Named
from softhat.numbers.stored import kind_of_data
from softhat.transformer.weights import RESERVED

FORMAT = "softhat-ahat/1"


def load(path: str | Path) -> AHAT:
    """Read an AHAT from its JSON file, or from the folder of a simulation of it."""
    source = as_path(path)
    if is_file(source / "ahat.json"):
        source = source / "ahat.json"
    if not exists(source):
        raise SofthatError(f"no file {str(path)!r}: give the JSON file of an AHAT")
    return loads(read_text(source), str(path))


def loads(text: str, source: str = "the AHAT") -> AHAT:
    """Read an AHAT from JSON text."""
    instance("text", text, (str, bytes), "the text of an AHAT in JSON")
    data = parse_json(text, source)
    try:
        return _model(data)
    except _BadPlaceError as fault:
        raise SofthatError(f"{source}: {fault}") from None


def save(model: AHAT, path: str | Path) -> None:
    """Write the model's JSON file."""
    write_file(path, dumps(model).encode())


def dumps(model: AHAT) -> str:
    """The model as JSON text: one line a matrix row, so that people can read it."""
    instance("model", model, AHAT, "a softhat.AHAT")
    embedding = {s: _out(v) for s, v in zip(model.alphabet, model.embedding, strict=True)}
    if model.bos_embedding is not None:
        embedding[BOS] = _out(model.bos_embedding)
    if model.eos_embedding is not None:
        embedding[EOS] = _out(model.eos_embedding)
    data: dict[str, Any] = {
        "format": FORMAT,
        "alphabet": list(model.alphabet),
        "bos": model.bos,
        **({"eos": True} if model.eos else {}),
        "positions": [stored.to_json(f) for f in model.positions],
        "embedding": embedding,
        "position_embedding": [_out(row) for row in model.position_embedding],
        "layers": [_layer_out(layer) for layer in model.layers],
        "output": {
            "weights": _out(model.output_weights),
            "bias": stored.number_to_json(model.output_bias),
        },
    }
    if model.names:
        data["names"] = list(model.names)
    text = json.dumps(data, indent=1, ensure_ascii=False)
    flat = re.compile(
        r"\[\s+((?:-?\d+|\"(?:[^\"\\]|\\.)*\")(?:,\s+(?:-?\d+|\"(?:[^\"\\]|\\.)*\"))*)\s+\]"
    )
    return flat.sub(lambda m: "[" + re.sub(r",\s+", ", ", m[1]) + "]", text) + "\n"


class _BadPlaceError(Exception):
    """What is wrong and where; becomes the SofthatError's message."""


def _fields(data: Any, place: str, required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    """data is an object with exactly these fields."""
    if not isinstance(data, dict):
        raise _BadPlaceError(f"{place or 'the file'} must be an object, not {kind_of_data(data)}")
    dot = f"{place}." if place else ""
    for key in data:
        if key not in required and key not in optional:
            raise _BadPlaceError(
                f"unknown field {dot}{key}; known: {', '.join(required + optional)}"
            )
    for key in required:
        if key not in data:
            raise _BadPlaceError(f"the field {dot}{key} is missing")


def _model(data: Any) -> AHAT:
    required = (
        "format", "alphabet", "positions", "embedding", "position_embedding", "layers", "output",
    )  # fmt: skip
    if isinstance(data, dict) and data.get("format", FORMAT) != FORMAT:
        raise _BadPlaceError(f"format must be {FORMAT!r}, not {data['format']!r}")
    _fields(data, "", required, ("bos", "eos", "names"))
    alphabet = _list(data["alphabet"], "alphabet")
    for k, symbol in enumerate(alphabet):
        if not isinstance(symbol, str) or not symbol:
            raise _BadPlaceError(
                f"alphabet[{k}] must be a non-empty string, not {kind_of_data(symbol)}"
            )
        if symbol in RESERVED or any(c.isspace() for c in symbol):
            raise _BadPlaceError(f"alphabet[{k}]: {symbol!r} cannot be a symbol")
        if symbol in alphabet[:k]:
            raise _BadPlaceError(f"alphabet[{k}]: {symbol!r} appears twice")
    if not alphabet:
        raise _BadPlaceError("alphabet must have at least one symbol")
    bos = data.get("bos", False)
    if not isinstance(bos, bool):
        raise _BadPlaceError(f"bos must be true or false, not {kind_of_data(bos)}")
    features = tuple(
        _feature(f, f"positions[{k}]") for k, f in enumerate(_list(data["positions"], "positions"))
    )
    _fields(data["output"], "output", ("weights", "bias"), ())
    weights = _vector(data["output"]["weights"], "output.weights", None)
    d = len(weights)
    if d == 0:
        raise _BadPlaceError(
            "output.weights must have one entry a coordinate of the residual, not none"
        )
    eos = data.get("eos", False)
    if not isinstance(eos, bool):
        raise _BadPlaceError(f"eos must be true or false, not {kind_of_data(eos)}")
    if eos and not bos:
        raise _BadPlaceError("eos needs bos: <eos> comes only with <bos>")
    wanted = (*alphabet, *(BOS,) * bos, *(EOS,) * eos)
    _fields(data["embedding"], "embedding", wanted, ())
    embedding = {s: _vector(data["embedding"][s], f"embedding[{s!r}]", d) for s in wanted}
    names = data.get("names", [])
    if not isinstance(names, list) or not all(isinstance(s, str) for s in names):
        raise _BadPlaceError("names must be a list of strings")
    if names and len(names) != d:
        raise _BadPlaceError(f"names must have {d} entries, one a coordinate, not {len(names)}")
    layers = _list(data["layers"], "layers")
    return AHAT(
        alphabet=tuple(alphabet),
        bos=bos,
        positions=features,
        embedding=tuple(embedding[s] for s in alphabet),
        bos_embedding=embedding[BOS] if bos else None,
        eos_embedding=embedding[EOS] if eos else None,
        position_embedding=_matrix(
            data["position_embedding"], "position_embedding", d, len(features)
        ),
        layers=tuple(_layer(layer, f"layers[{k}]", d) for k, layer in enumerate(layers)),
        output_weights=weights,
        output_bias=_number(data["output"]["bias"], "output.bias"),
        names=tuple(names),
    )


def _layer(data: Any, place: str, d: int) -> Layer:
    _fields(data, place, ("heads",), ("feed_forward",))
    heads = _list(data["heads"], f"{place}.heads")
    forward = data.get("feed_forward")
    return Layer(
        heads=tuple(_head(h, f"{place}.heads[{k}]", d) for k, h in enumerate(heads)),
        feed_forward=None
        if forward is None
        else _feed_forward(forward, f"{place}.feed_forward", d),
    )


def _head(data: Any, place: str, d: int) -> Head:
    _fields(data, place, ("mask", "query", "key", "value", "output"), ("name", "ties"))
    if data["mask"] not in MASKS:
        raise _BadPlaceError(f"{place}.mask must be one of {' '.join(MASKS)}, not {data['mask']!r}")
    ties = data.get("ties", "average")
    if ties not in TIES:
        raise _BadPlaceError(f"{place}.ties must be one of {' '.join(TIES)}, not {ties!r}")
    name = data.get("name", "")
    if not isinstance(name, str):
        raise _BadPlaceError(f"{place}.name must be a string, not {kind_of_data(name)}")
    query = _matrix(data["query"], f"{place}.query", None, d)
    value = _matrix(data["value"], f"{place}.value", None, d)
    return Head(
        mask=data["mask"],
        query=query,
        key=_matrix(data["key"], f"{place}.key", len(query), d),
        value=value,
        output=_matrix(data["output"], f"{place}.output", d, len(value)),
        name=name,
        ties=ties,
    )


def _feed_forward(data: Any, place: str, d: int) -> FeedForward:
    _fields(data, place, ("in", "in_bias", "out", "out_bias"), ())
    inner = _matrix(data["in"], f"{place}.in", None, d)
    return FeedForward(
        in_weights=inner,
        in_bias=_vector(data["in_bias"], f"{place}.in_bias", len(inner)),
        out_weights=_matrix(data["out"], f"{place}.out", d, len(inner)),
        out_bias=_vector(data["out_bias"], f"{place}.out_bias", d),
    )


def _feature(data: Any, place: str) -> Feature:
    try:
        feature = stored.from_json(data, place)
    except SofthatError as error:
        raise _BadPlaceError(str(error)) from None
    if isinstance(feature, Named) and feature.scaled:
        raise _BadPlaceError(f"{place}: hard attention has no P to divide by")
    return feature


def _list(data: Any, place: str) -> list[Any]:
    if not isinstance(data, list):
        raise _BadPlaceError(f"{place} must be a list, not {kind_of_data(data)}")
    return data


def _matrix(data: Any, place: str, rows: int | None, columns: int) -> Matrix:
    entries = _list(data, place)
    if rows is not None and len(entries) != rows:
        raise _BadPlaceError(f"{place} must have {rows} rows, not {len(entries)}")
    return tuple(_vector(row, f"{place}[{k}]", columns) for k, row in enumerate(entries))


def _vector(data: Any, place: str, length: int | None) -> Vector:
    entries = _list(data, place)
    if length is not None and len(entries) != length:
        raise _BadPlaceError(f"{place} must have {length} entries, not {len(entries)}")
    return tuple(_number(x, f"{place}[{k}]") for k, x in enumerate(entries))


def _number(data: Any, place: str) -> Fraction:
    try:
        return stored.number_from_json(data, place)
    except SofthatError as error:
        raise _BadPlaceError(str(error)) from None


def _out(row: Vector) -> list[int | str]:
    return [stored.number_to_json(x) for x in row]


def _layer_out(layer: Layer) -> dict[str, Any]:
    heads = []
    for head in layer.heads:
        data: dict[str, Any] = {"name": head.name} if head.name else {}
        data["mask"] = head.mask
        if head.ties != "average":
            data["ties"] = head.ties
        for part in ("query", "key", "value", "output"):
            data[part] = [_out(row) for row in getattr(head, part)]
        heads.append(data)
    forward = layer.feed_forward
    if forward is None:
        return {"heads": heads, "feed_forward": None}
    inner = {
        "in": [_out(row) for row in forward.in_weights],
        "in_bias": _out(forward.in_bias),
        "out": [_out(row) for row in forward.out_weights],
        "out_bias": _out(forward.out_bias),
    }
    return {"heads": heads, "feed_forward": inner}
