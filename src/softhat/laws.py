"""Functions of the length n as data: what gaps, temperatures and errors are proved to be.

A law is a small expression, never code: constants, n, lcm(1..n), the next power of two, their
sums, products, powers, maxima and logarithms. It is evaluated exactly where it is rational
(`at`), in logarithms where its value would be astronomically long (`log_at`), printed (`text`)
and stored as JSON. All laws are positive at every n ≥ 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from softhat.errors import SofthatError

Value: TypeAlias = Fraction | float
_LARGEST_LOG = 709.0  # e^709 is still a float64
_DEEPEST = 60  # nesting of a law that is read


@dataclass(frozen=True, slots=True)
class Law:
    """A positive function of n."""

    def at(self, n: int) -> Value:
        """The value at n: a Fraction, or a float where a logarithm is taken (inf: too large)."""
        raise NotImplementedError

    def log_at(self, n: int) -> float:
        """The natural logarithm of the value at n; never overflows."""
        return log_of(self.at(n))

    @property
    def text(self) -> str:
        """The law for people, such as 1/(n²·lcm(1..n))."""
        raise NotImplementedError

    def to_json(self) -> Any:
        """JSON data that `from_json` reads."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text

    def __mul__(self, other: Law | int | Fraction) -> Law:
        return product(self, as_law(other))

    __rmul__ = __mul__

    def __add__(self, other: Law | int | Fraction) -> Law:
        return total(self, as_law(other))

    __radd__ = __add__

    def __truediv__(self, other: Law | int | Fraction) -> Law:
        return product(self, power(as_law(other), -1))

    def __rtruediv__(self, other: int | Fraction) -> Law:
        return product(as_law(other), power(self, -1))

    def __pow__(self, exponent: int) -> Law:
        return power(self, exponent)


@dataclass(frozen=True, slots=True)
class Constant(Law):
    """The same positive number at every n."""

    value: Fraction

    def at(self, n: int) -> Value:
        return self.value

    @property
    def text(self) -> str:
        x = self.value
        if x.denominator == 1 or (x.numerator < 10**6 and x.denominator < 10**6):
            return str(x) if x < 10**12 else f"{_float(x):.4g}"
        return f"{_float(x):.6g}"

    def to_json(self) -> Any:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Length(Law):
    """n + shift, but at least 1."""

    shift: int = 0

    def at(self, n: int) -> Value:
        return Fraction(max(1, n + self.shift))

    @property
    def text(self) -> str:
        return f"n{self.shift:+d}" if self.shift else "n"

    def to_json(self) -> Any:
        return {"n": self.shift}


@dataclass(frozen=True, slots=True)
class Lcm(Law):
    """lcm(1, …, n + shift): less than 3^(n + shift), about e^n."""

    shift: int = 0

    def at(self, n: int) -> Value:
        return Fraction(_lcm(max(1, n + self.shift)))

    def log_at(self, n: int) -> float:
        return _log_lcm(max(1, n + self.shift))

    @property
    def text(self) -> str:
        return f"lcm(1..{Length(self.shift).text})"

    def to_json(self) -> Any:
        return {"lcm": self.shift}


@dataclass(frozen=True, slots=True)
class PowerOfTwo(Law):
    """The least power of two that is at least n + shift."""

    shift: int = 0

    def at(self, n: int) -> Value:
        return Fraction(1 << (max(1, n + self.shift) - 1).bit_length())

    @property
    def text(self) -> str:
        return f"2^⌈log2({Length(self.shift).text})⌉"

    def to_json(self) -> Any:
        return {"power_of_two": self.shift}


@dataclass(frozen=True, slots=True)
class Sum(Law):
    """The sum of laws."""

    terms: tuple[Law, ...]

    def at(self, n: int) -> Value:
        return _fold([term.at(n) for term in self.terms], adding=True)

    def log_at(self, n: int) -> float:
        logs = [term.log_at(n) for term in self.terms]
        top = max(logs)
        return top + math.log(sum(math.exp(x - top) for x in logs))

    @property
    def text(self) -> str:
        return " + ".join(term.text for term in self.terms)

    def to_json(self) -> Any:
        return {"sum": [term.to_json() for term in self.terms]}


@dataclass(frozen=True, slots=True)
class Product(Law):
    """The product of laws."""

    factors: tuple[Law, ...]

    def at(self, n: int) -> Value:
        return _fold([factor.at(n) for factor in self.factors], adding=False)

    def log_at(self, n: int) -> float:
        return math.fsum(factor.log_at(n) for factor in self.factors)

    @property
    def text(self) -> str:
        above, below = [], []
        for factor in self.factors:
            match factor:
                case Constant(x) if x.denominator != 1:
                    above += [] if x.numerator == 1 else [str(x.numerator)]
                    below.append(Constant(Fraction(x.denominator)).text)
                case Power(base, k) if k < 0:
                    below.append(power(base, -k).text if k < -1 else _grouped(base))
                case _:
                    above.append(_grouped(factor))
        top = "·".join(above) or "1"
        if not below:
            return top
        return f"{top}/{below[0]}" if len(below) == 1 else f"{top}/({'·'.join(below)})"

    def to_json(self) -> Any:
        return {"product": [factor.to_json() for factor in self.factors]}


