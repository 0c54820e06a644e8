"""What a map does to values, as data where it is an operator and not a function of the user's.

`x + 1` and `x < y` record their operator, so that a compiler can see that a count stays a count
and a comparison a comparison; a lambda can only be tried on every value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

Value = Any
"""What a position holds: None, a number, a Boolean, text, or any other hashable value."""

OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "and": lambda x, y: x and y,
    "or": lambda x, y: x or y,
}


@dataclass(frozen=True, slots=True)
class With:
    """x ↦ x ∘ constant, or constant ∘ x if the constant comes first."""

    sign: str
    constant: Value
    constant_first: bool = False

    def __call__(self, x: Value) -> Value:
        f = OPERATORS[self.sign]
        return f(self.constant, x) if self.constant_first else f(x, self.constant)

    def __str__(self) -> str:
        shown = (repr(self.constant), "x") if self.constant_first else ("x", repr(self.constant))
        return f"{shown[0]} {self.sign} {shown[1]}"


@dataclass(frozen=True, slots=True)
class Between:
    """(x, y) ↦ x ∘ y."""

    sign: str

    def __call__(self, x: Value, y: Value) -> Value:
        return OPERATORS[self.sign](x, y)

    def __str__(self) -> str:
        return f"x {self.sign} y"


@dataclass(frozen=True, slots=True)
class LinearMap:
    """(x, y) ↦ first·x + second·y."""

    first: float
    second: float

    def __call__(self, x: Value, y: Value) -> Value:
        return self.first * x + self.second * y

    def __str__(self) -> str:
        return f"{self.first}*x + {self.second}*y"


@dataclass(frozen=True, slots=True)
class Negate:
    """x ↦ not x."""

    def __call__(self, x: Value) -> Value:
        return not x

    def __str__(self) -> str:
        return "not x"


class Comparison(Enum):
    """How a key is compared with a query, the key first. Neither may be None."""

    EQ = "=="
    LT = "<"
    LEQ = "<="
    GT = ">"
    GEQ = ">="
    NEQ = "!="
    TRUE = "True"
    FALSE = "False"

    def __call__(self, key: Value, query: Value) -> bool:
        for what, value in (("key", key), ("query", query)):
            if value is None:
                raise ValueError(f"{what} is None!")
        if self in (Comparison.TRUE, Comparison.FALSE):
            return self is Comparison.TRUE
        return OPERATORS[self.value](key, query)
