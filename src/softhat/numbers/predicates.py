"""Numerical predicates: sets of positions, which may depend on the word's length, as data.

The logics that hard attention computes have arbitrary unary numerical predicates, `at(p)`. One is
built in (an arithmetic set), bits with a period, a table of bits, a table for each length, or a
function, which holds a meaning but cannot be stored: compiling makes a table of it. Positions are
1..n; the first bit is position 1's.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from softhat.io.errors import SofthatError
from softhat.numbers.arithmetic_sets import BUILT_IN, OF_THE_LENGTH, Bools, Index


@dataclass(frozen=True, slots=True)
class Predicate:
    """A set of positions with a name, for words of every length n."""

    name: str

    def among(self, index: Index, n: int) -> Bools:
        """Which of these positions, all in 1..n, belong in a word of length n."""
        raise unknown(self.name)

    def to_json(self) -> dict[str, Any]:
        """The predicate as plain data, for files."""
        raise unknown(self.name)


@dataclass(frozen=True, slots=True)
class Unbound(Predicate):
    """Only its name is known."""


@dataclass(frozen=True, slots=True)
class BuiltIn(Predicate):
    """One of `BUILT_IN`."""

    def among(self, index: Index, n: int) -> Bools:
        return BUILT_IN[self.name](index, n)

    def to_json(self) -> dict[str, Any]:
        return {"predicate": self.name}


@dataclass(frozen=True, slots=True)
class Periodic(Predicate):
    """The bits `start`, then `period` over and over."""

    start: str
    period: str

    def among(self, index: Index, n: int) -> Bools:
        begun = len(self.start)
        place = np.where(index <= begun, index - 1, begun + (index - 1 - begun) % len(self.period))
        return _bits(self.start + self.period)[place]

    def to_json(self) -> dict[str, Any]:
        return {"predicate": self.name, "bits": f"{self.start}({self.period})"}


@dataclass(frozen=True, slots=True)
class Listed(Predicate):
    """A bit for each position of words of at most that many symbols."""

    bits: str

    def among(self, index: Index, n: int) -> Bools:
        _check_length(self.name, int(index.max(initial=1)), len(self.bits))
        return _bits(self.bits)[index - 1]

    def to_json(self) -> dict[str, Any]:
        return {"predicate": self.name, "bits": self.bits}


@dataclass(frozen=True, slots=True)
class ListedByLength(Predicate):
    """For each length n up to `longest` the bits of positions 1..n, packed one after another."""

    longest: int
    bits: bytes

    def among(self, index: Index, n: int) -> Bools:
        _check_length(self.name, n, self.longest)
        return _unpacked(self)[n * (n - 1) // 2 + index - 1]

    def to_json(self) -> dict[str, Any]:
        text = base64.b64encode(self.bits).decode()
        return {"predicate": self.name, "longest": self.longest, "by_length": text}


@dataclass(frozen=True, slots=True)
class Function(Predicate):
    """Any function of i, or of i and n, that says whether position i belongs."""

    function: Callable[..., Any]
    takes_length: bool

    def among(self, index: Index, n: int) -> Bools:
        arguments = (n,) if self.takes_length else ()
        values = (_said(self.name, self.function, int(i), *arguments) for i in index)
        return np.fromiter(values, np.bool_, len(index))

    def to_json(self) -> dict[str, Any]:
        raise SofthatError(
            f"the numerical predicate {self.name!r} is a function: tabulate it first"
        )


def named(name: str) -> Predicate:
    """The built-in predicate, or one that is still to be bound."""
    check_name(name)
    return BuiltIn(name) if name in BUILT_IN else Unbound(name)


def column(predicate: Predicate, index: Index, n: int) -> Bools:
    """Which of these positions belong, in a word of length n. Positions outside 1..n do not."""
    own = (index >= 1) & (index <= n)
    belongs = np.zeros(index.shape, np.bool_)
    belongs[own] = predicate.among(index[own], n)
    return belongs


def unknown(name: str) -> SofthatError:
    return SofthatError(
        f"the numerical predicate {name!r} is unknown: give predicates={{{name!r}: …}} "
        f"(--predicates FILE), or use a built-in one: {' '.join(BUILT_IN)}"
    )


def check_length(predicate: Predicate, n: int) -> None:
    """Refuse words that are longer than its table."""
    end = longest(predicate)
    if end is not None:
        _check_length(predicate.name, n, end)


def _check_length(name: str, n: int, longest: int) -> None:
    if n > longest:
        raise SofthatError(
            f"the numerical predicate {name!r} is a table of {longest:,} positions, and the word "
            f"has {n if n < 1 << 60 else 'more'}: give a longer table, or a function with a larger "
            "predicate_length"
        )


@lru_cache(maxsize=64)
def _bits(text: str) -> Bools:
    return np.frombuffer(text.encode(), np.uint8) == ord("1")


@lru_cache(maxsize=8)
def _unpacked(predicate: ListedByLength) -> Bools:
    size = predicate.longest * (predicate.longest + 1) // 2
    packed = np.frombuffer(predicate.bits, np.uint8)
    return np.unpackbits(packed, count=size).view(np.bool_)


def _said(name: str, function: Callable[..., Any], i: int, *n: int) -> bool:
    try:
        value = function(i, *n)
    except Exception as error:  # whatever a user's function may raise
        raise SofthatError(
            f"the numerical predicate {name!r} failed at position {i}: {error}"
        ) from None
    if isinstance(value, bool | np.bool_) or value in (0, 1):
        return bool(value)
    raise SofthatError(
        f"the numerical predicate {name!r} must say true or false, not {value!r} at position {i}"
    )


def longest(predicate: Predicate) -> int | None:
    """The length of the longest words it is defined for; None if there is no longest."""
    match predicate:
        case Listed(_, bits):
            return len(bits)
        case ListedByLength(_, length, _):
            return length
    return None


def depends_on_length(predicate: Predicate) -> bool:
    """Does it depend on n, which a decoder cannot know?"""
    match predicate:
        case BuiltIn(name):
            return name in OF_THE_LENGTH
        case Function(_, _, takes_length):
            return takes_length
    return isinstance(predicate, ListedByLength)


def check_name(name: object) -> None:
    """Refuse what files and formulas could not hold."""
    if not isinstance(name, str) or not name or any(c in name for c in ":\n\r"):
        raise SofthatError(
            f"a numerical predicate's name is a string without ':' or line breaks, not {name!r}"
        )