@dataclass(frozen=True, slots=True)
class Power(Law):
    """A law to an integer power, which may be negative."""

    base: Law
    exponent: int

    def at(self, n: int) -> Value:
        x = self.base.at(n)
        if isinstance(x, Fraction):
            return x**self.exponent
        return _exp(self.exponent * log_of(x))

    def log_at(self, n: int) -> float:
        return self.exponent * self.base.log_at(n)

    @property
    def text(self) -> str:
        if self.exponent < 0:
            return f"1/{_grouped(power(self.base, -self.exponent))}"
        return _grouped(self.base) + str(self.exponent).translate(_RAISED)

    def to_json(self) -> Any:
        return {"power": [self.base.to_json(), self.exponent]}


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Maximum(Law):
    """The greatest of laws."""

    of: tuple[Law, ...]

    def at(self, n: int) -> Value:
        return max(law.at(n) for law in self.of)

    def log_at(self, n: int) -> float:
        return max(law.log_at(n) for law in self.of)

    @property
    def text(self) -> str:
        return f"max({', '.join(law.text for law in self.of)})"

    def to_json(self) -> Any:
        return {"max": [law.to_json() for law in self.of]}


@dataclass(frozen=True, slots=True)
class Minimum(Law):
    """The least of laws."""

    of: tuple[Law, ...]

    def at(self, n: int) -> Value:
        return min(law.at(n) for law in self.of)

    def log_at(self, n: int) -> float:
        return min(law.log_at(n) for law in self.of)

    @property
    def text(self) -> str:
        return f"min({', '.join(law.text for law in self.of)})"

    def to_json(self) -> Any:
        return {"min": [law.to_json() for law in self.of]}


@dataclass(frozen=True, slots=True)
class RoundedUp(Law):
    """The next number of this many significant bits: folded into weights, it rounds nothing."""

    of: Law
    bits: int = 6

    def at(self, n: int) -> Value:
        if self.of.log_at(n) > _LARGEST_LOG - 2:  # only the logarithm is known
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


@dataclass(frozen=True, slots=True)
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


_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
ONE = Constant(Fraction(1))
N = Length()


def as_law(x: Law | int | Fraction) -> Law:
    """A law, or the constant law of a number."""
    if isinstance(x, Law):
        return x
    if x <= 0:
        raise SofthatError(f"a law is positive everywhere: {x} cannot be one")
    return Constant(Fraction(x))


def product(*laws: Law) -> Law:
    """The product, with constants and powers of one base taken together."""
    constant = Fraction(1)
    exponents: dict[Law, int] = {}
    pending = list(reversed(laws))
    while pending:
        law = pending.pop()
        match law:
            case Constant(x):
                constant *= x
            case Product(factors):
                pending.extend(reversed(factors))
            case Power(base, k):
                exponents[base] = exponents.get(base, 0) + k
            case _:
                exponents[law] = exponents.get(law, 0) + 1
    kept = [power(base, k) for base, k in exponents.items() if k]
    if constant != 1 or not kept:
        kept.insert(0, Constant(constant))
    return kept[0] if len(kept) == 1 else Product(tuple(kept))


def total(*laws: Law) -> Law:
    """The sum, with multiples of one law taken together."""
    shares: dict[Law, Fraction] = {}
    for law in laws:
        for term in law.terms if isinstance(law, Sum) else (law,):
            factor, rest = _split(term)
            shares[rest] = shares.get(rest, Fraction(0)) + factor
    terms = [product(Constant(factor), rest) for rest, factor in shares.items()]
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def power(base: Law, exponent: int) -> Law:
    """base^exponent."""
    match base:
        case _ if exponent == 1:
            return base
        case _ if exponent == 0:
            return ONE
        case Constant(x):
            return Constant(x**exponent)
        case Power(inner, k):
            return power(inner, k * exponent)
        case Product(factors):
            return product(*(power(factor, exponent) for factor in factors))
    return Power(base, exponent)


def log(of: Law) -> Law:
    """ln of a law that is more than 1 everywhere."""
    return Log(of)


def maximum(*laws: Law) -> Law:
    """The greatest; constants are compared at once."""
    constants = [law.value for law in laws if isinstance(law, Constant)]
    rest = list(dict.fromkeys(law for law in laws if not isinstance(law, Constant)))
    if constants:
        rest.append(Constant(max(constants)))
    return rest[0] if len(rest) == 1 else Maximum(tuple(rest))


def minimum(*laws: Law) -> Law:
    """The least; constants are compared at once."""
    constants = [law.value for law in laws if isinstance(law, Constant)]
    rest = list(dict.fromkeys(law for law in laws if not isinstance(law, Constant)))
    if constants:
        rest.append(Constant(min(constants)))
    return rest[0] if len(rest) == 1 else Minimum(tuple(rest))


def rounded_up(of: Law, bits: int = 6) -> Law:
    """The next number of this many significant bits, at every n."""
    return RoundedUp(of, bits)


