"""The forward pass, in NumPy: softmax attention, ReLU feed-forward, nothing else.

It is the walk of a layer (`numerics.walk`) in floats, the same for compiled models and simulations.

`hard` models attend to the average over the argmax set; the soft targets compute softmax and
have no other path. The residual stream is (words, rows, d_model), the words of a batch having
equal length; in memory the words lie side by side, so that all steps are long vector
operations or matrix products. Memory is linear in the words' length. The division by the sum
of the weights comes last, so an average of integers is rounded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.numbers.positions import floats
from softhat.numerics import walk
from softhat.numerics.formats import MANY, Format
from softhat.runtime.attend import Attention
from softhat.runtime.products import SharedProduct, SparseProduct, product
from softhat.transformer.weights import (
    Layer,
    Mask,
    Sparse,
    Transformer,
    inverse_temperature,
    scale,
)

Array = NDArray[Any]

PIECE = 1 << 18
"""Hidden units × positions computed at a time."""
SMALL = 64
"""Position features are kept for so many lengths, as long as words are no longer."""
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
        self.into = SharedProduct(layer.into, form)
        self.into_bias = form.load(layer.into_bias)[:, None]
        self.out = SparseProduct(layer.out, form, MANY)
        self.out_bias = form.load(layer.out_bias)[:, None]


@dataclass(frozen=True)
class Maps:
    """What a layer did to one word: per head its scores and attention, (heads, rows, rows)."""

    scores: Array
    attention: Array
    outputs: Array  # (heads, rows, d_v)


class Floats:
    """The walk's numbers: floats of a format, (coordinates, columns). Sums are taken in its
    accumulating dtype; a step that may use its number's space does."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.store = form.round

    def linear(self, x: Array, matrix: SparseProduct | SharedProduct) -> Array:
        return matrix(x)

    def shift(self, x: Array, bias: Array) -> Array:
        x += bias
        return x

    def relu(self, x: Array) -> Array:
        return np.maximum(x, np.zeros_like(x), out=x)

    def add(self, x: Array, y: Array) -> Array:
        return x + y

    def attend(self, query: Array, key: Array, value: Array, head: ReadyHead) -> Array:
        raise NotImplementedError("which rows a column sees is for those who have words")

    def gather(self, reads: Sequence[Array], layer: ReadyLayer) -> Array:
        return layer.output(self.outputs(reads, layer).reshape(-1, reads[0].shape[1]))

    def outputs(self, reads: Sequence[Array], layer: ReadyLayer) -> Array:
        """(heads, d_v, columns): what every head reads, and 0 where it reads nothing."""
        outputs = np.zeros((len(reads), layer.d_v, reads[0].shape[1]), self.form.accumulate)
        for output, read, head in zip(outputs, reads, layer.heads, strict=True):
            output[head.values] = read
        return outputs


class Words(Floats):
    """Columns are the rows of some words of equal length: each row's words side by side."""

    def __init__(self, ready: Ready, rows: int, batch: int, keep: bool) -> None:
        super().__init__(ready.form)
        self.attention, self.shape = ready.attention, (-1, rows, batch)
        self.n = rows - len(ready.transformer.sinks)
        self.maps: list[tuple[Array, Array]] | None = [] if keep else None
        self.read: Array | None = None

    def add(self, x: Array, y: Array) -> Array:
        return x + (y[..., None] if y.ndim < x.ndim else y)  # a place is the same for all words

    def attend(self, query: Array, key: Array, value: Array, head: ReadyHead) -> Array:
        q, k, v = (x.reshape(self.shape) for x in (query, key, value))
        beta = inverse_temperature(head.law, self.n)
        if self.maps is not None:
            self.maps.append(self.attention.maps(q[..., 0], k[..., 0], head.mask, beta))
        return self.attention(q, k, v, head.mask, beta).reshape(value.shape)

    def outputs(self, reads: Sequence[Array], layer: ReadyLayer) -> Array:
        self.read = super().outputs(reads, layer)
        return self.read

    def first_word_maps(self, heads: int, d_v: int) -> Maps:
        """What the layer did to the first word."""
        _, rows, batch = self.shape
        empty = np.empty((0, rows, rows))
        maps = self.maps or []
        read = np.zeros((heads, d_v, rows * batch)) if self.read is None else self.read
        return Maps(
            scores=np.stack([s for s, _ in maps]) if maps else empty,
            attention=np.stack([a for _, a in maps]) if maps else empty,
            outputs=read.reshape(heads, d_v, rows, batch)[..., 0].transpose(0, 2, 1),
        )


