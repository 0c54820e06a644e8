"""The forward pass, in NumPy: softmax attention, ReLU feed-forward, nothing else.

`hard` models attend to the average over the argmax set; the soft targets compute softmax and
have no other path. Rows are processed in blocks, so memory is linear in the word's length. The
division by the sum of the weights comes last, so an average of integers is rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.transformer.numerics import Format
from softhat.transformer.positions import features
from softhat.transformer.weights import Layer, Mask, Sparse, Transformer, scale

Array = NDArray[Any]

BLOCK = 1 << 20
"""Scores computed at a time."""
DENSE = 1 << 22
"""Entries up to which a matrix is made dense for the machine's matrix multiplication."""


class Linear:
    """x ↦ x Wᵀ in a number format, before rounding."""

    def __init__(self, matrix: Sparse, form: Format) -> None:
        self.shape = matrix.shape
        values = form.load(matrix.values)
        if matrix.size <= DENSE:
            self.dense: Array | None = np.zeros(matrix.shape, form.accumulate)
            self.dense[matrix.where] = values
            return
        self.dense = None
        rows, columns = matrix.where
        order = np.argsort(rows, kind="stable")
        rows, columns, values = rows[order], columns[order], values[order]
        rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
        self.steps = [
            (rows[rank == k], columns[rank == k], values[rank == k])
            for k in range(int(rank.max(initial=-1)) + 1)
        ]

    def __call__(self, x: Array) -> Array:
        if self.dense is not None:
            return x @ self.dense.T
        y = np.zeros((*x.shape[:-1], self.shape[0]), x.dtype)
        for rows, columns, values in self.steps:
            y[..., rows] += x[..., columns] * values
        return y


class ReadyLayer:
    """A layer's weights in a number format.

    Hidden units with equal incoming weights (the two of a clip) share one sum, so that they
    round alike whatever order the machine adds in.
    """

    def __init__(self, layer: Layer, form: Format) -> None:
        self.masks: tuple[Mask, ...] = layer.masks
        self.sharpness = layer.sharpness
        heads, self.d_k, d_model = layer.query.shape
        self.d_v = layer.value.shape[1]
        self.query = Linear(_flat(layer.query), form)
        self.key = Linear(_flat(layer.key), form)
        self.value = Linear(_flat(layer.value), form)
        merged = (layer.output.where[1], layer.output.where[0] * self.d_v + layer.output.where[2])
        self.output = Linear(Sparse((d_model, heads * self.d_v), merged, layer.output.values), form)
        distinct, self.share = distinct_rows(layer.into)
        self.into = Linear(distinct, form)
        self.into_bias = form.load(layer.into_bias)
        self.out = Linear(layer.out, form)
        self.out_bias = form.load(layer.out_bias)


@dataclass(frozen=True)
class Maps:
    """What a layer did to one word: per head its scores and attention, (heads, rows, rows)."""

    scores: Array
    attention: Array
    outputs: Array  # (heads, rows, d_v)