def from_json(data: Any, depth: int = 0) -> Law:
    """Read a law that `to_json` wrote; anything else is an error."""
    if depth > _DEEPEST:
        raise SofthatError(f"a law is nested deeper than {_DEEPEST} levels")
    if isinstance(data, str):
        return Constant(_positive(data))
    if not isinstance(data, Mapping):
        raise SofthatError(f"a law is a string or an object, not {type(data).__name__}")
    if set(data) == {"table", "beyond"} and isinstance(data["table"], list):
        entries = tuple(_positive(x) for x in data["table"])
        return Tabled(entries, from_json(data["beyond"], depth + 1))
    inner: Any = None
    kind, inner = next(iter(data.items())) if len(data) == 1 else ("", inner)
    pair = inner if isinstance(inner, list) and len(inner) == 2 and _small(inner[1]) else None
    match kind:
        case "n" | "lcm" | "power_of_two" if _small(inner):
            return {"n": Length, "lcm": Lcm, "power_of_two": PowerOfTwo}[kind](inner)
        case "sum" | "product" | "max" | "min" if isinstance(inner, list) and inner:
            parts = tuple(from_json(part, depth + 1) for part in inner)
            return {"sum": Sum, "product": Product, "max": Maximum, "min": Minimum}[kind](parts)
        case "log":
            return Log(from_json(inner, depth + 1))
        case "power" if pair is not None:
            return Power(from_json(pair[0], depth + 1), pair[1])
        case "rounded_up" if pair is not None and pair[1] >= 1:
            return RoundedUp(from_json(pair[0], depth + 1), pair[1])
    raise SofthatError(f"not a law: {str(data)[:60]}")


def log_of(x: Value) -> float:
    """ln x of a positive Fraction or float of any size."""
    if isinstance(x, Fraction):
        return _log_integer(x.numerator) - _log_integer(x.denominator)
    return math.log(x) if x > 0 else -math.inf


def _small(x: Any) -> bool:
    return type(x) is int and abs(x) <= 10**4


def _positive(text: Any) -> Fraction:
    try:
        x = Fraction(text)
    except (ValueError, TypeError, ZeroDivisionError):
        x = Fraction(0)
    if x <= 0:
        raise SofthatError(f"a law's constant must be a positive rational, not {str(text)[:40]!r}")
    return x


def _split(term: Law) -> tuple[Fraction, Law]:
    """term = factor · rest."""
    match term:
        case Constant(x):
            return x, ONE
        case Product((Constant(x), *rest)):
            return x, product(*rest)
    return Fraction(1), term


def _fold(values: list[Value], adding: bool) -> Value:
    """Sum or product; exact as long as every part is, else a float (inf: too large)."""
    if all(isinstance(x, Fraction) for x in values):
        result = Fraction(0) if adding else Fraction(1)
        for x in values:
            result = result + Fraction(x) if adding else result * Fraction(x)
        return result
    if adding:
        return math.fsum(_float(x) for x in values)
    return (
        _exp(math.fsum(log_of(x) for x in values))
        if _extreme(values)
        else math.prod(float(x) for x in values)
    )


def _extreme(values: list[Value]) -> bool:
    """Is some part, or the product, outside the comfortable range of float64?"""
    logs = [log_of(x) for x in values]
    return max(abs(x) for x in logs) > 600 or abs(math.fsum(logs)) > 600


def _float(x: Value) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf


def _exp(x: float) -> float:
    return math.exp(x) if x <= _LARGEST_LOG else math.inf


def _log_integer(x: int) -> float:
    shift = max(0, x.bit_length() - 900)
    return math.log(x >> shift) + shift * math.log(2)


def _grouped(law: Law) -> str:
    """The law's text, in parentheses where a product needs them."""
    bare = not isinstance(law, Sum) and not (isinstance(law, Length) and law.shift)
    return law.text if bare else f"({law.text})"


@lru_cache(maxsize=8)
def _primes(n: int) -> npt.NDArray[np.int64]:
    """The primes to n."""
    sieve = np.ones(n + 1, dtype=bool)
    sieve[:2] = False
    for p in range(2, math.isqrt(n) + 1):
        if sieve[p]:
            sieve[p * p :: p] = False
    return np.flatnonzero(sieve)


def _greatest_power(p: int, n: int) -> int:
    result = p
    while result * p <= n:
        result *= p
    return result


@lru_cache(maxsize=64)
def _lcm(n: int) -> int:
    """The product of the greatest prime powers to n, as a tree that keeps factors of one size."""
    parts = [_greatest_power(p, n) for p in _primes(n).tolist()] or [1]
    while len(parts) > 1:
        odd = [parts[-1]] if len(parts) % 2 else []
        parts = [a * b for a, b in zip(parts[::2], parts[1::2], strict=False)] + odd
    return parts[0]


@lru_cache(maxsize=1024)
def _log_lcm(n: int) -> float:
    primes = _primes(n)
    large = primes[primes > math.isqrt(n)]  # they enter once
    small = [_greatest_power(p, n) for p in primes[: len(primes) - len(large)].tolist()]
    return float(np.log(large).sum()) + math.fsum(math.log(q) for q in small)
