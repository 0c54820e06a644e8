"""Laws from JSON: what `to_json` wrote, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from softhat.io.errors import SofthatError
from softhat.numbers.laws import arithmetic
from softhat.numbers.laws.functions import Log, Maximum, Minimum, RoundedUp, Tabled

_DEEPEST = 60  # nesting of a law that is read


def from_json(data: Any, depth: int = 0) -> arithmetic.Law:
    """Read a law that `to_json` wrote; anything else is an error."""
    if depth > _DEEPEST:
        raise SofthatError(f"a law is nested deeper than {_DEEPEST} levels")
    if isinstance(data, str):
        return arithmetic.Constant(_positive(data))
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
            return {
                "n": arithmetic.Length,
                "lcm": arithmetic.Lcm,
                "power_of_two": arithmetic.PowerOfTwo,
            }[kind](inner)
        case "sum" | "product" | "max" | "min" if isinstance(inner, list) and inner:
            parts = tuple(from_json(part, depth + 1) for part in inner)
            return {
                "sum": arithmetic.Sum,
                "product": arithmetic.Product,
                "max": Maximum,
                "min": Minimum,
            }[kind](parts)
        case "log":
            return Log(from_json(inner, depth + 1))
        case "power" if pair is not None:
            return arithmetic.Power(from_json(pair[0], depth + 1), pair[1])
        case "rounded_up" if pair is not None and pair[1] >= 1:
            return RoundedUp(from_json(pair[0], depth + 1), pair[1])
    raise SofthatError(f"not a law: {str(data)[:60]}")


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
