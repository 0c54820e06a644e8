"""B-RASP and C-RASP programs as data.

A program defines vectors, one value a position: Booleans or numbers. An expression speaks of the
position i, and inside attention and counting also of the position j that is looked at. Every
node knows where it stands in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Variable = Literal["i", "j"]
Mask = Literal["<", "<=", ">", ">=", "none"]
"""Which j are looked at: those with j < i, j <= i, j > i, j >= i, or all."""
Relation = Literal["<", "<=", "=", "!=", ">=", ">"]


@dataclass(frozen=True, slots=True)
class Expression:
    """Something with a value at a position; `start` is its offset in the text."""

    start: int


@dataclass(frozen=True, slots=True)
class Truth(Expression):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Vector(Expression):
    """`P(i)`: the value of an earlier definition, a Boolean or a number."""

    name: str
    at: Variable


@dataclass(frozen=True, slots=True)
class IsSymbol(Expression):
    """`Qa(i)`: the symbol there is a."""

    symbol: str
    at: Variable


@dataclass(frozen=True, slots=True)
class IsEnd(Expression):
    """`first(i)` or `last(i)`."""

    end: Literal["first", "last"]
    at: Variable


@dataclass(frozen=True, slots=True)
class IsMod(Expression):
    """`i % m = r`."""

    at: Variable
    modulus: int
    remainder: int


@dataclass(frozen=True, slots=True)
class Negation(Expression):
    operand: Expression


@dataclass(frozen=True, slots=True)
class GateExpression(Expression):
    kind: Literal["&", "|", "xor", "->", "<->"]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Compare(Expression):
    left: Expression
    relation: Relation
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
class Plus(Expression):
    left: Expression
    right: Expression
    sign: Literal[1, -1]


@dataclass(frozen=True, slots=True)
class Times(Expression):
    factor: int
    term: Expression


@dataclass(frozen=True, slots=True)
class Extreme(Expression):
    """`min(t, u)` or `max(t, u)`."""

    kind: Literal["min", "max"]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    body: Expression
    start: int


@dataclass(frozen=True, slots=True)
class ParsedProgram:
    """Definitions in order, and the name of the one that accepts."""

    text: str
    definitions: tuple[Definition, ...]
    accept: str


def parts(node: Expression) -> tuple[Expression, ...]:
    """The expressions that a node is made of."""
    match node:
        case Negation(_, operand):
            return (operand,)
        case (
            GateExpression(_, _, left, right)
            | Compare(_, left, _, right)
            | Extreme(_, _, left, right)
        ):
            return (left, right)
        case Plus(_, left, right, _):
            return (left, right)
        case ChoiceExpression(_, condition, then, otherwise):
            return (condition, then, otherwise)
        case AttentionExpression(_, _, _, score, value, default):
            return (score, value, default)
        case CountOf(_, _, body):
            return (body,)
        case Times(_, _, term):
            return (term,)
    return ()
