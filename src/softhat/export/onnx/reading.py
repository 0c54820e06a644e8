"""An ONNX file read back: the transformer whose graph it is.

A graph with the same architecture is built from numbers that name their own places. Where that
graph has such a number the file has the weight of this place. These weights make a transformer.
Its ONNX model is built and must be the file's, byte by byte: nodes, constants, inputs, outputs,
operator sets, functions. So the file computes what the transformer does. Only the metadata are
not compared so: no runtime reads them, and they are a closed list too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.certificates import digest_of
from softhat.export.closed import check_document
from softhat.export.native.reading import native_export, transformer_from
from softhat.export.onnx.model import graph_of
from softhat.export.onnx.to_onnx import model_of
from softhat.export.reading import Export, check_symbols
from softhat.export.torch import architecture
from softhat.io.errors import SofthatError, extra
from softhat.io.files import parse_json, read_bytes, read_json
from softhat.transformer.weights import Transformer

MOST_WEIGHTS = 1 << 24
"""Places that float32 tells apart."""


def read_onnx(path: Path) -> Export:
    """The model in an ONNX file that `to_onnx` wrote."""
    with extra("onnx", "onnx"):
        import onnx
        from google.protobuf.message import DecodeError
    data = read_bytes(path, most=1 << 31)
    try:
        read = onnx.load_model_from_string(data)
    except DecodeError:
        raise SofthatError(f"{path} is no ONNX file") from None
    facts = {entry.key: entry.value for entry in read.metadata_props}
    if any(tensor.data_location or tensor.external_data for tensor in read.graph.initializer):
        raise SofthatError(f"{path} keeps weights in another file, which is not read")
    if "architecture" not in facts:
        raise SofthatError(f"{path} does not say which architecture it has: export it again")
    shape = _fact(facts, "architecture")
    symbols = check_symbols(_names(facts, "alphabet"))
    outputs = _names(facts, "outputs")
    number = np.dtype(
        np.float64 if read.graph.output[0].type.tensor_type.elem_type == 11 else np.float32
    )
    transformer = _transformer(read, shape, symbols, outputs, number)
    beside = path.parent / f"{path.stem}.certificate.json"
    stated = read_json(beside) if beside.exists() else _fact(facts, "certificate", "{}")
    digest = digest_of(data)
    export = native_export("onnx", path, digest, stated, transformer, number.name, facts.get)
    assert export.model is not None
    _check_metadata(path, read, transformer, shape, export.model.meaning())
    return export


def _fact(facts: dict[str, str], name: str, default: str | None = None) -> Any:
    """A document that stands in the metadata, read as strictly as a file."""
    return parse_json(facts.get(name, default) if default else facts[name], name)


def _names(facts: dict[str, str], name: str) -> tuple[str, ...]:
    listed = _fact(facts, name)
    texts = isinstance(listed, list) and all(isinstance(text, str) for text in listed)
    if not texts or len(set(listed)) < len(listed):
        raise SofthatError(f"its metadata have {name} that are not different names")
    return tuple(listed)


def _check_metadata(
    path: Path, read: Any, t: Transformer, shape: dict[str, Any], meaning: Iterable[str]
) -> None:
    """Metadata say what the weights are claimed to compute, and which architecture they have."""
    keys = [entry.key for entry in read.metadata_props]
    allowed = {"alphabet", "outputs", "architecture", "certificate", *meaning}
    for key in keys:
        if key not in allowed or keys.count(key) > 1:
            raise SofthatError(
                f"{path}: its metadata have {key!r} twice, or nothing is known of it"
            )
    expected = architecture(t)
    for ours, theirs in zip(expected["layers"], shape["layers"], strict=True):
        ours["share"] = theirs["share"]  # which the graph was compared with
    check_document(f"{path}: architecture", shape, json.loads(json.dumps(expected)))


def _transformer(
    read: Any,
    shape: dict[str, Any],
    symbols: tuple[str, ...],
    outputs: tuple[str, ...],
    number: np.dtype[Any],
) -> Transformer:
    from onnx import numpy_helper

    graph = read.graph
    _, places = _filled(shape, symbols, outputs, None)
    probe, _ = _filled(shape, symbols, outputs, np.arange(_FIRST, _FIRST + places, dtype=float))
    expected = graph_of(probe, number)
    if [_shape_of(node) for node in expected.nodes] != [_shape_of(node) for node in graph.node]:
        raise SofthatError("the graph is not one that softhat builds for its architecture")
    named = {tensor.name: numpy_helper.to_array(tensor) for tensor in expected.initializers}
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    values = np.zeros(places)
    for ours, theirs in zip(expected.nodes, graph.node, strict=True):
        for a, b in zip(ours.input, theirs.input, strict=True):
            if a in named and b in stored and named[a].dtype == number:
                at = named[a]
                whole = (at >= _FIRST) & (at < _FIRST + places)
                if stored[b].shape != at.shape:
                    raise SofthatError("a constant of the graph has another shape")
                values[(at[whole] - _FIRST).astype(np.int64)] = stored[b][whole]
    transformer, _ = _filled(shape, symbols, outputs, values)
    plain = type(read)()
    plain.CopyFrom(read)
    del plain.metadata_props[:]
    rebuilt = model_of(transformer, number)
    if plain.SerializeToString(deterministic=True) != rebuilt.SerializeToString(deterministic=True):
        raise SofthatError("the graph is not that of any model with its architecture")
    return transformer


_FIRST = 1 << 20
"""Places are numbered from here on, apart from small constants."""


def _shape_of(node: Any) -> tuple[str, int]:
    return node.op_type, len(node.input)


def _filled(
    shape: dict[str, Any],
    symbols: tuple[str, ...],
    outputs: tuple[str, ...],
    values: NDArray[np.float64] | None,
) -> tuple[Transformer, int]:
    """The transformer of an architecture with these weights (0 if none), and how many it has."""
    d = int(shape["d_model"])
    at = 0

    def take(*size: int) -> NDArray[np.float64]:
        nonlocal at
        count = prod(size)
        at += count
        if min(size, default=0) < 0 or at > MOST_WEIGHTS - _FIRST:
            raise SofthatError(
                f"over {MOST_WEIGHTS - _FIRST:,} weights are not read back from ONNX"
            )
        if values is None:
            return np.zeros(size)
        return values[at - count : at].reshape(size)

    sinks = sum(shape[name] is not None for name in ("bos", "eos"))
    embedding = take(len(symbols) + sinks, d)
    tensors: dict[str, NDArray[Any]] = {
        "positions.weight": take(d, len(shape["positions"])),
        "readout.weight": take(len(outputs), d),
        "readout.bias": take(len(outputs)),
    }
    for number, entry in enumerate(shape["layers"]):
        name = f"layers.{number}."
        heads, d_k, d_v = len(entry["masks"]), entry["d_k"], entry["d_v"]
        share = np.array(entry["share"], np.int64)
        sums = int(share.max(initial=-1)) + 1
        tensors |= {
            name + "attention.query.weight": take(heads * d_k, d),
            name + "attention.key.weight": take(heads * d_k, d),
            name + "attention.value.weight": take(heads * d_v, d),
            name + "attention.output.weight": take(d, heads * d_v),
            name + "feed_forward.into.weight": take(sums, d),
            name + "feed_forward.bias": take(len(share)),
            name + "feed_forward.share": share,
            name + "feed_forward.out.weight": take(d, len(share)),
            name + "feed_forward.out.bias": take(d),
        }
    return transformer_from(shape, symbols, outputs, tensors, embedding), at
