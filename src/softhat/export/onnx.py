"""A model as an ONNX graph with dynamic batch and length.

The graph takes the steps of softhat's own runtime: attention is exp(score - row maximum), the
division by the sum of the weights comes last, hidden units with equal incoming weights share one
sum. Inputs are `tokens` (batch, n), the symbols' indices (for propositional models (batch, n,
propositions) bits), and `attention_mask` (batch, n), 1 on the word and 0 on padding, which may be
left out. The output `margins` (batch, n, outputs) is > 0 where the formula holds; a simulation's is
its value. The graph adds the sinks itself. A law of temperature that is neither constant nor C·P(n)
is stored as a table, and so is an arithmetic set of positions: words longer than that are an error
of the runtime.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.errors import MissingExtraError, SofthatError
from softhat.export.certificates import export_certificate, export_facts
from softhat.export.native_labels import labels_of
from softhat.export.onnx_graph import Graph
from softhat.export.torch import architecture, transformer_of
from softhat.files import json_bytes, read_json, resolved, write_files
from softhat.laws import ONE, Constant, Law
from softhat.positions import SHARES, Digit, Feature, Holds, Mod, Named, Table, nearest_float
from softhat.predicates import (
    BuiltIn,
    ListedByLength,
    Periodic,
    Predicate,
    column,
    depends_on_length,
)
from softhat.predicates import longest as length_of
from softhat.runtime.answers import Answers
from softhat.transformer.weights import (
    Layer,
    Sparse,
    Transformer,
    distinct_rows,
    inverse_temperature,
    sharpness_of,
)

OPSET = 18
COMPARE = {"<=": "LessOrEqual", "<": "Less", ">=": "GreaterOrEqual", ">": "Greater"}
LAW_TABLE = 4096
"""Lengths to which a law of temperature is stored as a table."""
PREDICATE_TABLE = 1 << 16
"""Positions to which an arithmetic set is stored as a table: no graph computes the primes."""
MOST = 2**31
"""A protobuf file holds less than 2 GiB."""


def to_onnx(model: Answers, file: str | Path, dtype: str = "float32") -> None:
    """Write the ONNX file, and beside it `NAME.labels.json` and `NAME.certificate.json`."""
    path = resolved(file)
    t = transformer_of(model)
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where the name is too long
        raise SofthatError(f"{path} is a folder: give the name of a file, such as model.onnx")
    certificate = export_certificate(model, "onnx", longest_word(t), dtype)
    data = _serialized(model, dtype, certificate)
    beside = {
        f"{path.stem}.labels.json": json_bytes(labels_of(model).to_json()),
        f"{path.stem}.certificate.json": json_bytes({**certificate, **export_facts(t, data)}),
    }
    _check_beside(path.parent, beside)
    write_files(path.parent, {**beside, path.name: data})


def longest_word(t: Transformer) -> int | None:
    """The longest words that the tables made here allow."""
    stored = [
        f.predicate
        for f in t.positions
        if isinstance(f, Holds) and isinstance(f.predicate, BuiltIn)
    ]
    return None if all(map(depends_on_length, stored)) else PREDICATE_TABLE


def _check_beside(folder: Path, names: Iterable[str]) -> None:
    """The user did not name these files: only ours are replaced."""
    for path in (folder / name for name in names):
        if not os.path.lexists(path):
            continue
        try:
            document = read_json(path, inside=folder)
            ours = str(document["format"]).startswith("softhat-")
        except (SofthatError, KeyError, TypeError):
            ours = False
        if not ours:
            raise SofthatError(
                f"{path} is in the way, and softhat did not write it: choose another name"
            )


def _serialized(model: Answers, dtype: str, certificate: dict[str, Any]) -> bytes:
    try:
        import onnx
        from onnx import helper
    except ImportError:
        raise MissingExtraError("onnx", "onnx") from None
    if dtype not in ("float32", "float64"):
        raise SofthatError(f"ONNX models are float32 or float64, not {dtype!r}")
    t = transformer_of(model)
    if t.size.parameters * np.dtype(dtype).itemsize >= MOST:
        raise SofthatError(
            f"{t.size.parameters:,} parameters do not fit an ONNX file (2 GiB): use to_torch"
        )
    graph = graph_of(t, np.dtype(dtype))
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    tokens = (
        helper.make_tensor_value_info(
            "tokens", onnx.TensorProto.BOOL, ["batch", "n", len(t.symbols)]
        )
        if t.propositional
        else helper.make_tensor_value_info("tokens", onnx.TensorProto.INT64, ["batch", "n"])
    )
    mask = helper.make_tensor_value_info(
        "attention_mask", onnx.TensorProto.INT64, ["mask_batch", "mask_n"]
    )
    margins = helper.make_tensor_value_info("margins", number, ["batch", "n", len(t.outputs)])
    made = helper.make_model(
        helper.make_graph(graph.nodes, "softhat", [tokens, mask], [margins], graph.used()),
        producer_name="softhat",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=9,
    )
    helper.set_model_props(
        made,
        {
            "alphabet": json.dumps(list(t.symbols), ensure_ascii=False),
            "outputs": json.dumps(list(t.outputs), ensure_ascii=False),
            "architecture": json.dumps(architecture(t), ensure_ascii=False),
            **{name: data.decode() for name, data in model.meaning().items()},
            "certificate": json.dumps(certificate, ensure_ascii=False),
        },
    )
    onnx.checker.check_model(made, full_check=True)
    data: bytes = made.SerializeToString(deterministic=True)
    return data


def graph_of(t: Transformer, number: np.dtype[Any]) -> Graph:
    """The graph of a transformer."""
    graph = Graph(number)
    _build(graph, t)
    return graph


def _build(g: Graph, t: Transformer) -> None:
    """tokens, attention_mask → margins."""
    g.optional("attention_mask", np.ones((1, 1), np.int64))
    shape = g.op("Slice", g.op("Shape", "tokens"), g.ints([0]), g.ints([2]))
    batch = g.op("Slice", shape, g.ints([0]), g.ints([1]))
    n = g.op("Slice", shape, g.ints([1]), g.ints([2]))
    column = g.op("Concat", batch, g.ints([1]), axis=0)
    own = g.op("Cast", g.op("Expand", "attention_mask", shape), to=g.INT64)
    own = g.op("Min", g.op("Abs", own), g.ints([1]))
    one = g.op("Expand", g.ints([[1]]), column)
    zero = g.op("Expand", g.ints([[0]]), column)
    tail = t.has_eos
    head = t.has_bos
    ordinary = g.op("Concat", *[zero] * head, own, *[zero] * tail, axis=1)
    valid = g.op("Concat", *[one] * head, own, *[one] * tail, axis=1)
    x = _embedded(g, t, batch)
    length = g.op("ReduceSum", ordinary, g.ints([1]), keepdims=1)  # (batch, 1)
    scale = _scale(g, t, length)
    x = g.op("Add", x, _positions(g, t, ordinary, valid, length, scale))
    masks = Masks(g, valid)
    betas = Betas(g, length)
    for layer in t.layers:
        x = _layer(g, t, layer, x, betas, masks)
    stop = g.op("Add", n, g.ints([int(head)]))
    words = g.op("Slice", x, g.ints([int(head)]), stop, g.ints([1]))
    y = g.op("MatMul", words, g.numbers(t.readout.dense().T))
    g.op("Add", y, g.numbers(t.readout_bias), name="margins")


def _embedded(g: Graph, t: Transformer, batch: str) -> str:
    table = t.embedding.dense()
    k = len(t.symbols)
    if t.propositional:
        word = g.op("MatMul", g.float("tokens"), g.numbers(table[:k]))
    else:
        word = g.op("Gather", g.numbers(table[:k]), "tokens", axis=0)
    row = g.op("Concat", batch, g.ints([1, t.d_model]), axis=0)
    sinks = [g.op("Expand", g.numbers(table[at][None, None]), row) for at in range(k, len(table))]
    return g.op("Concat", *sinks[: int(t.has_bos)], word, *sinks[int(t.has_bos) :], axis=1)


def _scale(g: Graph, t: Transformer, length: str) -> str:
    """P (batch, 1), 1 without temperature."""
    return _power(g, length) if t.attention == "temperature" else g.numbers(np.ones((1, 1)))


def _power(g: Graph, length: str) -> str:
    """The next power of two >= n+2, (batch, 1)."""
    powers = 1 << np.arange(62, dtype=np.int64)
    reached = g.op("GreaterOrEqual", g.op("Add", length, g.ints([1])), g.ints(powers))
    doubled = g.op("Where", reached, g.ints(2 * powers), g.ints([1]))
    return g.float(g.op("ReduceMax", doubled, g.ints([1]), keepdims=1))


def _positions(g: Graph, t: Transformer, ordinary: str, valid: str, length: str, scale: str) -> str:
    """Position features (batch, rows, features) times the position embedding."""
    if not t.positions:
        return g.numbers(np.zeros((1, 1, t.d_model)))
    index = g.op("Sub", g.op("CumSum", valid, g.ints(1)), g.ints([int(t.has_bos)]))
    columns = []
    for feature in t.positions:
        column = _feature(g, feature, ordinary, index, length, t.has_bos)
        if isinstance(feature, Named) and feature.scaled:
            column = g.op("Div", column, scale)
        columns.append(g.op("Unsqueeze", column, g.ints([2])))
    table = g.op("Concat", *columns, axis=2)
    return g.op("MatMul", table, g.numbers(t.position_embedding.dense().T))


def _feature(g: Graph, feature: Feature, ordinary: str, index: str, length: str, bos: bool) -> str:
    """One feature, (batch, rows), before it is divided by P."""
    own = g.op("Cast", ordinary, to=g.BOOL)
    one = g.op("Add", g.op("Mul", index, g.ints([0])), g.ints([1]))
    i = g.op("Mul", ordinary, index)
    match feature:
        case Mod(modulus, remainder, sinks):
            found = g.op("Mod", index, g.ints([min(modulus, 2**62)]))
            found = g.op("Equal", found, g.ints([min(remainder, 2**62)]))
            return g.float(found if sinks else g.op("And", own, found))
        case Digit(bit, position, length_factor, constant):
            number = g.op("Mul", index, g.ints([position]))
            number = g.op("Add", number, g.op("Mul", length, g.ints([length_factor])))
            number = g.op("Max", g.op("Add", number, g.ints([constant])), g.ints([0]))
            digit = g.op("Mod", g.op("Div", number, g.ints([1 << min(bit, 62)])), g.ints([2]))
            return g.float(g.op("Mul", ordinary, digit))
        case Table(entries):
            values = g.numbers(np.array([nearest_float(x) for x in entries] + [0.0]))
            held = g.op("Or", own, g.op("Equal", index, g.ints([0]))) if bos else own
            place = index if bos else g.op("Sub", index, g.ints([1]))
            return g.op("Gather", values, g.op("Where", held, place, g.ints([len(entries)])))
        case Holds(predicate):
            return g.op("Mul", g.float(ordinary), _predicate(g, predicate, own, index, length))
        case Named("1"):
            return g.float(one)
        case Named("ordinary"):
            return g.float(ordinary)
        case Named("i"):
            return g.float(i)
        case Named("r"):
            distance = g.op("Sub", g.op("Add", length, g.ints([1])), index)
            return g.float(g.op("Mul", ordinary, distance))
        case Named("n"):
            return g.float(g.op("Mul", one, length))
        case Named("i/n"):
            return g.op("Div", g.float(i), g.float(length))
        case Named(name) if name in SHARES:
            share = g.float(i)
            for _ in range(SHARES[name]):
                share = g.op("Div", share, g.float(length))
            return share
        case Named("1/i"):
            return g.op("Div", g.float(ordinary), g.float(g.op("Max", i, one)))
        case Named("i^2"):
            return g.float(g.op("Mul", i, i))
        case Named("(-1)^i"):
            odd = g.op("Mod", index, g.ints([2]))
            return g.float(g.op("Sub", g.ints([1]), g.op("Mul", odd, g.ints([2]))))
        case Named("first"):
            return g.float(g.op("And", own, g.op("Equal", index, g.ints([1]))))
        case Named("last"):
            return g.float(g.op("And", own, g.op("Equal", index, length)))
        case Named(name):
            raise SofthatError(f"unknown position feature {name!r}")


def _predicate(g: Graph, predicate: Predicate, own: str, index: str, length: str) -> str:
    """A numerical predicate at the word's own positions, (batch, rows); elsewhere anything."""
    before = g.op("Sub", g.op("Where", own, index, g.ints([1])), g.ints([1]))  # 0 for i = 1
    match predicate:
        case BuiltIn("middle"):
            twice = g.op("Mul", index, g.ints([2]))
            late = g.op("Equal", twice, g.op("Add", length, g.ints([1])))
            return g.float(g.op("Or", g.op("Equal", twice, length), late))
        case Periodic(_, start, period):
            beyond = g.op("Mod", g.op("Sub", before, g.ints([len(start)])), g.ints([len(period)]))
            beyond = g.op("Add", beyond, g.ints([len(start)]))
            early = g.op("Less", before, g.ints([len(start)]))
            place = g.op("Where", early, before, beyond)
            held = np.array([bit == "1" for bit in start + period])
        case ListedByLength(_, longest, _):
            # The bits of length n begin after those of 1 … n-1.
            above = g.op("Mul", length, g.op("Sub", length, g.ints([1])))
            place = g.op("Add", g.op("Div", above, g.ints([2])), before)
            rows = [column(predicate, np.arange(1, n + 1), n) for n in range(1, longest + 1)]
            held = np.concatenate(rows)
        case _:
            place = before
            size = length_of(predicate) or PREDICATE_TABLE
            held = column(predicate, np.arange(1, size + 1), size)
    return g.op("Gather", g.numbers(held.astype(np.float64)), place)


