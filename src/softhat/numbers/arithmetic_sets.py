"""Sets of positions that numerical predicates name: primes, squares, powers of two and the like.

Each is a function of positions 1..n, an array, and of n.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, count, takewhile
from math import isqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Index: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]


def _square(index: Index, n: int) -> Bools:
    root = np.sqrt(index.astype(np.float64)).astype(np.int64)
    near = [(root + d) * (root + d) == index for d in (-1, 0, 1)]  # the root may be rounded
    return near[0] | near[1] | near[2]


def _prime(index: Index, n: int) -> Bools:
    largest = int(index.max(initial=0))
    if largest < 1 << 26:
        size = 1 << max(largest, 1 << 12).bit_length()
        return sieve(size)[np.maximum(index, 0)]
    return np.fromiter((_is_prime(int(i)) for i in index), np.bool_, len(index))


@lru_cache(maxsize=8)
def sieve(size: int) -> Bools:
    """Which of the numbers below `size` are prime (Eratosthenes)."""
    prime = np.ones(size, np.bool_)
    prime[:2] = False
    for p in range(2, isqrt(size) + 1):
        if prime[p]:
            prime[p * p :: p] = False
    return prime


def _is_prime(i: int) -> bool:
    """By Miller and Rabin, with bases that are enough below 3·10^24."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    if i < 2 or any(i % p == 0 for p in bases):
        return i in bases
    twos = (i - 1 & 1 - i).bit_length() - 1
    for base in bases:
        x = pow(base, (i - 1) >> twos, i)
        if x in (1, i - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % i
            if x == i - 1:
                break
        else:
            return False
    return True


def _among(growing: Iterable[int]) -> Callable[[Index, int], Bools]:
    """The set of growing numbers, as far as positions reach: they are below 2^62."""
    members = np.array(list(takewhile(lambda member: member < 1 << 62, growing)), np.int64)
    return lambda index, n: np.isin(index, members)


def _fibonacci() -> Iterator[int]:
    """1, 2, 3, 5, 8, …"""
    here, following = 1, 2
    while True:
        yield here
        here, following = following, here + following


BUILT_IN: dict[str, Callable[[Index, int], Bools]] = {
    "prime": _prime,
    "square": _square,
    "triangular": lambda index, n: _square(8 * np.minimum(index, 1 << 58) + 1, n),
    "power2": lambda index, n: (index > 0) & (index & (index - 1) == 0),
    "fibonacci": _among(_fibonacci()),
    "factorial": _among(accumulate(count(1), operator.mul)),
    "middle": lambda index, n: (2 * index == n) | (2 * index == n + 1),
}
"""Where positions 1..n belong; what is said of other numbers does not matter."""
OF_THE_LENGTH = ("middle",)
"""Those that depend on n, too."""
