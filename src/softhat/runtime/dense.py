"""The forward pass, in NumPy: softmax attention, ReLU feed-forward, nothing else.

It is the same for compiled models and for simulations.

`hard` models attend to the average over the argmax set; the soft targets compute softmax and
have no other path. The residual stream is (words, rows, d_model), the words of a batch having
equal length; in memory the words lie side by side, so that all steps are long vector
operations or matrix products. Memory is linear in the words' length. The division by the sum
of the weights comes last, so an average of integers is rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.numbers.positions import floats
from softhat.numerics.formats import MANY, Format
from softhat.runtime.attend import Attention
from softhat.runtime.products import SparseProduct, product
from softhat.transformer.weights import (
    Layer,
    Mask,
    Sparse,
    Transformer,
    distinct_rows,
    inverse_temperature,
    scale,
)

Array = NDArray[Any]

PIECE = 1 << 18
"""Hidden units × positions computed at a time."""
OVERFLOW = np.errstate(over="ignore", invalid="ignore")
"""Weights that nobody certified may overflow a format: then logits are NaN, and nothing is true."""


class ReadyHead:
    """A head's weights in a number format, without the rows that are 0."""

    def __init__(self, layer: Layer, h: int, form: Format) -> None:
        self.mask: Mask = layer.masks[h]
        self.law = layer.laws[h]
        scored = np.intersect1d(_used(layer.query, h), _used(layer.key, h))
        self.values = _used(layer.value, h)
        self.query = SparseProduct(_rows(layer.query, h, scored), form)
        self.key = SparseProduct(_rows(layer.key, h, scored), form)
        self.value = SparseProduct(_rows(layer.value, h, self.values), form)