class Betas:
    """β(n) of heads, (batch, 1) each, made once for each law in use."""

    def __init__(self, g: Graph, length: str) -> None:
        self.g, self.length = g, length
        self.made: dict[Law, str] = {}

    def __getitem__(self, law: Law) -> str:
        if law not in self.made:
            self.made[law] = self._made(law)
        return self.made[law]

    def _made(self, law: Law) -> str:
        g = self.g
        match law:
            case Constant(c):
                column = g.op("Mul", self.length, g.ints([0]))
                return g.op("Add", g.float(column), g.numbers(np.array([nearest_float(c)])))
        sharpness = sharpness_of(law)
        if not math.isnan(sharpness):
            return g.op("Mul", _power(g, self.length), g.numbers(np.array([sharpness])))
        table = [inverse_temperature(law, max(n, 1)) for n in range(LAW_TABLE + 1)]
        return g.op("Gather", g.numbers(np.array(table)), self.length)


class Masks:
    """Which keys a query sees, (batch, 1, rows, rows), made once for each mask in use."""

    def __init__(self, g: Graph, valid: str) -> None:
        self.g = g
        rows = g.op("Squeeze", g.op("Slice", g.op("Shape", valid), g.ints([1]), g.ints([2])))
        at = g.op("Range", g.ints(0), rows, g.ints(1))
        self.key = g.op("Unsqueeze", at, g.ints([0]))
        self.query = g.op("Unsqueeze", at, g.ints([1]))
        self.valid = g.op("Cast", g.op("Unsqueeze", valid, g.ints([1, 2])), to=g.BOOL)
        self.made: dict[str, str] = {}

    def __getitem__(self, mask: str) -> str:
        if mask not in self.made:
            g = self.g
            if mask == "none":
                seen = g.op("GreaterOrEqual", g.op("Add", self.key, self.query), g.ints(0))
            else:
                seen = g.op(COMPARE[mask], self.key, self.query)
            self.made[mask] = g.op("And", self.valid, seen)
        return self.made[mask]


