"""Where to look for the longest length that is proved: few questions, in a likely order.

Many heads end at the same length, and many where a format runs out of digits. Nothing here needs to
be right for a certificate to be: `softhat.proof.lengths` asks again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence

_LIKELY = tuple(2**k - less for k in range(4, 54) for less in (3, 2, 1, 0, -1))
"""Where formats run out of digits many limits lie, or next to it."""
_TIMES = range(3, 16, 2)
"""… or where so many times the length is a power of two: there spacings double, too."""
_CLOSE = 128
"""Many others lie a little below one of these."""


def longest(
    fails: Callable[[int], str | None],
    upto: int,
    ends: Iterable[int],
    landmarks: list[int],
    digits: int,
) -> int:
    """The largest n <= upto such that no length to n fails, if bounds only grow between `ends`.

    `ends` are asked from the shortest on, the last is `upto`, and only before the first that fails
    is searched. Limits of other heads (`landmarks`, to which this one is added) are asked first,
    the last one before all, then powers of two from the format's `digits` outwards, then other
    likely ones, then the lengths between them.
    """
    low, high = 0, upto + 1

    def narrow(n: int) -> None:
        nonlocal low, high
        if low < n < high:
            low, high = (n, high) if fails(n) is None else (low, n)

    def among(lengths: Sequence[int]) -> None:
        """By lengths in order."""
        while (first := bisect_right(lengths, low)) < (end := bisect_left(lengths, high)):
            narrow(lengths[(first + end) // 2])

    for end in ends:
        narrow(end)
        if high == end:
            break
    among(_with_next(landmarks[-1:]))
    among(_with_next(landmarks))
    power = 1 << digits - 1
    while low < power < high:
        narrow(power)
        power = power * 2 if power == low else power // 2
    narrow(high - _CLOSE)
    among(_LIKELY)
    among(_with_next((1 << (high * m).bit_length() - 1) // m for m in _TIMES))
    narrow(high - _CLOSE)
    while high - low > 1:
        narrow((low + high) // 2)
    if low in landmarks:
        landmarks.remove(low)
    landmarks.append(low)
    return low


def _with_next(lengths: Iterable[int]) -> list[int]:
    return sorted({n for at in lengths for n in (at, at + 1)})