class ReadyLayer:
    """A layer's weights in a number format.

    Hidden units with equal incoming weights (the two of a clip) share one sum, so that they
    round alike whatever order the machine adds in.
    """

    def __init__(self, layer: Layer, form: Format) -> None:
        self.d_v = layer.value.shape[1]
        self.heads = [ReadyHead(layer, h, form) for h in range(len(layer.masks))]
        h, c, r = layer.output.where
        merged = Sparse(
            (layer.output.shape[1], len(self.heads) * self.d_v),
            (c, h * self.d_v + r),
            layer.output.values,
        )
        self.output = SparseProduct(merged, form)
        distinct, self.share = distinct_rows(layer.into)
        self.into = SparseProduct(distinct, form)
        self.into_bias = form.load(layer.into_bias)[:, None]
        self.out = SparseProduct(layer.out, form, MANY)
        self.out_bias = form.load(layer.out_bias)[:, None]


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
        self.attention = Attention(form, transformer.attention == "hard")
        self.embedding = form.load(transformer.embedding.dense().T)
        self.position_embedding = SparseProduct(transformer.position_embedding, form)
        self.layers = [ReadyLayer(layer, form) for layer in transformer.layers]
        self.readout = SparseProduct(transformer.readout, form)
        self.readout_bias = form.load(transformer.readout_bias)[:, None]

    def embed(self, tokens: Array) -> Array:
        """(words, n) symbol codes or (words, n, propositions) bits to the first residual."""
        t, form = self.transformer, self.form
        batch, n = tokens.shape[:2]
        k = len(t.symbols)
        places = scale(t.attention, n)
        table = floats(t.positions, n, bos=t.has_bos, eos=t.has_eos, scale=places)
        x = np.zeros((t.d_model, n + len(t.sinks), batch), form.accumulate)
        own = t.own(n)
        if t.has_bos:
            x[:, 0] = self.embedding[:, k, None]
        if t.has_eos:
            x[:, -1] = self.embedding[:, k + 1, None]
        letters = np.moveaxis(tokens, 1, 0).reshape(n * batch, *tokens.shape[2:])
        x[:, own] = self.symbols(letters).reshape(-1, n, batch)
        x += self.position_embedding(form.load(table.T))[:, :, None]
        return form.round(x).transpose(2, 1, 0)

    def symbols(self, letters: Array) -> Array:
        """(d_model, letters): embeddings of symbol codes, or of sets as rows of bits."""
        if not self.transformer.propositional:
            return self.embedding.take(letters, axis=1)
        bits = np.ascontiguousarray(letters.T).astype(self.form.accumulate)
        return product(self.embedding[:, : len(bits)], bits)

    @OVERFLOW
    def step(self, layer: ReadyLayer, x: Array, keep: bool) -> tuple[Array, Maps | None]:
        """One layer: attention and feed-forward, each added to the residual stream."""
        form = self.form
        batch, rows, d_model = x.shape
        flat = np.ascontiguousarray(x.transpose(2, 1, 0)).reshape(d_model, rows * batch)
        maps: list[tuple[Array, Array]] = []
        outputs = np.zeros((len(layer.heads), layer.d_v, rows, batch), form.accumulate)
        for o, head in zip(outputs, layer.heads, strict=True):
            q, k, v = (
                form.round(matrix(flat)).reshape(-1, rows, batch)
                for matrix in (head.query, head.key, head.value)
            )
            beta = inverse_temperature(head.law, rows - len(self.transformer.sinks))
            o[head.values] = self.attention(q, k, v, head.mask, beta)
            if keep:
                maps.append(self.attention.maps(q[..., 0], k[..., 0], head.mask, beta))
        if layer.heads:
            flat = form.round(flat + layer.output(outputs.reshape(-1, rows * batch)))
        if layer.into_bias.size:
            flat = self.feed_forward(layer, flat)
        after = flat.reshape(d_model, rows, batch).transpose(2, 1, 0)
        if not keep:
            return after, None
        empty = np.empty((0, rows, rows))
        return after, Maps(
            scores=np.stack([s for s, _ in maps]) if maps else empty,
            attention=np.stack([a for _, a in maps]) if maps else empty,
            outputs=outputs[..., 0].transpose(0, 2, 1),
        )

    def feed_forward(self, layer: ReadyLayer, x: Array) -> Array:
        """x + W_out relu(W_in x + b) + b_out, a piece of the positions at a time."""
        form = self.form
        after = np.empty_like(x)
        size = max(64, PIECE // len(layer.into_bias))
        for start in range(0, x.shape[1], size):
            piece = x[:, start : start + size]
            hidden = layer.into(piece)[layer.share] + layer.into_bias
            hidden = form.round(np.maximum(hidden, np.zeros_like(hidden), out=hidden))
            after[:, start : start + size] = form.round(
                piece + (layer.out(hidden) + layer.out_bias)
            )
        return after

    @OVERFLOW
    def margins(self, x: Array) -> Array:
        """(words, n, outputs): the read-out at the word's own positions."""
        batch, rows, d_model = x.shape
        flat = np.ascontiguousarray(x.transpose(2, 1, 0)).reshape(d_model, rows * batch)
        margins = self.read_out(flat)
        own = self.transformer.own(rows - len(self.transformer.sinks))
        return margins.reshape(-1, rows, batch)[:, own].transpose(2, 1, 0)

    def read_out(self, flat: Array) -> Array:
        """(outputs, columns): the margins of a residual stream (d_model, columns)."""
        return self.form.round(self.readout(flat) + self.readout_bias)


def _used(tensor: Sparse, h: int) -> NDArray[np.int64]:
    """The rows of head h that are not 0."""
    return np.unique(tensor.where[1][tensor.where[0] == h])


def _rows(tensor: Sparse, h: int, rows: NDArray[np.int64]) -> Sparse:
    """Some rows of head h, as a matrix."""
    heads, r, c = tensor.where
    chosen = (heads == h) & np.isin(r, rows)
    where = (np.searchsorted(rows, r[chosen]), c[chosen])
    return Sparse((len(rows), tensor.shape[2]), where, tensor.values[chosen])
