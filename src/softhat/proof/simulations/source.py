"""The hard-attention transformer of a simulation, read from its JSON document (`softhat-ahat/1`).

The checker has a reader of its own, so that it stands alone. A document that is not what the
format says raises a SofthatError.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from softhat.io.errors import SofthatError
from softhat.numbers import positions, stored
from softhat.numbers.positions import Feature
from softhat.numerics.exact import Matrix as Matrix
from softhat.numerics.exact import Ties
from softhat.numerics.exact import Vector as Vector
from softhat.numerics.masks import MASKS, Mask

HeadId: TypeAlias = tuple[int, int]
BOS, EOS = "<bos>", "<eos>"
TIES = ("average", "leftmost", "rightmost")
NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class SourceHead:
    """Scores `(query x_i) · (key x_j)` of the keys that the mask shows; the values of the maximal
    ones are averaged, or the leftmost or rightmost one is taken."""

    mask: Mask
    ties: Ties
    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix

    def through(self, c: int) -> Vector:
        """Row c of output · value."""
        width = len(self.output)
        used = [(w, row) for w, row in zip(self.output[c], self.value, strict=True) if w]
        return tuple(sum((w * row[d] for w, row in used), NOTHING) for d in range(width))


@dataclass(frozen=True, slots=True)
class Forward:
    """`x + out · ReLU(into · x + into_bias) + out_bias`."""

    into: Matrix
    into_bias: Vector
    out: Matrix
    out_bias: Vector


@dataclass(frozen=True, slots=True)
class SourceLayer:
    """Heads, then a feed-forward sublayer or none."""

    heads: tuple[SourceHead, ...]
    forward: Forward | None


@dataclass(frozen=True, slots=True)
class SourceModel:
    """The whole transformer; `tokens` are the embeddings of the alphabet's symbols."""

    alphabet: tuple[str, ...]
    features: tuple[Feature, ...]
    tokens: Matrix
    bos: Vector | None
    eos: Vector | None
    places: Matrix  # d_model × features
    layers: tuple[SourceLayer, ...]
    weights: Vector
    bias: Fraction

    @property
    def width(self) -> int:
        """d_model."""
        return len(self.weights)

    @property
    def sinks(self) -> int:
        return (self.bos is not None) + (self.eos is not None)

    @property
    def longest(self) -> int | None:
        """The greatest length that position tables allow."""
        return positions.longest(self.features, self.bos is not None)

    @property
    def heads(self) -> tuple[HeadId, ...]:
        return tuple((l, h) for l, layer in enumerate(self.layers) for h in range(len(layer.heads)))

    def head(self, name: HeadId) -> SourceHead:
        return self.layers[name[0]].heads[name[1]]


def read(document: Mapping[str, Any]) -> SourceModel:
    """The transformer that a document describes."""
    try:
        return _read(document)
    except SofthatError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise SofthatError(f"ahat.json is not a hard-attention transformer: {error!r}") from None


def _read(document: Mapping[str, Any]) -> SourceModel:
    alphabet = tuple(document["alphabet"])
    width = len(document["output"]["weights"])
    features = tuple(stored.from_json(f, "positions") for f in document["positions"])
    has_bos, has_eos = bool(document.get("bos", False)), bool(document.get("eos", False))
    embedding = {s: _vector(v, width) for s, v in document["embedding"].items()}
    if set(embedding) != {*alphabet, *[BOS] * has_bos, *[EOS] * has_eos}:
        raise SofthatError("ahat.json: the embedding must have the alphabet's symbols and sinks")
    return SourceModel(
        alphabet=alphabet,
        features=features,
        tokens=tuple(embedding[s] for s in alphabet),
        bos=embedding.get(BOS),
        eos=embedding.get(EOS),
        places=_matrix(document["position_embedding"], width, len(features)),
        layers=tuple(_layer(layer, width) for layer in document["layers"]),
        weights=_vector(document["output"]["weights"], width),
        bias=_number(document["output"]["bias"]),
    )


def _layer(data: Mapping[str, Any], width: int) -> SourceLayer:
    ff = data.get("feed_forward")
    if ff is None:
        return SourceLayer(tuple(_head(h, width) for h in data["heads"]), None)
    units = len(ff["in"])
    forward = Forward(
        _matrix(ff["in"], units, width),
        _vector(ff["in_bias"], units),
        _matrix(ff["out"], width, units),
        _vector(ff["out_bias"], width),
    )
    return SourceLayer(tuple(_head(h, width) for h in data["heads"]), forward)


def _head(data: Mapping[str, Any], width: int) -> SourceHead:
    mask, ties = data["mask"], data.get("ties", "average")
    if mask not in MASKS or ties not in TIES:
        raise SofthatError(f"ahat.json: no such mask or ties: {mask!r}, {ties!r}")
    rows, values = len(data["query"]), len(data["value"])
    return SourceHead(
        mask,
        ties,
        _matrix(data["query"], rows, width),
        _matrix(data["key"], rows, width),
        _matrix(data["value"], values, width),
        _matrix(data["output"], width, values),
    )


def _matrix(data: Any, rows: int, columns: int) -> Matrix:
    if len(data) != rows:
        raise SofthatError(f"ahat.json: a matrix must have {rows} rows, not {len(data)}")
    return tuple(_vector(row, columns) for row in data)


def _vector(data: Any, length: int) -> Vector:
    if len(data) != length:
        raise SofthatError(f"ahat.json: a row must have {length} entries, not {len(data)}")
    return tuple(_number(x) for x in data)


def _number(data: Any) -> Fraction:
    return stored.number_from_json(data, "ahat.json")


def support(row: Vector) -> set[int]:
    """The coordinates that a row reads."""
    return {c for c, w in enumerate(row) if w}


def columns(matrix: Matrix) -> set[int]:
    """The coordinates that some row of a matrix reads."""
    return set[int]().union(*(support(row) for row in matrix))
