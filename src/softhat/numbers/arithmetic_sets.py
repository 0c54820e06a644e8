"""Sets of positions that numerical predicates name: primes, squares, powers of two and the like.

Each is a function of positions 1..n, an array, and of n.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
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
        return _sieve(size)[np.maximum(index, 0)]
    return np.fromiter((_is_prime(int(i)) for i in index), np.bool_, len(index))


@lru_cache(maxsize=4)
def _sieve(size: int) -> Bools:
    prime = np.ones(size, np.bool_)
    prime[:2] = False
    for p in range(2, int(size**0.5) + 1):
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


def _member(grow: Callable[[int, int], int]) -> Callable[[Index, int], Bools]:
    """The numbers 1 = m_1 <= m_2 …, where m_{k+1} is `grow(k, m_k)`, that 63 bits hold."""
    members = [1]
    while (following := grow(len(members), members[-1])) < 1 << 62:
        members.append(following)
    known = np.array(sorted(set(members)), np.int64)
    return lambda index, n: np.isin(index, known)


def _fibonacci() -> Callable[[Index, int], Bools]:
    before = [1]

    def grow(_: int, last: int) -> int:
        before.append(last)
        return before[-1] + before[-2]

    return _member(grow)


BUILT_IN: dict[str, Callable[[Index, int], Bools]] = {
    "prime": _prime,
    "square": _square,
    "triangular": lambda index, n: _square(8 * np.minimum(index, 1 << 58) + 1, n),
    "power2": lambda index, n: (index > 0) & (index & (index - 1) == 0),
    "fibonacci": _fibonacci(),
    "factorial": _member(lambda k, last: last * (k + 1)),
    "middle": lambda index, n: (2 * index == n) | (2 * index == n + 1),
}
"""Where positions 1..n belong; what is said of other numbers does not matter."""
OF_THE_LENGTH = ("middle",)
"""Those that depend on n, too."""
