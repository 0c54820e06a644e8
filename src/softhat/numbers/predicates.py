"""Numerical predicates: sets of positions, which may depend on the word's length, as data.

The logics that hard attention computes have arbitrary unary numerical predicates, `at(p)`. One is
built in (an arithmetic set), bits with a period, a table of bits, a table for each length, or a
function, which holds a meaning but cannot be stored: compiling makes a table of it. Positions are
1..n; the first bit is position 1's.
"""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.numbers.arithmetic_sets import BUILT_IN, OF_THE_LENGTH, Bools, Index

LENGTH = 4096
"""How far a function becomes a table unless something else is said."""
LONGEST = 1 << 24
"""Positions in a table: beyond, files and memory would burst."""
LONGEST_BY_LENGTH = 1 << 14
"""Lengths in a table of lengths: 2^27 bits."""


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
        given = (n,) if self.takes_length else ()
        values = (_said(self.name, self.function, int(i), *given) for i in index)
        return np.fromiter(values, np.bool_, len(index))

    def to_json(self) -> dict[str, Any]:
        raise SofthatError(
            f"the numerical predicate {self.name!r} is a function: tabulate it first"
        )


def named(name: str) -> Predicate:
    """The built-in predicate, or one that is still to be bound."""
    _check_name(name)
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


def define(name: str, given: Any) -> Predicate:
    """The predicate that a user means by a function, bits, or a list of them."""
    _check_name(name)
    if isinstance(given, Predicate):
        if given.name != name:
            raise SofthatError(f"the numerical predicate {given.name!r} is not {name!r}")
        return given
    if name in BUILT_IN:
        raise SofthatError(f"the numerical predicate {name!r} is built in: choose another name")
    if isinstance(given, str):
        return _from_text(name, given)
    if callable(given):
        return Function(name, given, _arguments(name, given) == 2)
    if isinstance(given, Sequence | np.ndarray):
        return _from_list(name, given)
    raise SofthatError(
        f"the numerical predicate {name!r} must be bits such as '0110(01)', a list of bits, or a "
        f"function of i or of i and n, not {given!r}"
    )


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name or any(c in name for c in ":\n\r"):
        raise SofthatError(
            f"a numerical predicate's name is a string without ':' or line breaks, not {name!r}"
        )


_TEXT = re.compile(r"([01]*)(?:\(([01]+)\))?")


def _from_text(name: str, text: str) -> Predicate:
    match = _TEXT.fullmatch(re.sub(r"[\s_]", "", text))
    if match is None or not (match[1] or match[2]):
        shown = text if len(text) < 40 else f"{text[:39]}…"
        raise SofthatError(
            f"the numerical predicate {name!r} must be bits, with those that repeat for ever in "
            f"parentheses, such as 0110(01), not {shown!r}"
        )
    _check_size(name, len(text))
    return Listed(name, match[1]) if match[2] is None else Periodic(name, match[1], match[2])


def _from_list(name: str, given: Sequence[Any] | NDArray[Any]) -> Predicate:
    _check_size(name, len(given))
    bits = []
    for i, value in enumerate(given, start=1):
        if not (isinstance(value, bool | np.bool_ | int | np.integer) and value in (0, 1)):
            raise SofthatError(
                f"the numerical predicate {name!r} must be a list of 0 and 1, not {value!r} at "
                f"position {i}"
            )
        bits.append("01"[int(value)])
    if not bits:
        raise SofthatError(f"the numerical predicate {name!r} is empty: give at least one bit")
    return Listed(name, "".join(bits))


def _check_size(name: str, size: int) -> None:
    if size > LONGEST:
        raise SofthatError(
            f"the numerical predicate {name!r} has {size:,} positions, more than {LONGEST:,}"
        )


def _arguments(name: str, function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1  # built-in functions that do not say
    needed = [
        p
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    if len(needed) not in (1, 2):
        raise SofthatError(
            f"the numerical predicate {name!r} must be a function of i, or of i and n, not of "
            f"{len(needed)} arguments"
        )
    return len(needed)


def tabulated(predicate: Predicate, length: int = LENGTH) -> Predicate:
    """The same predicate in a form that files can hold: a function becomes a table for words of at
    most `length` symbols."""
    if not isinstance(predicate, Function):
        return predicate
    most = LONGEST_BY_LENGTH if predicate.takes_length else LONGEST
    if not isinstance(length, int) or not 1 <= length <= most:
        raise SofthatError(
            f"predicate_length is the length of the table of {predicate.name!r}, 1 to {most:,}, "
            f"not {length!r}"
        )
    name = predicate.name
    if not predicate.takes_length:
        held = column(predicate, np.arange(1, length + 1), length)
        return Listed(name, "".join("01"[bool(bit)] for bit in held))
    rows = [column(predicate, np.arange(1, n + 1), n) for n in range(1, length + 1)]
    return ListedByLength(name, length, np.packbits(np.concatenate(rows)).tobytes())