def _layer(g: Graph, t: Transformer, layer: Layer, x: str, betas: Betas, masks: Masks) -> str:
    """Attention and feed-forward, each added to the residual stream."""
    if layer.masks:
        x = g.op("Add", x, _attention(g, t, layer, x, betas, masks))
    if layer.into_bias.size:
        rows, share = distinct_rows(layer.into)
        sums = g.op("MatMul", x, g.numbers(rows.dense().T))
        hidden = g.op(
            "Add", g.op("Gather", sums, g.ints(share), axis=2), g.numbers(layer.into_bias)
        )
        update = g.op("MatMul", g.op("Relu", hidden), g.numbers(layer.out.dense().T))
        x = g.op("Add", x, g.op("Add", update, g.numbers(layer.out_bias)))
    return x


def _attention(g: Graph, t: Transformer, layer: Layer, x: str, betas: Betas, masks: Masks) -> str:
    heads, d_model, d_v = layer.output.shape
    q, k, v = (_projected(g, tensor, x) for tensor in (layer.query, layer.key, layer.value))
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    if any(law != ONE for law in layer.laws):
        beta = g.op("Concat", *(betas[law] for law in layer.laws), axis=1)  # (batch, heads)
        scores = g.op("Mul", scores, g.op("Unsqueeze", beta, g.ints([2, 3])))
    distinct = set(layer.masks)
    parts = [masks[mask] for mask in (layer.masks if len(distinct) > 1 else layer.masks[:1])]
    seen = parts[0] if len(parts) == 1 else g.op("Concat", *parts, axis=1)
    scores = g.op("Where", seen, scores, g.numbers(np.array(-np.inf)))
    top = g.op("ReduceMax", scores, g.ints([-1]), keepdims=1)
    nothing = g.numbers(np.array(-np.inf))  # a row without keys: all its weights are 0
    top = g.op("Where", g.op("Equal", top, nothing), g.numbers(np.array(0.0)), top)
    if t.attention == "hard":
        weights = g.float(g.op("Equal", scores, top))
    else:
        weights = g.op("Exp", g.op("Sub", scores, top))
    total = g.op("ReduceSum", weights, g.ints([-1]), keepdims=1)
    empty = g.op("Equal", total, g.numbers(np.array(0.0)))
    total = g.op("Where", empty, g.numbers(np.array(1.0)), total)
    o = g.op("Div", g.op("MatMul", weights, v), total)
    o = g.op("Reshape", g.op("Transpose", o, perm=[0, 2, 1, 3]), g.ints([0, 0, heads * d_v]))
    output = layer.output.dense().transpose(0, 2, 1).reshape(heads * d_v, d_model)
    return g.op("MatMul", o, g.numbers(output))


def _projected(g: Graph, tensor: Sparse, x: str) -> str:
    """(batch, heads, rows, d); a head without coordinates (an Average's query) gets a zero."""
    heads, d, d_model = tensor.shape
    matrix: NDArray[np.float64] = tensor.dense()
    if d == 0:
        matrix, d = np.zeros((heads, 1, d_model)), 1
    y = g.op("MatMul", x, g.numbers(matrix.reshape(heads * d, d_model).T))
    return g.op("Transpose", g.op("Reshape", y, g.ints([0, 0, heads, d])), perm=[0, 2, 1, 3])
