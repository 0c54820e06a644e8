"""All words of a length in lexicographic order, in chunks of symbol-number arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]


def all_words(symbols: int, n: int, chunk: int = 4096) -> Iterator[Codes]:
    """Every word of length n over this many symbols."""
    total = symbols**n
    powers = np.array([symbols ** (n - 1 - k) for k in range(n)], dtype=np.int64)
    for start in range(0, total, chunk):
        numbers = np.arange(start, min(start + chunk, total), dtype=np.int64)
        yield (numbers[:, None] // powers) % symbols


def random_words(symbols: int, n: int, count: int, seed: int) -> Codes:
    """Words drawn uniformly, reproducibly."""
    return np.random.default_rng([seed, n]).integers(0, symbols, size=(count, n), dtype=np.int64)


def feasible_length(symbols: int, up_to: int, max_words: int) -> int:
    """The greatest N ≤ up_to such that there are at most max_words words of length N."""
    n = 0
    while n < up_to and symbols ** (n + 1) <= max_words:
        n += 1
    return n
