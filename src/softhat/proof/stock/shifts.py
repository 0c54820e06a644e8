"""Shift: the value a fixed number of positions before, recognised from scores.

**Theorem 18** (codes). Scores Σ_b w_b·s_b(i)·t_b(j), w_b > 0, with signs t_b = ±1 that tell all
positions apart and s_b(i) = t_b(max(i - D, 0)), put all but Π(1 + e^-2w_b) - 1 on j = i - D, or on
`<bos>` where there is no such position: each digit that differs costs 2·w_b, and different
positions differ in different sets of digits.

**Theorem 39** (turning). Scores T(i - j) on the word's own positions and U(i) on `<bos>`. If for
every i > D T(D) is at least C above all other T(d), d < i, and above U(i), and for every i <= D
U(i) is at least C above all T(d), d < i, then all but n·e^-C is on j = i - D, or on `<bos>` where
there is no such position.

`<bos>` has the value 0, so either head returns the value at i - D, and 0 where that is no position.
Both are recognised here for every distance D >= 1; GPT-2's positions are codes, Llama's turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError

Vector = NDArray[np.float64]


def distance_of_codes(asked: Sequence[Vector], given: Sequence[Vector], where: str) -> int:
    """D of Theorem 18. `asked` and `given` are the ±1 digits of queries and of keys at every
    position, `<bos>` first, with the signs by which a digit that is the same adds to the score."""
    query, key = np.stack(asked) > 0, np.stack(given) > 0
    last = key.shape[1] - 1
    if len(np.unique(np.packbits(key, axis=0), axis=1).T) != last + 1:
        raise VoidError(f"{where} compares digits that two positions share")
    (same,) = np.nonzero((key == query[:, -1:]).all(axis=0))
    if not len(same) or same[0] == last:
        raise VoidError(f"{where} compares digits of something that is no position before")
    distance = last - int(same[0])
    before = np.maximum(np.arange(1, last + 1) - distance, 0)
    if not np.array_equal(query[:, 1:], key[:, before]):
        raise VoidError(f"{where} compares digits of something that is not {distance} before")
    return distance


def distance_of_turns(word: Vector, bos: Vector, slack: float, where: str) -> tuple[int, float]:
    """D and C of Theorem 39. `word` is T at the distances 0, 1, …, `bos` is U at the positions 0,
    1, …; `slack` is what floating point may have lost of either."""
    positions = len(bos) - 1
    near = np.maximum.accumulate(word)[:positions]  # the largest T(d), d < i, for i = 1, 2, …
    (seen,) = np.nonzero(near > bos[1:])
    if not len(seen):  # `<bos>` wins everywhere: every distance beyond the last is this one
        distance = positions
    else:
        distance = int(seen[0])  # position i = seen + 1 sees distances to seen
    gaps = [float((bos[1 : distance + 1] - near[:distance]).min(initial=np.inf))]
    if distance < positions:
        own = float(word[distance])
        others = np.delete(word[:positions], distance)
        gaps += [own - float(others.max(initial=-np.inf)), own - float(bos[distance + 1 :].max())]
    gap = min(gaps) - 2 * slack
    if distance < 1 or gap <= 0:
        raise VoidError(f"{where} has scores that do not single out one distance, or <bos>")
    return distance, gap
