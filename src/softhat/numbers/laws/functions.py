"""Laws by cases and logarithms: ln, the greatest and the least, rounding up, tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from softhat.numbers.laws.arithmetic import Constant, Law
from softhat.numbers.laws.values import LARGEST_LOG, Value, log_of


@dataclass(frozen=True, slots=True, repr=False)
class Log(Law):
    """The natural logarithm of a law that is more than 1 everywhere."""

    of: Law

    def at(self, n: int) -> Value:
        return self.of.log_at(n)

    @property
    def text(self) -> str:
        return f"ln({self.of.text})"

    def to_json(self) -> Any:
        return {"log": self.of.to_json()}


@dataclass(frozen=True, slots=True, repr=False)
class _Extreme(Law):
    """The one of some laws that `best` picks at each n."""

    of: tuple[Law, ...]
    best: ClassVar[Any]
    """max or min."""

    def at(self, n: int) -> Value:
        value: Value = self.best(law.at(n) for law in self.of)
        return value

    def log_at(self, n: int) -> float:
        return float(self.best(law.log_at(n) for law in self.of))

    @property
    def text(self) -> str:
        return f"{self.best.__name__}({', '.join(law.text for law in self.of)})"

    def to_json(self) -> Any:
        return {self.best.__name__: [law.to_json() for law in self.of]}


class Maximum(_Extreme):
    """The greatest of laws."""

    __slots__ = ()
    best = max


class Minimum(_Extreme):
    """The least of laws."""

    __slots__ = ()
    best = min


@dataclass(frozen=True, slots=True, repr=False)
class RoundedUp(Law):
    """The next number of this many significant bits: folded into weights, it rounds nothing."""

    of: Law
    bits: int = 6

    def at(self, n: int) -> Value:
        if self.of.log_at(n) > LARGEST_LOG - 2:  # only the logarithm is known
            return math.inf
        value = self.of.at(n)
        # A float is off by rounding: never below the law, at most a step above.
        exact = value if isinstance(value, Fraction) else Fraction(value * (1 + 1e-13))
        unit = Fraction(2) ** (math.frexp(float(exact))[1] - self.bits)
        return -(-exact // unit) * unit

    def log_at(self, n: int) -> float:
        value = self.at(n)
        return (
            log_of(value)
            if value != math.inf
            else self.of.log_at(n) + math.log1p(2.0 ** (1 - self.bits))
        )

    @property
    def text(self) -> str:
        return self.of.text

    def to_json(self) -> Any:
        return {"rounded_up": [self.of.to_json(), self.bits]}


@dataclass(frozen=True, slots=True, repr=False)
class Tabled(Law):
    """Given numbers for n = 1, 2, …, and a law beyond them."""

    entries: tuple[Fraction, ...]
    beyond: Law

    def at(self, n: int) -> Value:
        return self.entries[n - 1] if n <= len(self.entries) else self.beyond.at(n)

    def log_at(self, n: int) -> float:
        return log_of(self.at(n)) if n <= len(self.entries) else self.beyond.log_at(n)

    @property
    def text(self) -> str:
        return self.beyond.text

    def to_json(self) -> Any:
        return {"table": [str(x) for x in self.entries], "beyond": self.beyond.to_json()}


def log(of: Law) -> Law:
    """ln of a law that is more than 1 everywhere."""
    return Log(of)


def maximum(*laws: Law) -> Law:
    """The greatest; constants are compared at once."""
    return _picked(Maximum, laws)


def minimum(*laws: Law) -> Law:
    """The least; constants are compared at once."""
    return _picked(Minimum, laws)


def _picked(kind: type[_Extreme], laws: tuple[Law, ...]) -> Law:
    constants = [law.value for law in laws if isinstance(law, Constant)]
    rest = list(dict.fromkeys(law for law in laws if not isinstance(law, Constant)))
    if constants:
        rest.append(Constant(kind.best(constants)))
    return rest[0] if len(rest) == 1 else kind(tuple(rest))


def rounded_up(of: Law) -> Law:
    """The next number of six significant bits, at every n."""
    return RoundedUp(of, 6)
