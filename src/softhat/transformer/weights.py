"""A transformer as data: its weights, and names for everything in it.

Token embedding + position embedding; layers of (multi-head attention, residual; ReLU
feed-forward, residual); a linear read-out with a threshold for each output. Each head has its own
mask and its own law of temperature: scores are multiplied by β(n) before the softmax. Compiled
models and simulations of hard attention are both this. Matrices are sparse until they are saved
or run, because almost every entry of a compiled matrix is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.io.plural import plural
from softhat.numbers.laws import ONE, Constant, Law, PowerOfTwo, Product, product
from softhat.numbers.positions import Feature
from softhat.numerics.masks import Mask as Mask

Attention = Literal["hard", "unbounded", "temperature"]
BOS, EOS = "<bos>", "<eos>"
RESERVED = (BOS, EOS, "<pad>")
"""Tokens of sinks and of padding, which are no symbols."""
P = PowerOfTwo(2)
"""Positions are divided by it where features are scaled: the next power of two >= n+2, so that
j/P is exact."""


Entry = tuple[tuple[int, ...], float]
"""Where a tensor is not 0, and what it is there."""
Arrays = tuple[tuple[NDArray[np.int64], ...], NDArray[np.float64]]
_FEW = 32
"""Entries that wait as numbers of Python; more would take too much memory."""


@dataclass(frozen=True)
class Sparse:
    """A tensor by its nonzero entries: `where[axis][k]` and `values[k]`."""

    shape: tuple[int, ...]
    where: tuple[NDArray[np.int64], ...]
    values: NDArray[np.float64]

    @staticmethod
    def of(shape: tuple[int, ...], entries: Iterable[Entry]) -> Sparse:
        """From the entries in any order; zeros are left out."""
        nonzero = sorted([entry for entry in entries if entry[1]])
        return (
            _Listed(shape, nonzero)
            if len(nonzero) <= _FEW
            else Sparse(shape, *_arrays(shape, nonzero))
        )

    @staticmethod
    def from_dense(array: NDArray[Any]) -> Sparse:
        dense = np.asarray(array, dtype=np.float64)
        where = tuple(np.asarray(axis, dtype=np.int64) for axis in np.nonzero(dense))
        return Sparse(dense.shape, where, dense[where])

    def entries(self, held: NDArray[Any] | None = None) -> Iterator[tuple[Any, ...]]:
        """Where it is not 0, axis by axis, and what it is there (or what `held` is)."""
        values = self.values if held is None else held
        return zip(*(axis.tolist() for axis in self.where), values.tolist(), strict=True)

    def dense(self) -> NDArray[np.float64]:
        full = np.zeros(self.shape)
        full[self.where] = self.values
        return full

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class _Listed(Sparse):
    """A tensor with few entries, whose arrays are built when they are first read. A model that is
    compiled and only looked at needs none. Building them takes a tenth of the time that a small
    formula takes."""

    _entries: list[Entry]

    def __init__(self, shape: tuple[int, ...], entries: list[Entry]) -> None:
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "_entries", entries)

    @cached_property
    def _as_arrays(self) -> Arrays:
        return _arrays(self.shape, self._entries)

    @property
    def where(self) -> tuple[NDArray[np.int64], ...]:
        return self._as_arrays[0]

    @property
    def values(self) -> NDArray[np.float64]:
        return self._as_arrays[1]


def _arrays(shape: tuple[int, ...], entries: list[Entry]) -> Arrays:
    if not entries:
        return (np.zeros(0, np.int64),) * len(shape), np.zeros(0)
    at, values = zip(*entries, strict=True)
    return tuple(np.array(at, np.int64).T), np.array(values, np.float64)


@dataclass(frozen=True)
class Layer:
    """`query`, `key`: (heads, d_k, d_model); `value`: (heads, d_v, d_model); `output`:
    (heads, d_model, d_v). Feed-forward: `into` (d_ff, d_model), `out` (d_model, d_ff)."""

    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    masks: tuple[Mask, ...]
    laws: tuple[Law, ...]
    """β of each head: its scores are multiplied by β(n). 1 unless the temperature is scaled."""
    query: Sparse
    key: Sparse
    value: Sparse
    output: Sparse
    into: Sparse
    into_bias: NDArray[np.float64]
    out: Sparse
    out_bias: NDArray[np.float64]

    ATTENTION = ("query", "key", "value", "output")
    FEED_FORWARD = ("into", "into_bias", "out", "out_bias")
    TENSORS = ATTENTION + FEED_FORWARD

    def numbers(self) -> Iterator[NDArray[np.float64]]:
        """All that are not 0."""
        for name in self.TENSORS:
            tensor = getattr(self, name)
            yield tensor.values if isinstance(tensor, Sparse) else tensor

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of its tensors; a layer without hidden units has no feed-forward."""
        return self.ATTENTION + (self.FEED_FORWARD if self.into_bias.size else ())

    @cached_property
    def sharpness(self) -> tuple[float, ...]:
        """C of each head whose law is C·P(n); NaN for any other law."""
        return tuple(map(sharpness_of, self.laws))


