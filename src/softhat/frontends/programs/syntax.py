"""B-RASP and C-RASP programs as data.

A program defines vectors, one value a position: Booleans or numbers. An expression speaks of the
position i, and inside attention and counting also of the position j that is looked at. Every
node knows where it stands in the text.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

Variable = Literal["i", "j"]
Mask = Literal["<", "<=", ">", ">=", "none"]
"""Which j are looked at: those with j < i, j <= i, j > i, j >= i, or all."""
Relation = Literal["<", "<=", "=", "!=", ">=", ">"]
Operator = Literal["&", "|", "xor", "->", "<->", "+", "-", "min", "max"] | Relation


@dataclass(frozen=True, slots=True)
class Expression:
    """Something with a value at a position; `start` is its offset in the text."""

    start: int

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that it is made of."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(value for value in values if isinstance(value, Expression))


@dataclass(frozen=True, slots=True)
class Truth(Expression):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class AtomExpression(Expression):
    """What is said of the position `at`: `P(i)`, the value of an earlier definition, a Boolean or a
    number; `Qa(i)`, the symbol there is a; `first(i)` or `last(i)`."""

    kind: Literal["vector", "symbol", "end"]
    name: str
    at: Variable


@dataclass(frozen=True, slots=True)
class IsMod(Expression):
    """`i % m = r`."""

    at: Variable
    modulus: int
    remainder: int


@dataclass(frozen=True, slots=True)
class Negation(Expression):
    """`!e`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Operation(Expression):
    """A gate or a comparison, which are Booleans, or a sum, a difference, a minimum, a maximum."""

    kind: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class ChoiceExpression(Expression):
    """`c ? t : e`, of Booleans or of numbers."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class AttentionExpression(Expression):
    """`rightmost j < i [S(i,j)] V(i,j) : D(i)`: V at the last (leftmost: first) j that the mask
    shows and where S holds, D if there is none."""

    side: Literal["leftmost", "rightmost"]
    mask: Mask
    score: Expression
    value: Expression
    default: Expression


@dataclass(frozen=True, slots=True)
class CountOf(Expression):
    """`# j <= i [P(j)]`: how many j of the mask satisfy P."""

    mask: Mask
    body: Expression


@dataclass(frozen=True, slots=True)
class WholeExpression(Expression):
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class PlaceExpression(Expression):
    """`i`, `j` or `n` as a number."""

    of: Literal["i", "j", "n"]


@dataclass(frozen=True, slots=True)
class Times(Expression):
    """`k * t`, or `-t`."""

    factor: int
    term: Expression


@dataclass(frozen=True, slots=True)
class ParsedProgram:
    """Definitions in order, the name of the one that accepts, and where that is defined."""

    text: str
    definitions: dict[str, Expression]
    accept: str
    start: int