class Ready:
    """A transformer's weights in one number format."""

    def __init__(self, transformer: Transformer, form: Format) -> None:
        self.transformer = transformer
        self.form = form
        self.attention = Attention(form, transformer.attention == "hard")
        self.embedding = form.load(transformer.embedding.dense().T)
        self.position_embedding = SparseProduct(transformer.position_embedding, form)
        ready = {id(layer): ReadyLayer(layer, form) for layer in _different(transformer)}
        self.layers = [ready[id(layer)] for layer in transformer.layers]
        self.readout = SparseProduct(transformer.readout, form)
        self.readout_bias = form.load(transformer.readout_bias)[:, None]
        self._features: dict[int, Array] = {}

    def embed(self, tokens: Array) -> Array:
        """(words, n) symbol codes or (words, n, propositions) bits to the first residual."""
        t, form = self.transformer, self.form
        batch, n = tokens.shape[:2]
        k = len(t.symbols)
        x = np.zeros((t.d_model, n + len(t.sinks), batch), form.accumulate)
        own = t.own(n)
        if t.has_bos:
            x[:, 0] = self.embedding[:, k, None]
        if t.has_eos:
            x[:, -1] = self.embedding[:, k + 1, None]
        letters = tokens.swapaxes(0, 1).reshape(n * batch, *tokens.shape[2:])
        x[:, own] = self.symbols(letters).reshape(-1, n, batch)
        words = Words(self, n + len(t.sinks), batch, keep=False)
        x = walk.embedding(words, self.position_embedding, x, self.features(n))
        return x.transpose(2, 1, 0)

    def features(self, n: int) -> Array:
        """(features, rows): the position features of words of length n."""
        table = self._features.get(n)
        if table is None:
            t = self.transformer
            places = scale(t.attention, n)
            rows = floats(t.positions, n, bos=t.has_bos, eos=t.has_eos, scale=places)
            table = self.form.load(rows.T)
            if n > SMALL or len(self._features) > SMALL:
                self._features = {}
            self._features[n] = table
        return table

    def symbols(self, letters: Array) -> Array:
        """(d_model, letters): embeddings of symbol codes, or of sets as rows of bits."""
        if not self.transformer.propositional:
            return self.embedding.take(letters, axis=1)
        bits = np.ascontiguousarray(letters.T).astype(self.form.accumulate)
        return product(self.embedding[:, : len(bits)], bits)

    @OVERFLOW
    def step(self, layer: ReadyLayer, x: Array, keep: bool) -> tuple[Array, Maps | None]:
        """One layer: attention and feed-forward, each added to the residual stream."""
        batch, rows, d_model = x.shape
        flat = np.ascontiguousarray(x.transpose(2, 1, 0)).reshape(d_model, rows * batch)
        words = Words(self, rows, batch, keep)
        after = self.through(words, layer, flat).reshape(d_model, rows, batch).transpose(2, 1, 0)
        return after, words.first_word_maps(len(layer.heads), layer.d_v) if keep else None

    def through(self, domain: Floats, layer: ReadyLayer, x: Array) -> Array:
        """A layer for a residual stream (d_model, columns), its hidden units a piece at a time."""
        x = walk.attention(domain, layer, x)
        if not layer.into_bias.size:
            return x
        after = np.empty_like(x)
        size = max(64, PIECE // len(layer.into_bias))
        for start in range(0, x.shape[1], size):
            piece = slice(start, start + size)
            after[:, piece] = walk.feed_forward(domain, layer, x[:, piece])
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
        return walk.read_out(Floats(self.form), self.readout, self.readout_bias, flat)


def _different(transformer: Transformer) -> Iterable[Layer]:
    """The layers, each once: a block that is repeated is one."""
    return {id(layer): layer for layer in transformer.layers}.values()


def _used(tensor: Sparse, h: int) -> NDArray[np.int64]:
    """The rows of head h that are not 0."""
    return np.unique(tensor.where[1][tensor.where[0] == h])


def _rows(tensor: Sparse, h: int, rows: NDArray[np.int64]) -> Sparse:
    """Some rows of head h, as a matrix."""
    heads, r, c = tensor.where
    chosen = (heads == h) & np.isin(r, rows)
    where = (np.searchsorted(rows, r[chosen]), c[chosen])
    return Sparse((len(rows), tensor.shape[2]), where, tensor.values[chosen])
