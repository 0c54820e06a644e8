"""Laws by arithmetic: constants, n, lcm(1..n), powers of two; sums, products and powers of them.

Sums and products are kept in normal form: constants and equal parts are taken together as they
are built, so that laws can be compared and read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from softhat.io.errors import SofthatError
from softhat.numbers.laws.lcm import lcm_to, log_lcm_to
from softhat.numbers.laws.values import Value, exponential, fold, log_of, nearest_float


@dataclass(frozen=True, slots=True, repr=False)
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

    def latex(self) -> str:
        """The law for papers, in math mode."""
        from softhat.numbers.laws.latex import law_latex

        return law_latex(self.text)

    def to_json(self) -> Any:
        """JSON data that `from_json` reads."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<softhat.Law {self.text}>"

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


@dataclass(frozen=True, slots=True, repr=False)
class Constant(Law):
    """The same positive number at every n."""

    value: Fraction

    def at(self, n: int) -> Value:
        return self.value

    @property
    def text(self) -> str:
        x = self.value
        if x.denominator == 1 or (x.numerator < 10**6 and x.denominator < 10**6):
            return str(x) if x < 10**12 else f"{nearest_float(x):.4g}"
        return f"{nearest_float(x):.6g}"

    def to_json(self) -> Any:
        return str(self.value)


@dataclass(frozen=True, slots=True, repr=False)
class _Shifted(Law):
    """A law of m = n + shift, or of 1 where that is less."""

    shift: int = 0
    key: ClassVar[str]
    """Its name in files."""

    def moved(self, n: int) -> int:
        """m."""
        return max(1, n + self.shift)

    def to_json(self) -> Any:
        return {self.key: self.shift}


class Length(_Shifted):
    """n + shift, but at least 1."""

    __slots__ = ()
    key = "n"

    def at(self, n: int) -> Value:
        return Fraction(self.moved(n))

    @property
    def text(self) -> str:
        return f"n{self.shift:+d}" if self.shift else "n"


class Lcm(_Shifted):
    """lcm(1, …, n + shift): less than 3^(n + shift), about e^n."""

    __slots__ = ()
    key = "lcm"

    def at(self, n: int) -> Value:
        return Fraction(lcm_to(self.moved(n)))

    def log_at(self, n: int) -> float:
        return log_lcm_to(self.moved(n))

    @property
    def text(self) -> str:
        return f"lcm(1..{Length(self.shift).text})"


class PowerOfTwo(_Shifted):
    """The least power of two that is at least n + shift."""

    __slots__ = ()
    key = "power_of_two"

    def at(self, n: int) -> Value:
        return Fraction(1 << (self.moved(n) - 1).bit_length())

    @property
    def text(self) -> str:
        return f"2^⌈log2({Length(self.shift).text})⌉"


@dataclass(frozen=True, slots=True, repr=False)
class Sum(Law):
    """The sum of laws."""

    terms: tuple[Law, ...]

    def at(self, n: int) -> Value:
        return fold([term.at(n) for term in self.terms], adding=True)

    def log_at(self, n: int) -> float:
        logs = [term.log_at(n) for term in self.terms]
        top = max(logs)
        return top + math.log(sum(math.exp(x - top) for x in logs))

    @property
    def text(self) -> str:
        return " + ".join(term.text for term in self.terms)

    def to_json(self) -> Any:
        return {"sum": [term.to_json() for term in self.terms]}


@dataclass(frozen=True, slots=True, repr=False)
class Product(Law):
    """The product of laws."""

    factors: tuple[Law, ...]

    def at(self, n: int) -> Value:
        return fold([factor.at(n) for factor in self.factors], adding=False)

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


@dataclass(frozen=True, slots=True, repr=False)
class Power(Law):
    """A law to an integer power, which may be negative."""

    base: Law
    exponent: int

    def at(self, n: int) -> Value:
        x = self.base.at(n)
        if isinstance(x, Fraction):
            return x**self.exponent
        return exponential(self.exponent * log_of(x))

    def log_at(self, n: int) -> float:
        return self.exponent * self.base.log_at(n)

    @property
    def text(self) -> str:
        if self.exponent < 0:
            return f"1/{_grouped(power(self.base, -self.exponent))}"
        return _grouped(self.base) + str(self.exponent).translate(_RAISED)

    def to_json(self) -> Any:
        return {"power": [self.base.to_json(), self.exponent]}


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
    parts = [power(base, k) for base, k in exponents.items() if k]
    if constant != 1 or not parts:
        parts.insert(0, Constant(constant))
    return parts[0] if len(parts) == 1 else Product(tuple(parts))


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


def _split(term: Law) -> tuple[Fraction, Law]:
    """term = factor · rest."""
    match term:
        case Constant(x):
            return x, ONE
        case Product((Constant(x), *rest)):
            return x, product(*rest)
    return Fraction(1), term


def _grouped(law: Law) -> str:
    """The law's text, in parentheses where a product needs them."""
    bare = not isinstance(law, Sum) and not (isinstance(law, Length) and law.shift)
    return law.text if bare else f"({law.text})"
