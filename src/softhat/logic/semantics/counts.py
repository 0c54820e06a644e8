"""Comparisons of counts on a tape of words: running sums, exact whatever the weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.logic.linear import LinearForm
from softhat.logic.semantics.tape import Tape
from softhat.logic.semantics.words import Bools


def compare(relation: str, form: LinearForm, counted: list[int], tape: Tape) -> int:
    """Where `form ⋈ 0`; `counted` are the signals of what the form counts."""
    past, future = len(form.past), len(form.past) + len(form.future)
    weighted = [(a, signal) for (a, _), signal in zip(form.terms, counted, strict=True)]
    parts = (weighted[:past], weighted[past:future], weighted[future:])
    largest = sum(abs(a) for a, _ in weighted) * tape.longest + abs(form.constant)
    # Running sums go over the whole tape before a word's start is subtracted.
    running = sum(abs(a) for a, _ in weighted) * tape.size + abs(form.constant)
    decide = RELATIONS[relation]
    if max(largest, running) < 2**62:
        dtype = np.int32 if max(largest, running) < 2**30 else np.int64
        value = _total_of([_weigh(part, tape, dtype) for part in parts], tape)
        return tape.to_signal(decide(value + dtype(form.constant), 0)) & tape.inside
    return tape.to_signal(_compare_huge(parts, form.constant, decide, tape)) & tape.inside


_Part = list[tuple[int, int]]
_Values = NDArray[Any]


def _weigh(part: _Part, tape: Tape, dtype: type[np.signedinteger[Any]]) -> _Values | None:
    """Σ a·φ at each place."""
    if not part:
        return None
    total = np.zeros(tape.size, dtype)
    for a, signal in part:
        bits = tape.to_bits(signal)
        if a == 1:
            total += bits
        elif a == -1:
            total -= bits
        else:
            total += np.multiply(bits, dtype(a), dtype=dtype)  # NumPy 1 would choose by value
    return total


def _total_of(weights: list[_Values | None], tape: Tape) -> _Values:
    """Past sums of the first weights, future sums of the second, total sums of the third."""
    past, future, total = weights
    values: list[_Values] = []
    if past is not None:
        values.append(_from_start(past, tape))
    if future is not None:
        sums = _from_start(future, tape)
        values.append(_at_end(sums, tape) - sums + future)
    if total is not None:
        values.append(_at_end(_from_start(total, tape), tape))
    return reduce(np.add, values) if values else np.zeros(tape.size, np.int32)


def _from_start(weights: _Values, tape: Tape) -> _Values:
    sums: _Values = weights.cumsum(dtype=weights.dtype)
    if len(tape.lengths) > 1:
        before = sums[tape.starts] - weights[tape.starts]
        sums -= before.repeat(tape.lengths + 1)
    return sums


def _at_end(sums: _Values, tape: Tape) -> _Values:
    """The value at each word's end, at all its places (the empty place adds nothing)."""
    return sums[tape.starts + tape.lengths].repeat(tape.lengths + 1)


def _compare_huge(
    parts: tuple[_Part, _Part, _Part], constant: int, decide: Callable[[Any, Any], Any], tape: Tape
) -> Bools:
    """The comparison where machine integers might overflow: with Python's, in pieces."""
    counts: list[tuple[int, _Values]] = []
    for kind, part in enumerate(parts):
        for a, signal in part:
            weights: list[_Values | None] = [None, None, None]
            weights[kind] = _weigh([(1, signal)], tape, np.int64)
            counts.append((a, _total_of(weights, tape)))
    result = np.zeros(tape.size, np.bool_)
    for low in range(0, tape.size, _PIECE):
        piece = slice(low, low + _PIECE)
        value = np.full(len(result[piece]), constant, object)
        for a, count in counts:
            value += a * count[piece].astype(object)
        result[piece] = decide(value, 0)
    return result


_PIECE = 1 << 16
RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
    ">=": np.greater_equal,
    ">": np.greater,
}
