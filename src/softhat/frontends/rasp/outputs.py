"""How the outputs of a compiled RASP program are read as values.

Categories are one bit a value, or the binary digits of a place in a list; numbers are what heads
return, scaled. A decoder is plain data, so that a model's folder can hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any
from typing import Literal as Choice

from softhat.frontends.rasp.converting import line_of, to_categories
from softhat.frontends.rasp.maps import by_value
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.values import (
    Categories,
    Counted,
    Joint,
    Known,
    Placed,
    Quantity,
    QuotientCase,
    tagged,
)
from softhat.frontends.rasp.workshop import MOST_CHANGES, ChangesOftenError, Workshop
from softhat.program.heads import Average, MatchMean, Range
from softhat.program.literals import TRUE, Literal
from softhat.program.signals import Number

MOST_BITS = 64
"""Categories with more values are written in binary."""

Scale = Choice["1", "i+1", "n+2", "n+2-i"]
"""What a head's output is multiplied by: a mean is its own value, a sum the number of positions
that were averaged (the sinks included) times the average."""


@dataclass(frozen=True, slots=True)
class Bits:
    """values[k] where output names[k] is true, None where none is."""

    names: tuple[str, ...]
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class DigitValues:
    """values[d] with the binary digits `names` of d, lowest first; None where `defined` is not."""

    names: tuple[str, ...]
    defined: str | None
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class NumberCase:
    """Σ of scaled numbers + constant, where `when` is true; rounded if it is a whole number."""

    when: str | None
    terms: tuple[tuple[str, Scale], ...]
    constant: Fraction
    whole: bool


@dataclass(frozen=True, slots=True)
class Numbers:
    """The first case whose `when` is true; None if there is none."""

    cases: tuple[NumberCase, ...]


Decoder = Bits | DigitValues | Numbers


def decode(
    decoder: Decoder,
    bits: Mapping[str, Sequence[bool]],
    numbers: Mapping[str, Sequence[float | Fraction]],
    n: int,
) -> list[Value]:
    """The values at n positions from the truth of the outputs and the numeric outputs."""
    return [_decode(decoder, bits, numbers, i, n) for i in range(1, n + 1)]


def _decode(
    decoder: Decoder,
    bits: Mapping[str, Sequence[bool]],
    numbers: Mapping[str, Sequence[float | Fraction]],
    i: int,
    n: int,
) -> Value:
    match decoder:
        case Bits(names, values):
            held = (v for name, v in zip(names, values, strict=True) if bits[name][i - 1])
            return next(held, None)
        case DigitValues(names, defined, values):
            if defined is not None and not bits[defined][i - 1]:
                return None
            place = sum(bool(bits[name][i - 1]) << k for k, name in enumerate(names))
            return values[place] if place < len(values) else None
        case Numbers(cases):
            for case in cases:
                if case.when is None or bits[case.when][i - 1]:
                    terms = [scaled(numbers[x][i - 1], by, i, n) for x, by in case.terms]
                    total = sum(terms) + case.constant
                    return round(total) if case.whole else _number(total)
            return None


def _number(value: Any) -> int | float:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return float(value)


def scaled(value: Any, by: Scale, i: int, n: int) -> Any:
    match by:
        case "1":
            return value
        case "i+1":
            return value * (i + 1)
        case "n+2":
            return value * (n + 2)
        case "n+2-i":
            return value * (n + 2 - i)


@dataclass(slots=True)
class DecoderOutputs:
    """The outputs that a decoder reads."""

    bits: dict[str, Literal] = field(default_factory=dict)
    numbers: dict[str, Number] = field(default_factory=dict)

    def bit(self, literal: Literal, name: str) -> str:
        while name in self.bits:  # values of different types may look alike
            name += "'"
        self.bits[name] = literal
        return name

    def number(self, signal: int, name: str, factor: Fraction = Fraction(1)) -> str:
        self.numbers[name] = Number(((factor, signal),), Fraction(0))
        return name


def output(shop: Workshop, known: Known, numerical: bool) -> tuple[Decoder, DecoderOutputs]:
    """The decoder of a program's value, and the outputs it reads."""
    asked = DecoderOutputs()
    if isinstance(known, Joint):
        known = line_of(shop, known) or to_categories(shop, known)
    if isinstance(known, Placed):
        known = to_categories(shop, known)
    if isinstance(known, Counted):
        if numerical and known.quantity is not None:
            return _quantity(shop, known.quantity, asked), asked
        return _digits(shop, known, asked), asked
    if isinstance(known, Quantity):
        if all(case.mean is not None or not case.is_ratio for case in known.cases):
            return _quantity(shop, known, asked), asked
        known = _values_of_means(shop, known)
    return _categories(shop, known, asked), asked


