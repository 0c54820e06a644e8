"""Position features: functions of a position and of the word's length, as data.

Positions are 1..n; the sink `<bos>`, where there is one, stands at 0 and `<eos>` at n+1. What
tells positions apart (`i`, `r = n+1-i`, `i/n` …) is 0 at both sinks, and so are the predicates
(`ordinary`, `first`, `last`); `1`, `n`, `(-1)^i` and the places `j/n^k`, which put `<bos>` before
all and `<eos>` after all, hold everywhere.

One evaluator serves floats, for the runtimes, and exact rationals, for proofs: a feature is a
quotient of integers. A new kind of feature is a dataclass here, with a case in `_quotient`,
`needs_end`, `longest`, `text`, `to_json` and `from_json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.numbers import predicates

Integers: TypeAlias = NDArray[Any]  # int64, or Python integers where those do not fit


class Named(NamedTuple):
    """One of the features that have a name, `NAMES`; `scaled`: divided by P.

    P is a power of two that a model with temperature scaling divides positions by, so that its
    activations stay in [-1, 1]; other models have P = 1.
    """

    name: str
    scaled: bool = False


@dataclass(frozen=True, slots=True)
class Mod:
    """1 where i ≡ remainder (mod modulus), else 0; at the sinks 0 unless `sinks`."""

    modulus: int
    remainder: int
    sinks: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """One number for each position, the first position's first (`<bos>` first, if there is one);
    0 at `<eos>`."""

    entries: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class DigitFeature:
    """Binary digit `bit` of position·i + length·n + constant, 0 if that is negative; 0 at the
    sinks."""

    bit: int
    position: int
    length: int
    constant: int


@dataclass(frozen=True, slots=True)
class Holds:
    """1 where a numerical predicate holds, else 0; 0 at the sinks."""

    predicate: predicates.Predicate


Feature: TypeAlias = Named | Mod | DigitFeature | Table | Holds

SHARES = {f"i/n^{k}": k for k in range(2, 9)}
"""i divided by a power of n: steps small enough to break ties between scores, at every length."""
PLACES = {f"j/n^{k}": k for k in range(1, 9)}
"""The same with the sinks in their places: 0 at `<bos>`, n + 1 at `<eos>`."""
NAMES = (
    "1",
    "i",
    "n",
    "i/n",
    "1/i",
    "(-1)^i",
    "i^2",
    "r",
    "ordinary",
    "first",
    "last",
    *SHARES,
    *PLACES,
)
_OF_THE_END = ("n", "i/n", "r", "last", *SHARES, *PLACES)
_LARGEST = 1 << 62
"""No word has that many positions, and 64 bits hold no larger numbers."""
_SQUARES = 1 << 31
"""Squares of smaller numbers fit 64 bits."""


def floats(
    features: Sequence[Feature],
    n: int,
    *,
    bos: bool = True,
    eos: bool = False,
    scale: int = 1,
    start: int | None = None,
    stop: int | None = None,
) -> NDArray[np.float64]:
    """The (positions, features) table of a word of length n with its sinks, each entry the
    nearest float64; with `start` and `stop` only those positions."""
    index = _positions(n, bos, eos, start, stop)
    table = np.empty((len(index), len(features)))
    for column, feature in enumerate(features):
        if isinstance(feature, Table):
            table[:, column] = _lookup(_nearest(feature), index, n, bos)
            continue
        above, below = _quotient(feature, index, n)
        table[:, column] = above / below
        if isinstance(feature, Named) and feature.scaled:
            table[:, column] /= scale
    return table


def exact(
    features: Sequence[Feature], n: int, *, bos: bool, eos: bool = False
) -> list[tuple[Fraction, ...]]:
    """The same table in rationals, a row for each position. P is 1."""
    index = _positions(n, bos, eos, None, None)
    columns: list[list[Fraction]] = []
    for feature in features:
        if isinstance(feature, Table):
            columns.append(_lookup(_fractions(feature), index, n, bos).tolist())
            continue
        above, below = _quotient(feature, index, n)
        pairs = np.broadcast_arrays(above, below)
        columns.append([Fraction(int(a), int(b)) for a, b in zip(*pairs, strict=True)])
    return list(zip(*columns, strict=True)) if columns else [()] * len(index)


def _positions(
    n: int, bos: bool, eos: bool, start: int | None, stop: int | None
) -> NDArray[np.int64]:
    first = 0 if bos else 1
    last = n + 1 + eos
    return np.arange(first if start is None else start, last if stop is None else stop)


def _quotient(
    feature: Named | Mod | DigitFeature | Holds, index: NDArray[np.int64], n: int
) -> tuple[Integers, Integers | int]:
    """Numerators and denominators at these positions."""
    ordinary = (index >= 1) & (index <= n)
    own = np.where(ordinary, index, 0)
    match feature:
        case Mod(modulus, remainder, sinks):
            belongs = index % min(modulus, _LARGEST) == min(remainder, _LARGEST)
            return (belongs if sinks else belongs & ordinary).astype(np.int64), 1
        case DigitFeature(bit, position, length, constant):
            number = np.maximum(position * index + length * n + constant, 0)
            return np.where(ordinary, number >> min(bit, 62) & 1, 0), 1
        case Holds(predicate):
            return predicates.column(predicate, index, n).astype(np.int64), 1
        case Named("1"):
            return np.ones(len(index), np.int64), 1
        case Named("ordinary"):
            return ordinary.astype(np.int64), 1
        case Named("i"):
            return own, 1
        case Named("r"):
            return np.where(ordinary, n + 1 - index, 0), 1
        case Named("n"):
            return np.full(len(index), n), 1
        case Named("i/n"):
            return own, n
        case Named(name) if name in SHARES:
            return own, n ** SHARES[name]
        case Named(name) if name in PLACES:
            return index, n ** PLACES[name]
        case Named("1/i"):
            return ordinary.astype(np.int64), np.where(ordinary, index, 1)
        case Named("i^2"):
            wide = own if n < _SQUARES else own.astype(object)
            return wide * wide, 1
        case Named("(-1)^i"):
            return 1 - 2 * (index & 1), 1
        case Named("first"):
            return (index == 1).astype(np.int64), 1
        case Named("last"):
            return (ordinary & (index == n)).astype(np.int64), 1
        case Named(name):
            raise SofthatError(
                f"unknown position feature {name!r}: this model needs a newer softhat"
            )


def _lookup(entries: NDArray[Any], index: NDArray[np.int64], n: int, bos: bool) -> NDArray[Any]:
    """Entries of a table; the last one, 0, is `<eos>`'s."""
    places = index if bos else index - 1
    length = len(entries) - 1
    if n + bos > length:
        raise SofthatError(
            f"the position table has {length} entries, but a word of length {n} "
            f"needs {n + int(bos)}: add entries or use shorter words"
        )
    looked_up: NDArray[Any] = entries[np.where(index > n, length, places)]
    return looked_up


