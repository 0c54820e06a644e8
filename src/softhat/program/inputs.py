"""Inputs of an attention program: bits that a position knows of itself, without attention.

They are 0 at the sinks. Each is a column of the embedding or a position feature.
"""

from __future__ import annotations

from dataclasses import dataclass

from softhat.numbers.predicates import Predicate


@dataclass(frozen=True, slots=True)
class TokenIn:
    """The symbol at i is one of these (in propositional mode: the one proposition holds at i)."""

    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FirstPosition:
    """i = 1."""


@dataclass(frozen=True, slots=True)
class LastPosition:
    """i = n."""


@dataclass(frozen=True, slots=True)
class PositionMod:
    """i ≡ remainder (mod modulus)."""

    modulus: int
    remainder: int


@dataclass(frozen=True, slots=True)
class PositionIn:
    """A numerical predicate holds of i (and n)."""

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class PositionAtLeast:
    """coefficient·i >= threshold. Where positions are learned this needs no head."""

    coefficient: int
    threshold: int


@dataclass(frozen=True, slots=True)
class PositionBit:
    """Binary digit `bit` (0 is the lowest) of position·i + length·n + constant, 0 if negative.

    With `At` it finds a position by its number: bits of i as keys, of n+1-i as queries, reverse
    a word.
    """

    bit: int
    position: int
    length: int
    constant: int


Input = (
    TokenIn
    | FirstPosition
    | LastPosition
    | PositionMod
    | PositionIn
    | PositionAtLeast
    | PositionBit
)
