"""The evidence of a simulation, as it stands in its certificate: claims, read and not believed.

A claim of the wrong shape is a SofthatError. Coordinates are numbers as text, laws the JSON of
`softhat.numbers.laws`, weights laws that are one monomial.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from softhat.io.errors import SofthatError
from softhat.numbers.growth import Polynomial
from softhat.numbers.laws import Law
from softhat.numbers.laws.stored import from_json
from softhat.proof.simulations.errors import Sharp
from softhat.proof.simulations.sizes import SizeLaw, from_document

FORMAT = "softhat-evidence/1"
LENGTH_FORMAT = "softhat-evidence/length/1"


@dataclass(frozen=True, slots=True)
class ClaimedCoordinate:
    """What is claimed of one coordinate: a nonzero value is at least `least` (None: there is none),
    and every value lies between low(n) and high(n)."""

    least: Law | None
    low: Polynomial
    high: Polynomial


@dataclass(frozen=True, slots=True)
class GapClaim:
    """Of a head that is not uniform: its least gap, how many keys lie at each multiple of it (None:
    any number), and the least difference of its scores without the row that breaks its ties."""

    gap: Law
    crowd: int | None
    others: Law | None


@dataclass(frozen=True, slots=True)
class LengthEvidence:
    """Claims to a given length: coordinates and gaps, a layer; the least |value|, if it is known to
    be more than 0."""

    streams: tuple[tuple[ClaimedCoordinate, ...], ...]
    heads: tuple[tuple[GapClaim | None, ...], ...]
    margin: Law | None


@dataclass(frozen=True, slots=True)
class HeadClaim:
    """A head that is not uniform. `others`: what the least difference of its scores is without the
    row that breaks its ties; `short_gaps`: its gaps at n = 1, 2, …, where β is a table."""

    sharp: Sharp
    others: Law | None
    short_gaps: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class LayerClaim:
    """Coordinates and weights before the layer, weights after its heads, its heads."""

    stream: tuple[ClaimedCoordinate, ...]
    before: Mapping[int, SizeLaw]
    middle: Mapping[int, SizeLaw]
    heads: tuple[HeadClaim | None, ...]  # None: uniform


@dataclass(frozen=True, slots=True)
class Evidence:
    """All claims. `allowed` is the error that is allowed, `share` what softmax may use of it; None
    where no error at all is claimed."""

    allowed: Law | None
    share: Fraction
    layers: tuple[LayerClaim, ...]
    end: Mapping[int, SizeLaw]


def read(data: Any) -> Evidence:
    """The claims in a JSON document."""
    with _readable(data, FORMAT):
        return Evidence(
            allowed=_law(data["allowed"]),
            share=_share(data["share"]),
            layers=tuple(_layer(layer) for layer in data["layers"]),
            end=_weights(data["end"]),
        )


def read_lengths(data: Any) -> LengthEvidence:
    """The claims to a given length in a JSON document."""
    with _readable(data, LENGTH_FORMAT):
        layers = data["layers"]
        return LengthEvidence(
            tuple(tuple(_coordinate(c) for c in layer["stream"]) for layer in layers),
            tuple(tuple(map(_gap, layer["heads"])) for layer in layers),
            _law(data["margin"]),
        )


@contextmanager
def _readable(data: Any, form: str) -> Iterator[None]:
    """What is not as the format says is one kind of error."""
    try:
        if data["format"] != form:
            raise SofthatError(f"the evidence's format is not {form}")
        yield
    except SofthatError:
        raise
    except (
        KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError
    ) as error:  # fmt: skip
        raise SofthatError(f"the evidence of the simulation is damaged: {error!r}") from None


def _share(data: Any) -> Fraction:
    share = Fraction(data)
    if not 0 <= share < 1:
        raise SofthatError("the evidence's share of the error is not between 0 and 1")
    return share


def _law(data: Any) -> Law | None:
    return None if data is None else from_json(data)


def _weights(data: Any) -> dict[int, SizeLaw]:
    return {int(c): from_document(law) for c, law in data.items()}


def _layer(data: Any) -> LayerClaim:
    return LayerClaim(
        tuple(_coordinate(c) for c in data["stream"]),
        _weights(data["before"]),
        _weights(data["middle"]),
        tuple(None if head is None else _head(head) for head in data["heads"]),
    )


def _coordinate(data: Any) -> ClaimedCoordinate:
    return ClaimedCoordinate(
        _law(data["least"]), _polynomial(data["low"]), _polynomial(data["high"])
    )


def _polynomial(data: Any) -> Polynomial:
    terms = {int(k): Fraction(c) for k, c in data}
    return Polynomial(tuple(sorted((k, c) for k, c in terms.items() if c)))


def _head(data: Any) -> HeadClaim:
    crowd, gap = _crowd(data["crowd"]), from_json(data["gap"])
    sharp = Sharp(gap, _law(data["inside"]), from_document(data["leak"]), crowd)
    return HeadClaim(sharp, _law(data["others"]), tuple(Fraction(x) for x in data["short_gaps"]))


def _gap(data: Any) -> GapClaim | None:
    if data is None:
        return None
    return GapClaim(from_json(data["gap"]), _crowd(data["crowd"]), _law(data["others"]))


def _crowd(data: Any) -> int | None:
    if data is not None and (type(data) is not int or data < 1):
        raise SofthatError("the evidence has a crowd that is no number of keys")
    return data