def _values_of_means(shop: Workshop, known: Quantity) -> Categories:
    """Means over several masks, which no head returns, by their values."""
    try:
        return by_value(shop, known)
    except ChangesOftenError:
        raise shop.fault(
            f"a mean over several masks with over {MOST_CHANGES} sums or numbers is no output: "
            "compare it instead, or compile to a shorter max_length"
        ) from None


def _categories(shop: Workshop, known: Categories, asked: DecoderOutputs) -> Decoder:
    if len(known.values) <= MOST_BITS:
        pairs = zip(known.values, known.bits, strict=True)
        names = tuple(asked.bit(bit, f"is {value!r}") for value, bit in pairs)
        return Bits(names, known.values)
    count = (len(known.values) - 1).bit_length()
    names = tuple(
        asked.bit(shop.either(bit for k, bit in enumerate(known.bits) if k >> b & 1), f"bit{b}")
        for b in range(count)
    )
    defined = None if known.total else asked.bit(shop.holds(known), "defined")
    return DigitValues(names, defined, known.values)


def _digits(shop: Workshop, known: Counted, asked: DecoderOutputs) -> Decoder:
    """Places in the list of all values, in binary, straight from the count."""
    values = tuple(v for v in known.values.values() if v is not None)
    if len(values) <= 2:
        return _categories(shop, to_categories(shop, known), asked)
    place = {tagged(value): k for k, value in enumerate(values)}
    count = (len(values) - 1).bit_length()

    def digit(b: int) -> Callable[[Value], bool]:
        return lambda v: v is not None and bool(place[tagged(v)] >> b & 1)

    names = tuple(asked.bit(shop.where(known, digit(b)), f"bit{b}") for b in range(count))
    there = shop.where(known, lambda v: v is not None)
    return DigitValues(names, None if there == TRUE else asked.bit(there, "defined"), values)


AVERAGED: dict[Scale, Range | None] = {
    "1": None,
    "i+1": "past",
    "n+2-i": "future",
    "n+2": "total",
}
"""The range of which a scale is the number of positions."""
_SCALES = {over: scale for scale, over in AVERAGED.items() if over is not None}


def _quantity(shop: Workshop, known: Quantity, asked: DecoderOutputs) -> Decoder:
    cases = []
    for k, case in enumerate(known.cases):
        when = None if case.when == TRUE else asked.bit(case.when, f"case{k}")
        if case.above.is_constant and not case.is_ratio:
            value = case.above.constant / case.below.constant
            cases.append(NumberCase(when, (), value, whole=value.denominator == 1))
        elif case.is_ratio:
            cases.append(_ratio(shop, case, when, asked, k))
        else:
            cases.append(_sum(shop, case, when, asked, k))
    return Numbers(tuple(cases))


def _sum(
    shop: Workshop, case: QuotientCase, when: str | None, asked: DecoderOutputs, k: int
) -> NumberCase:
    """A sum of counts: averages, each times the number of positions it is over."""
    form = case.above.times(1 / case.below.constant)
    scale = form.scale
    terms: list[tuple[str, Scale]] = []
    by_range: dict[Range, list[tuple[int, int]]] = {}
    for (over, signal), a in form.counts.items():
        by_range.setdefault(over, []).append((int(a * scale), signal))
    if form.position:
        by_range.setdefault("past", []).append((int(form.position * scale), -1))
    if form.length:
        by_range.setdefault("total", []).append((int(form.length * scale), -1))
    for over, counted in by_range.items():
        head = Average(tuple(sorted(counted, key=lambda term: term[1])), over)
        signal = shop.draft.add(head, f"{shop.name}: average").signal
        name = asked.number(signal, f"sum{k}-{over}", Fraction(1, scale))
        terms.append((name, _SCALES[over]))
    return NumberCase(when, tuple(terms), form.constant, whole=scale == 1)


def _ratio(
    shop: Workshop, case: QuotientCase, when: str | None, asked: DecoderOutputs, k: int
) -> NumberCase:
    """A mean, as its head returns it."""
    mean = case.mean
    assert mean is not None  # the others are given by their values
    scale = lcm(*(a.denominator for a in mean.terms.values()))
    terms = tuple(sorted((int(a * scale), signal) for signal, a in mean.terms.items()))
    signal = shop.draft.add(MatchMean(mean.selector, terms), f"{shop.name}: mean").signal
    name = asked.number(signal, f"mean{k}", Fraction(1, scale))
    return NumberCase(when, ((name, "1"),), mean.constant, whole=False)
