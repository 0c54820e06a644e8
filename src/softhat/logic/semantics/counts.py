"""Comparisons of counts on a row of words: running sums, exact whatever the weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.logic.linear import LinearForm
from softhat.logic.semantics.rows import Row
from softhat.logic.semantics.words import Bools


def compare(relation: str, form: LinearForm, counted: list[int], row: Row) -> int:
    """Where `form ⋈ 0`; `counted` are the signals of what the form counts."""
    past, future = len(form.past), len(form.past) + len(form.future)
    weighted = [(a, signal) for (a, _), signal in zip(form.terms, counted, strict=True)]
    parts = (weighted[:past], weighted[past:future], weighted[future:])
    largest = sum(abs(a) for a, _ in weighted) * row.longest + abs(form.constant)
    # Running sums go over the whole row before a word's start is subtracted.
    running = sum(abs(a) for a, _ in weighted) * row.size + abs(form.constant)
    decide = RELATIONS[relation]
    if max(largest, running) < 2**62:
        dtype = np.int32 if max(largest, running) < 2**30 else np.int64
        value = _total_of([_weigh(part, row, dtype) for part in parts], row)
        return row.to_signal(decide(value + dtype(form.constant), 0)) & row.inside
    return row.to_signal(_compare_huge(parts, form.constant, decide, row)) & row.inside


_Part = list[tuple[int, int]]
_Values = NDArray[Any]


def _weigh(part: _Part, row: Row, dtype: type[np.signedinteger[Any]]) -> _Values | None:
    """Σ a·φ at each place."""
    if not part:
        return None
    total = np.zeros(row.size, dtype)
    for a, signal in part:
        bits = row.to_bits(signal)
        if a == 1:
            total += bits
        elif a == -1:
            total -= bits
        else:
            total += np.multiply(bits, dtype(a), dtype=dtype)  # NumPy 1 would choose by value
    return total


def _total_of(weights: list[_Values | None], row: Row) -> _Values:
    """Past sums of the first weights, future sums of the second, total sums of the third."""
    past, future, total = weights
    values: list[_Values] = []
    if past is not None:
        values.append(_from_start(past, row))
    if future is not None:
        sums = _from_start(future, row)
        values.append(_at_end(sums, row) - sums + future)
    if total is not None:
        values.append(_at_end(_from_start(total, row), row))
    return reduce(np.add, values) if values else np.zeros(row.size, np.int32)


def _from_start(weights: _Values, row: Row) -> _Values:
    sums: _Values = weights.cumsum(dtype=weights.dtype)
    if len(row.lengths) > 1:
        before = sums[row.starts] - weights[row.starts]
        sums -= before.repeat(row.lengths + 1)
    return sums


def _at_end(sums: _Values, row: Row) -> _Values:
    """The value at each word's end, at all its places (the empty place adds nothing)."""
    return sums[row.starts + row.lengths].repeat(row.lengths + 1)


def _compare_huge(
    parts: tuple[_Part, _Part, _Part], constant: int, decide: Callable[[Any, Any], Any], row: Row
) -> Bools:
    """With Python's integers, in pieces, where machine integers might overflow."""
    counts: list[tuple[int, _Values]] = []
    for kind, part in enumerate(parts):
        for a, signal in part:
            weights: list[_Values | None] = [None, None, None]
            weights[kind] = _weigh([(1, signal)], row, np.int64)
            counts.append((a, _total_of(weights, row)))
    result = np.zeros(row.size, np.bool_)
    for low in range(0, row.size, _PIECE):
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
