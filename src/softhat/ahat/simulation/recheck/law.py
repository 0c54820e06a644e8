"""A temperature law's value, from its JSON by code of its own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from softhat.io.errors import SofthatError


def value_of(law: Any, n: int) -> Fraction | float:
    """The law at n: a Fraction, or a float where it takes a logarithm."""
    if isinstance(law, str):
        return Fraction(law)
    if "table" in law:
        known = law["table"]
        return Fraction(known[n - 1]) if n <= len(known) else value_of(law["beyond"], n)
    ((kind, inner),) = law.items()
    match kind:
        case "n":
            return Fraction(max(1, n + inner))
        case "lcm":
            return Fraction(math.lcm(*range(1, max(1, n + inner) + 1)))
        case "sum":
            return sum((value_of(part, n) for part in inner), Fraction(0))
        case "product":
            return math.prod((value_of(part, n) for part in inner), start=Fraction(1))
        case "power":
            return value_of(inner[0], n) ** inner[1]
        case "log":
            return math.log(value_of(inner, n))
        case "max":
            return max(value_of(part, n) for part in inner)
        case "min":
            return min(value_of(part, n) for part in inner)
        case "rounded_up":
            value = Fraction(value_of(inner[0], n))
            unit = Fraction(2) ** (math.frexp(value)[1] - inner[1])
            return math.ceil(value / unit) * unit
    raise SofthatError(f"cannot re-check a law of kind {kind!r}")
