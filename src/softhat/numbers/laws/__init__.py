"""Functions of the length n as data: what gaps, temperatures and errors are proved to be.

A law is a small expression, never code: constants, n, lcm(1..n), the next power of two, their
sums, products, powers, maxima and logarithms. It is evaluated exactly where it is rational
(`at`), in logarithms where its value would be astronomically long (`log_at`), printed (`text`)
and stored as JSON. All laws are positive at every n ≥ 1.
"""

import importlib
from typing import TYPE_CHECKING, Any

from softhat.numbers.laws.arithmetic import (
    ONE,
    Constant,
    Law,
    Lcm,
    Length,
    N,
    Power,
    PowerOfTwo,
    Product,
    Sum,
    as_law,
    power,
    product,
    total,
)
from softhat.numbers.laws.values import Value, log_of

if TYPE_CHECKING:
    from softhat.numbers.laws.functions import (
        Log,
        Maximum,
        Minimum,
        RoundedUp,
        Tabled,
        log,
        maximum,
        minimum,
        rounded_up,
    )
    from softhat.numbers.laws.stored import from_json

__all__ = [
    "ONE",
    "Constant",
    "Law",
    "Lcm",
    "Length",
    "Log",
    "Maximum",
    "Minimum",
    "N",
    "Power",
    "PowerOfTwo",
    "Product",
    "RoundedUp",
    "Sum",
    "Tabled",
    "Value",
    "as_law",
    "from_json",
    "log",
    "log_of",
    "maximum",
    "minimum",
    "power",
    "product",
    "rounded_up",
    "total",
]


def __getattr__(name: str) -> Any:
    """Logarithms and maxima, which compiled heads have none of, and laws in files: a proof about
    weights reads neither."""
    if name not in __all__:
        raise AttributeError(f"softhat.numbers.laws has no {name}")
    home = "stored" if name == "from_json" else "functions"
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
