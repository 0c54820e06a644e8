"""Position features: integers (divided by P, a power of two), so exactly representable far out.

`i` and `r = n+1-i` are 0 at both sinks, the predicates (`ordinary`, `first`, `last`, `mod`) too;
`1` and `(-1)^i` hold everywhere. P is 1 unless the model scales its temperature.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.errors import SofthatError

_MOD = re.compile(r"mod\((\d+), (\d+)\)")
PLAIN = (
    "1", "ordinary", "i", "r", "i/P", "r/P", "ordinary/P", "(-1)^i", "(-1)^i/P", "first", "last",
)  # fmt: skip


def features(
    names: tuple[str, ...], n: int, scale: int, eos: bool, start: int = 0, stop: int | None = None
) -> NDArray[np.float64]:
    """Rows start..stop of the (positions, features) table of a word of length n with its sinks."""
    index = np.arange(start, n + 1 + eos if stop is None else stop)
    ordinary = (index >= 1) & (index <= n)
    table = np.empty((len(index), len(names)))
    for column, name in enumerate(names):
        table[:, column] = _feature(name, index, ordinary, n, scale)
    return table


def known(name: str) -> bool:
    return name in PLAIN or _MOD.fullmatch(name) is not None


def _feature(
    name: str, index: NDArray[np.int64], ordinary: NDArray[np.bool_], n: int, scale: int
) -> Any:
    match name:
        case "1":
            return np.ones(len(index))
        case "ordinary":
            return ordinary
        case "ordinary/P":
            return ordinary / scale
        case "i" | "i/P":
            return np.where(ordinary, index, 0) / scale
        case "r" | "r/P":
            return np.where(ordinary, n + 1 - index, 0) / scale
        case "(-1)^i":
            return 1.0 - 2.0 * (index & 1)
        case "(-1)^i/P":
            return (1.0 - 2.0 * (index & 1)) / scale
        case "first":
            return index == 1
        case "last":
            return ordinary & (index == n)
    found = _MOD.fullmatch(name)
    if found is None:
        raise SofthatError(f"unknown position feature {name!r}: this model needs a newer softhat")
    # No word has 2^62 positions, and 64 bits hold no larger numbers.
    modulus, remainder = (min(int(digits), 1 << 62) for digits in found.groups())
    return ordinary & (index % modulus == remainder)
