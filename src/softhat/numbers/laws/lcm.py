"""lcm(1, …, n), exactly and in logarithms: what every denominator to n divides."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from softhat.numbers.arithmetic_sets import sieve


@lru_cache(maxsize=64)
def lcm_to(n: int) -> int:
    """lcm(1..n): the product of the greatest prime powers to n, factors of one size at a time."""
    parts = [_greatest_power(p, n) for p in _primes(n).tolist()] or [1]
    while len(parts) > 1:
        odd = [parts[-1]] if len(parts) % 2 else []
        parts = [a * b for a, b in zip(parts[::2], parts[1::2], strict=False)] + odd
    return parts[0]


@lru_cache(maxsize=1024)
def log_lcm_to(n: int) -> float:
    """ln lcm(1..n): the sum of ln of the greatest prime powers (Chebyshev's ψ)."""
    primes = _primes(n)
    large = primes[primes > math.isqrt(n)]  # they enter once
    small = [_greatest_power(p, n) for p in primes[: len(primes) - len(large)].tolist()]
    return float(np.log(large).sum()) + math.fsum(math.log(q) for q in small)


def _primes(n: int) -> npt.NDArray[np.int64]:
    """The primes to n."""
    return np.flatnonzero(sieve(n + 1))


def _greatest_power(p: int, n: int) -> int:
    """The greatest power of p that is at most n."""
    result = p
    while result * p <= n:
        result *= p
    return result