@dataclass(frozen=True)
class Coordinate:
    """One direction of the residual stream: what it holds from which layer on (0: embedding)."""

    holds: tuple[tuple[int, str], ...]

    def label(self, layer: int) -> str:
        return next((text for since, text in reversed(self.holds) if since <= layer), "")


@dataclass(frozen=True)
class Size:
    """How large a transformer is."""

    layers: int
    heads: int
    d_model: int
    d_ff: int
    parameters: int

    def __str__(self) -> str:
        many = f"{plural(self.layers, 'layer')}, {plural(self.heads, 'head')}"
        return f"{many}, d_model {self.d_model}, {plural(self.parameters, 'parameter')}"


@dataclass(frozen=True)
class Transformer:
    """All weights. `positions` are the features that `position_embedding` multiplies."""

    attention: Attention
    symbols: tuple[str, ...]
    propositional: bool
    sinks: tuple[str, ...]
    """None, `<bos>` before the word, or `<bos>` and `<eos>` after it."""
    positions: tuple[Feature, ...]
    embedding: Sparse  # (symbols + sinks, d_model)
    position_embedding: Sparse  # (d_model, features)
    layers: tuple[Layer, ...]
    outputs: tuple[str, ...]
    readout: Sparse  # (outputs, d_model)
    readout_bias: NDArray[np.float64]
    coordinates: tuple[Coordinate, ...]

    def __repr__(self) -> str:
        return f"<softhat.Transformer {self.attention}: {self.size}>"

    @property
    def d_model(self) -> int:
        return self.embedding.shape[1]

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.symbols + self.sinks

    def output_name(self, output: str | None) -> str:
        """The output that is meant: the one there is, or the one that is named."""
        if output is None and len(self.outputs) == 1:
            return self.outputs[0]
        if output not in self.outputs:
            asked = "this model has several outputs" if output is None else f"no output {output!r}"
            raise SofthatError(f"{asked}: choose output= one of {', '.join(self.outputs)}")
        return output

    def numbers(self) -> NDArray[np.float64]:
        """All weights that are not 0."""
        own = [x.values for x in (self.embedding, self.position_embedding, self.readout)]
        layers = (tensor for layer in self.layers for tensor in layer.numbers())
        return np.concatenate([*own, self.readout_bias, *layers])

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.numbers()).all())

    @property
    def has_bos(self) -> bool:
        return BOS in self.sinks

    @property
    def has_eos(self) -> bool:
        return EOS in self.sinks

    def own(self, n: int) -> slice:
        """The rows of a word of length n, among those of its sinks."""
        return slice(int(self.has_bos), int(self.has_bos) + n)

    @cached_property
    def size(self) -> Size:
        shared = (self.embedding, self.position_embedding, self.readout)
        parameters = sum(tensor.size for tensor in shared) + self.readout_bias.size
        for layer in self.layers:
            parameters += sum(int(getattr(layer, name).size) for name in layer.tensors)
        return Size(
            layers=len(self.layers),
            heads=sum(len(layer.labels) for layer in self.layers),
            d_model=self.d_model,
            d_ff=max((len(layer.into_bias) for layer in self.layers), default=0),
            parameters=parameters,
        )


def scale(attention: Attention, n: int) -> int:
    """P(n), or 1 for a model that does not scale its temperature."""
    return int(P.at(n)) if attention == "temperature" else 1


def inverse_temperature(law: Law, n: int) -> float:
    """β(n) as a float; infinite beyond the range of floats."""
    try:
        return float(law.at(n))
    except OverflowError:
        return float("inf")


@lru_cache(maxsize=16)  # compiled heads have one of two
def law_of_sharpness(sharpness: float, attention: Attention) -> Law:
    """β of a compiled head: C·P(n) with temperature scaling, else 1."""
    if attention != "temperature":
        return ONE
    return product(Constant(Fraction(sharpness)), P)


def sharpness_of(law: Law) -> float:
    """C of the law C·P(n); NaN of any other."""
    match law:
        case PowerOfTwo(2):
            return 1.0
        case Product((Constant(c), PowerOfTwo(2))):
            return float(c)
    return float("nan")
