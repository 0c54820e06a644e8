"""Position features of an average-hard attention transformer: exact functions of i and n.

Positions are 1..n; `<bos>`, where there is one, is position 0 and is not counted in n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from softhat.errors import SofthatError


@dataclass(frozen=True, slots=True)
class Named:
    """One of the features that have a name: `1 i n i/n 1/i (-1)^i i^2`."""

    name: str


@dataclass(frozen=True, slots=True)
class Mod:
    """1 where i ≡ remainder (mod modulus), else 0."""

    modulus: int
    remainder: int


@dataclass(frozen=True, slots=True)
class Table:
    """One number for each position, the first position's first (`<bos>` first, if there is one)."""

    entries: tuple[Fraction, ...]


Feature: TypeAlias = Named | Mod | Table

NAMED: dict[str, Callable[[int, int], Fraction]] = {
    "1": lambda i, n: Fraction(1),
    "i": lambda i, n: Fraction(i),
    "n": lambda i, n: Fraction(n),
    "i/n": lambda i, n: Fraction(i, n),
    "1/i": lambda i, n: Fraction(1, i) if i else Fraction(0),
    "(-1)^i": lambda i, n: Fraction(1 - 2 * (i % 2)),
    "i^2": lambda i, n: Fraction(i * i),
}


def value(feature: Feature, i: int, n: int, bos: bool) -> Fraction:
    """The feature at position i (0 for `<bos>`) of a word of length n."""
    match feature:
        case Named(name):
            return NAMED[name](i, n)
        case Mod(modulus, remainder):
            return Fraction(int(i % modulus == remainder))
        case Table(entries):
            index = i if bos else i - 1
            if index >= len(entries):
                raise SofthatError(
                    f"the position table has {len(entries)} entries, but a word of length {n} "
                    f"needs {n + int(bos)}: add entries or use shorter words"
                )
            return entries[index]


def longest(features: tuple[Feature, ...], bos: bool) -> int | None:
    """The greatest word length the tables allow; None if there is no table."""
    lengths = [len(f.entries) - int(bos) for f in features if isinstance(f, Table)]
    return min(lengths) if lengths else None
