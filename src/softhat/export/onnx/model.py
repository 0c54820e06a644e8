"""A transformer as an ONNX graph, step by step as softhat's own runtime computes it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.onnx.graph import Graph
from softhat.export.onnx.positions import position_part
from softhat.numbers.laws import ONE, Constant, Law
from softhat.numbers.positions import nearest_float
from softhat.transformer.rows import distinct_rows
from softhat.transformer.weights import (
    Layer,
    Sparse,
    Transformer,
    inverse_temperature,
    sharpness_of,
)

COMPARE = {"<=": "LessOrEqual", "<": "Less", ">=": "GreaterOrEqual", ">": "Greater"}
LAW_TABLE = 4096
"""Lengths to which a law of temperature is stored as a table."""


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
    x = g.op("Add", x, position_part(g, t, ordinary, valid, length, scale))
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


class Betas:
    """β(n) of heads, (batch, 1) each, made once for each law in use."""

    def __init__(self, g: Graph, length: str) -> None:
        self.g, self.length = g, length
        self.names: dict[Law, str] = {}

    def __getitem__(self, law: Law) -> str:
        if law not in self.names:
            self.names[law] = self._node(law)
        return self.names[law]

    def _node(self, law: Law) -> str:
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
        self.names: dict[str, str] = {}

    def __getitem__(self, mask: str) -> str:
        if mask not in self.names:
            g = self.g
            if mask == "none":
                seen = g.op("GreaterOrEqual", g.op("Add", self.key, self.query), g.ints(0))
            else:
                seen = g.op(COMPARE[mask], self.key, self.query)
            self.names[mask] = g.op("And", self.valid, seen)
        return self.names[mask]


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
