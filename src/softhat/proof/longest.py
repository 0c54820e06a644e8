"""Where to look for the longest length that is proved: few questions, in a likely order.

Many heads end at the same length, and many where a format runs out of digits. Nothing here needs to
be right for a certificate to be: `softhat.proof.lengths` asks again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from math import log

from softhat.proof.softmax import Bound

_LIKELY = tuple(2**k - less for k in range(4, 54) for less in (3, 2, 1, 0, -1))
"""Where formats run out of digits many limits lie, or next to it."""
_TIMES = range(3, 16, 2)
"""… or where so many times the length is a power of two: there spacings double, too."""
_CLOSE = 128
"""Many others lie a little below one of these."""
_LARGEST = 0.25
"""No head's output is off by more where it is proved."""
_NEAR = 1 << 10
"""What is expected of a straight line is met up to this share of the way there, or not at all."""


def longest(
    ask: Callable[[int], Bound | str | None],
    upto: int,
    ends: Iterable[int],
    landmarks: list[int],
    digits: int,
) -> int:
    """The largest n <= upto such that no length to n fails, if bounds only grow between `ends`.
    What fails is answered by a reason.

    `ends` are asked from the shortest on, the last is `upto`, and only before the first that fails
    is searched. Limits of other heads (`landmarks`, to which this one is added) are asked first,
    the last one before all, then powers of two from the format's `digits` outwards, then other
    likely ones, then those where the bound of lengths that do not fail would grow too large, then
    the lengths between them.
    """
    low, high = 0, upto + 1
    before = 0  # the length that was last known not to fail before `low` was

    def narrow(n: int) -> None:
        nonlocal before, low, high
        if low < n < high:
            if isinstance(ask(n), str):
                high = n
            else:
                before, low = low, n

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
    power, step = digits - 1, 1
    while low < 1 << power < high:
        narrow(1 << power)
        power, step = max(0, power + step if 1 << power == low else power - step), 2 * step
    narrow(high - _CLOSE)
    among(_LIKELY)
    among(_with_next((1 << (high * m).bit_length() - 1) // m for m in _TIMES))
    narrow(high - _CLOSE)
    while high - low > 1:
        half = (high - low) // 2
        likely = _end_of_line(before, low, ask)
        if likely is not None:
            off = (likely - low) // _NEAR
            narrow(likely - off)
            narrow(likely + off + 1)
        if high - low > half:
            narrow((low + high) // 2)
    if low in landmarks:
        landmarks.remove(low)
    landmarks.append(low)
    return low


def _end_of_line(before: int, low: int, ask: Callable[[int], Bound | str | None]) -> int | None:
    """Where an error that was right at two lengths grows too large, if the logarithm of its odds is
    a straight line: what is left of a gap between scores shrinks with the length, and what does not
    win weighs e to the power of minus that."""
    known = [ask(n) for n in (before, low) if n]
    errors = [max(x.low, x.high) for x in known if isinstance(x, Bound)]
    if len(errors) < 2 or not 0 < errors[0] < errors[1] < _LARGEST:
        return None
    first, last, goal = (log(x / (1 - x)) for x in (*errors, _LARGEST))
    return low + int((low - before) * (goal - last) / (last - first)) if last > first else None


def _with_next(lengths: Iterable[int]) -> list[int]:
    return sorted({n for at in lengths for n in (at, at + 1)})