class Ready:
    """A transformer's weights in one number format."""

    def __init__(self, transformer: Transformer, form: Format) -> None:
        self.transformer = transformer
        self.form = form
        self.embedding = form.load(transformer.embedding.dense())
        self.position_embedding = Linear(transformer.position_embedding, form)
        self.layers = [ReadyLayer(layer, form) for layer in transformer.layers]
        self.readout = Linear(transformer.readout, form)
        self.readout_bias = form.load(transformer.readout_bias)

    def embed(self, tokens: Array) -> Array:
        """(batch, n) symbol codes or (batch, n, propositions) bits to the first residual."""
        t, form = self.transformer, self.form
        batch, n = tokens.shape[:2]
        k = len(t.symbols)
        table = features(t.positions, n, scale(t.attention, n), t.has_eos)
        x = np.zeros((batch, n + 1 + t.has_eos, t.d_model), form.accumulate)
        x[:, 0] = self.embedding[k]
        if t.has_eos:
            x[:, -1] = self.embedding[k + 1]
        if t.propositional:
            x[:, 1 : n + 1] = tokens.astype(form.accumulate) @ self.embedding[:k]
        else:
            x[:, 1 : n + 1] = self.embedding[tokens]
        x += self.position_embedding(form.load(table))
        return form.round(x)

    def step(self, layer: ReadyLayer, x: Array, keep: bool) -> tuple[Array, Maps | None]:
        """One layer: attention and feed-forward, each added to the residual stream."""
        form = self.form
        batch, rows, _ = x.shape
        heads = len(layer.masks)
        maps: list[tuple[Array, Array]] = []
        if heads:
            q = form.round(layer.query(x)).reshape(batch, rows, heads, layer.d_k)
            k = form.round(layer.key(x)).reshape(batch, rows, heads, layer.d_k)
            v = form.round(layer.value(x)).reshape(batch, rows, heads, layer.d_v)
            o = np.empty((batch, rows, heads, layer.d_v), form.accumulate)
            for h in range(heads):
                head = (q[:, :, h], k[:, :, h], v[:, :, h])
                o[:, :, h] = self._attend(*head, layer.masks[h], layer.sharpness[h], maps, keep)
            x = form.round(x + layer.output(o.reshape(batch, rows, -1)))
        if layer.into_bias.size:
            hidden = layer.into(x)[..., layer.share] + layer.into_bias
            hidden = form.round(np.maximum(hidden, 0, out=hidden))
            x = form.round(x + (layer.out(hidden) + layer.out_bias))
        if not keep:
            return x, None
        empty = np.empty((0, rows, rows))
        return x, Maps(
            scores=np.stack([s for s, _ in maps]) if maps else empty,
            attention=np.stack([a for _, a in maps]) if maps else empty,
            outputs=o[0].transpose(1, 0, 2) if heads else np.empty((0, rows, 0)),
        )

    def margins(self, x: Array) -> Array:
        """(batch, n, outputs): the read-out at the word's own positions."""
        end = -1 if self.transformer.has_eos else None
        return self.form.round(self.readout(x[:, 1:end]) + self.readout_bias)

    def _attend(
        self,
        q: Array,
        k: Array,
        v: Array,
        mask: Mask,
        sharpness: float,
        maps: list[tuple[Array, Array]],
        keep: bool,
    ) -> Array:
        """Attention of one head, a block of rows at a time."""
        batch, rows, _ = q.shape
        out = np.empty((batch, rows, v.shape[-1]), q.dtype)
        beta = self._beta(rows, sharpness)
        block = rows if keep else max(1, min(rows, BLOCK // (batch * rows)))
        kt = np.ascontiguousarray(k.transpose(0, 2, 1))
        for start in range(0, rows, block):
            stop = min(start + block, rows)
            low = start if mask == ">=" else 0
            high = stop if mask == "<=" else rows
            scores = q[:, start:stop] @ kt[:, :, low:high]
            if beta != 1:
                scores *= beta
            scores = self.form.round(scores)
            _hide(scores, mask, stop - start)
            weights = self._weights(scores)
            total = weights.sum(axis=-1, keepdims=True)
            out[:, start:stop] = (weights @ v[:, low:high]) / total
            if keep:
                maps.append((scores[0], weights[0] / total[0]))
        return self.form.round(out)

    def _weights(self, scores: Array) -> Array:
        """exp(score - maximum), to be divided by their sum; 1 on the argmax set for `hard`."""
        top = scores.max(axis=-1, keepdims=True)
        if self.transformer.attention == "hard":
            return (scores == top).astype(scores.dtype)
        weights = scores - top
        with np.errstate(under="ignore"):
            np.exp(weights, out=weights)
        return self.form.round(weights)

    def _beta(self, rows: int, sharpness: float) -> float:
        if self.transformer.attention != "temperature":
            return 1.0
        n = rows - len(self.transformer.sinks)
        return sharpness * scale("temperature", n)


def _hide(scores: Array, mask: Mask, block: int) -> None:
    """-inf above the diagonal of the last (for >=: below that of the first) square block."""
    if mask == "none":
        return
    square = scores[..., -block:] if mask == "<=" else scores[..., :block]
    above = np.tri(block, k=-1, dtype=bool)
    square[..., above.T if mask == "<=" else above] = -np.inf


def _flat(tensor: Sparse) -> Sparse:
    """(heads, d, d_model) as (heads·d, d_model)."""
    heads, d, d_model = tensor.shape
    h, r, c = tensor.where
    return Sparse((heads * d, d_model), (h * d + r, c), tensor.values)


def distinct_rows(matrix: Sparse) -> tuple[Sparse, NDArray[np.int64]]:
    """The distinct rows of a matrix, and for each row which of them it is."""
    rows, columns = matrix.where
    contents: list[list[tuple[int, float]]] = [[] for _ in range(matrix.shape[0])]
    for r, c, value in zip(rows.tolist(), columns.tolist(), matrix.values.tolist(), strict=True):
        contents[r].append((c, value))
    index: dict[tuple[tuple[int, float], ...], int] = {}
    share = np.array([index.setdefault(tuple(row), len(index)) for row in contents], np.int64)
    entries = [((at, c), value) for row, at in index.items() for c, value in row]
    return Sparse.of((len(index), matrix.shape[1]), entries), share