@lru_cache(maxsize=256)
def _fractions(table: Table) -> NDArray[Any]:
    entries = np.empty(len(table.entries) + 1, object)
    entries[:] = [*table.entries, Fraction(0)]
    return entries


@lru_cache(maxsize=256)
def _nearest(table: Table) -> NDArray[np.float64]:
    return np.array([nearest_float(x) for x in table.entries] + [0.0])


def nearest_float(x: Fraction) -> float:
    """The nearest float64; infinite beyond its range."""
    try:
        return float(x)
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def longest(features: Sequence[Feature], bos: bool) -> int | None:
    """The greatest word length the tables allow; None if there is no table."""
    lengths = [len(f.entries) - int(bos) for f in features if isinstance(f, Table)]
    held = [predicates.longest(f.predicate) for f in features if isinstance(f, Holds)]
    lengths += [length for length in held if length is not None]
    return min(lengths) if lengths else None


def needs_end(feature: Feature) -> bool:
    """Does it depend on where the word ends? A decoder cannot know that."""
    if isinstance(feature, DigitFeature):
        return feature.length != 0
    if isinstance(feature, Holds):
        return predicates.depends_on_length(feature.predicate)
    return isinstance(feature, Named) and feature.name in _OF_THE_END


def text(feature: Feature) -> str:
    """A short name, for people and for the labels of coordinates."""
    match feature:
        case Named(name, scaled):
            return f"{name}/P" if scaled else name
        case Mod(modulus, remainder):
            return f"mod({modulus}, {remainder})"
        case DigitFeature(bit, position, length, constant):
            return f"bit {bit} of {position}*i + {length}*n + {constant}"
        case Table():
            return "table"
        case Holds(predicate):
            return f"at({predicate.name})"
