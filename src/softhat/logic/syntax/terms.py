"""Counting terms: an integer at every position of a word, for comparisons."""

from __future__ import annotations

from softhat.logic.syntax.formulas import Comparison, Formula
from softhat.logic.syntax.node import Node, checked_integer, kind


class Term(Node):
    """An integer at every position of a word, for comparisons."""

    __slots__ = ()

    def __add__(self, other: Term | int) -> Sum:
        return Sum(self, _term(other))

    def __radd__(self, other: int) -> Sum:
        return Sum(_term(other), self)

    def __sub__(self, other: Term | int) -> Difference:
        return Difference(self, _term(other))

    def __rsub__(self, other: int) -> Difference:
        return Difference(_term(other), self)

    def __mul__(self, factor: int) -> Scale:
        return Scale(factor, self)

    def __rmul__(self, factor: int) -> Scale:
        return Scale(factor, self)

    def __neg__(self) -> Scale:
        return Scale(-1, self)

    def __lt__(self, other: Term | int) -> Comparison:
        return Comparison(self, "<", _term(other))

    def __le__(self, other: Term | int) -> Comparison:
        return Comparison(self, "<=", _term(other))

    def __ge__(self, other: Term | int) -> Comparison:
        return Comparison(self, ">=", _term(other))

    def __gt__(self, other: Term | int) -> Comparison:
        return Comparison(self, ">", _term(other))

    def equals(self, other: Term | int) -> Comparison:
        """The formula that both are equal (`==` is structural equality)."""
        return Comparison(self, "=", _term(other))

    def differs(self, other: Term | int) -> Comparison:
        return Comparison(self, "!=", _term(other))


def _term(value: object) -> Term:
    if isinstance(value, Term):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Integer(value)
    raise TypeError(f"expected a counting term or an integer, got {value!r}")


@kind
class Integer(Term):
    """An integer constant of any size."""

    value: int


@kind
class Position(Term):
    """`i`: the position itself. Calling it gives itself, so `position()` reads well too."""

    def __call__(self) -> Position:
        return self


@kind
class Length(Term):
    """`n`: the length of the word. Calling it gives itself, so `length()` reads well too."""

    def __call__(self) -> Length:
        return self


@kind
class Counting(Term):
    """How many positions of a range satisfy a formula."""

    operand: Formula


class Count(Counting):
    """`#(f)`: how many j <= i satisfy f."""

    __slots__ = ()


class CountFuture(Counting):
    """`#>(f)`: how many j >= i satisfy f."""

    __slots__ = ()


class CountAll(Counting):
    """`#*(f)`: how many positions of the word satisfy f."""

    __slots__ = ()


@kind
class Scale(Term):
    """`k*t` with an integer k."""

    factor: int
    term: Term

    def __post_init__(self) -> None:
        checked_integer(self.factor)
        Node.__post_init__(self)


@kind
class Sum(Term):
    """`t1 + t2`."""

    left: Term
    right: Term


@kind
class Difference(Term):
    """`t1 - t2`."""

    left: Term
    right: Term


position = Position()
length = Length()
