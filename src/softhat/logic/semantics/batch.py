"""Truth of many words of equal length at once, 64 words in a machine word.

A signal is an array (length, lanes) of uint64: bit b of lane l at a position is the value for
word 64·l + b. Operators go position by position over whole lanes; counts are bit-sliced, one
array for each binary digit, added with ripple carries. Exhaustive checks over millions of
words rest on this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.logic.linear import LinearForm
from softhat.logic.semantics.counts import RELATIONS
from softhat.logic.semantics.gates import Gate, gate
from softhat.logic.semantics.plan import plan
from softhat.logic.semantics.words import Bools
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Comparison, Formula, Node
from softhat.numbers.predicates import column

Lanes: TypeAlias = NDArray[np.uint64]
_ONES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
# Beyond this many binary digits a count is computed with Python's integers instead.
_DIGITS = 256


@dataclass(frozen=True, slots=True, eq=False)
class WordBatch:
    """`count` words of `length` symbols; `symbols[name]` says where each stands, packed."""

    length: int
    count: int
    symbols: Mapping[str, Lanes]

    @property
    def lanes(self) -> int:
        return (self.count + 63) // 64


def all_words(
    alphabet: Sequence[str] | Sequence[Set[str]],
    length: int,
    start: int = 0,
    stop: int | None = None,
) -> WordBatch:
    """The words number `start` to `stop` over `alphabet`, in lexicographic order.

    The letters are symbols, or sets of propositions.
    """
    if length < 1 or not len(alphabet):
        raise SofthatError("words need a length of at least 1 and at least one symbol")
    size = len(alphabet)
    stop = size**length if stop is None else min(stop, size**length)
    runs = [size ** (length - 1 - at) for at in range(length)]
    return words_by_runs(alphabet, runs, start, max(stop - start, 0))


def words_by_runs(
    alphabet: Sequence[str] | Sequence[Set[str]], runs: Sequence[int], start: int, count: int
) -> WordBatch:
    """The words number `start` to `start + count` in an order in which the letter at each position
    is the next one of `alphabet` after as many words as `runs` says of the position."""
    size = len(alphabet)
    letters = [{letter} if isinstance(letter, str) else letter for letter in alphabet]
    shape = (len(runs), (count + 63) // 64)
    symbols = {name: np.zeros(shape, np.uint64) for name in sorted(set(chain(*letters)))}
    for at, run in enumerate(runs):
        for k, letter in enumerate(letters):
            packed = _pack(_periodic(start, count, run, size, k)) if letter else None
            for name in letter:
                symbols[name][at] |= packed
    return WordBatch(len(runs), count, symbols)


def _periodic(start: int, count: int, run: int, size: int, k: int) -> Bools:
    """For the words start … start + count: is the symbol `k`, where it changes every `run`?"""
    here = np.zeros(count, np.bool_)
    period = run * size
    if period <= count:  # write the first period, then copy what is there, doubling
        for low in _starts(start, period, run, k, period):
            here[max(low, 0) : min(low + run, period)] = True
        done = period
        while done < count:
            step = min(done, count - done)
            here[done : done + step] = here[:step]
            done += step
    else:
        for low in _starts(start, period, run, k, count):
            here[max(low, 0) : max(min(low + run, count), 0)] = True
    return here


def _starts(start: int, period: int, run: int, k: int, count: int) -> range:
    """Where runs of symbol `k` begin, relative to `start`, that touch the first `count` words."""
    first = k * run - start % period
    return range(first, count, period) if first + run > 0 else range(first + period, count, period)


def from_codes(codes: NDArray[np.integer[Any]], alphabet: Sequence[str]) -> WordBatch:
    """Words given as an array (count, length) of indices into `alphabet`."""
    count, length = codes.shape
    places: NDArray[Any] = np.ascontiguousarray(codes.T)
    symbols = {name: _pack(np.equal(places, k)) for k, name in enumerate(alphabet)}
    return WordBatch(length, count, symbols)


def _pack(bools: Bools) -> Lanes:
    """Pack the last axis, 64 to a machine word."""
    short = -bools.shape[-1] % 64
    if short:
        bools = np.concatenate([bools, np.zeros((*bools.shape[:-1], short), np.bool_)], axis=-1)
    packed = np.packbits(bools, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64, copy=False)


def unpack(packed: Lanes, count: int) -> Bools:
    """(count, length): the value of each word at each position."""
    as_bytes = np.ascontiguousarray(packed).astype("<u8", copy=False).view(np.uint8)
    bits = np.unpackbits(as_bytes, axis=-1, count=count, bitorder="little")
    return np.ascontiguousarray(bits.T).view(np.bool_)


def evaluate(formula: Formula, batch: WordBatch) -> Lanes:
    """(length, lanes): the truth values, packed; bits beyond `count` mean nothing."""
    return evaluate_many((formula,), batch)[0]


def evaluate_many(formulas: Sequence[Formula], batch: WordBatch) -> list[Lanes]:
    """`evaluate` of several formulas; common subformulas are evaluated once."""
    steps = plan(tuple(formulas))
    signals: dict[int, Lanes] = {}
    for k, (node, places, form) in enumerate(steps.steps):
        if not isinstance(node, Formula):
            pass
        elif form is not None:
            assert isinstance(node, Comparison)
            counted = [_fill(batch, True) if place < 0 else signals[place] for place in places]
            signals[k] = _compare(node, form, counted, batch)
        else:
            signals[k] = _step(node, [signals[place] for place in places], batch)
        for place in steps.dead[k]:
            signals.pop(place, None)
    return [signals[k] for k in steps.results]


def _fill(batch: WordBatch, value: bool) -> Lanes:
    return np.full((batch.length, batch.lanes), _ONES if value else np.uint64(0))


def _step(node: Node, below: list[Lanes], batch: WordBatch) -> Lanes:
    match node:
        case nodes.Symbol(name):
            return batch.symbols[name] if name in batch.symbols else _fill(batch, False)
        case nodes.Constant(value):
            return _fill(batch, value)
        case nodes.First():
            return _at(batch, lambda i: i == 1)
        case nodes.Last():
            return _at(batch, lambda i: i == batch.length)
        case nodes.Mod(modulus, remainder):
            return _at(batch, lambda i: i % modulus == remainder)
        case nodes.At(predicate):
            held = column(predicate, np.arange(1, batch.length + 1), batch.length)
            return _at(batch, lambda i: bool(held[i - 1]))
        case _ if isinstance(node, Gate):
            joined: Lanes = gate(node, below, _ONES)
            return joined
        case nodes.Yesterday() | nodes.WeakYesterday():
            return _shift(below[0], isinstance(node, nodes.WeakYesterday))
        case nodes.Tomorrow() | nodes.WeakTomorrow():
            return _shift(below[0][::-1], isinstance(node, nodes.WeakTomorrow))[::-1]
        case nodes.Once():
            return np.bitwise_or.accumulate(below[0], axis=0)
        case nodes.Historically():
            return np.bitwise_and.accumulate(below[0], axis=0)
        case nodes.Eventually():
            return np.bitwise_or.accumulate(below[0][::-1], axis=0)[::-1]
        case nodes.Always():
            return np.bitwise_and.accumulate(below[0][::-1], axis=0)[::-1]
        case nodes.Since():
            return _since(below[0], below[1])
        case nodes.Triggered():
            return _triggered(below[0], below[1])
        case nodes.Until():
            return _since(below[0][::-1], below[1][::-1])[::-1]
        case nodes.Release():
            return _triggered(below[0][::-1], below[1][::-1])[::-1]
        case nodes.WeakUntil():  # g R (f | g)
            return _triggered(below[1][::-1], (below[0] | below[1])[::-1])[::-1]
        case nodes.StrongRelease():
            return _since(below[1][::-1], (below[0] & below[1])[::-1])[::-1]
        case nodes.Recall():
            return _recall(below[0], below[1::2], below[2::2])
        case nodes.OnceWithin(low, high):
            return _within(_fill(batch, True), below[0], low, high)
        case nodes.HistoricallyWithin(low, high):
            return ~_within(_fill(batch, True), ~below[0], low, high)
        case nodes.SinceWithin(low, high):
            return _within(below[0], below[1], low, high)
        case nodes.EventuallyWithin(low, high):
            return _within(_fill(batch, True), below[0][::-1], low, high)[::-1]
        case nodes.AlwaysWithin(low, high):
            return ~_within(_fill(batch, True), ~below[0][::-1], low, high)[::-1]
        case nodes.UntilWithin(low, high):
            return _within(below[0][::-1], below[1][::-1], low, high)[::-1]
    raise AssertionError(f"no meaning for {type(node).__name__}")


def _recall(value: Lanes, keys: list[Lanes], queries: list[Lanes]) -> Lanes:
    """Every position asks the ones before it, the latest first, until all words have found one."""
    recalled = np.zeros_like(value)
    for i in range(len(value)):
        open_ = np.full_like(value[i], _ONES)
        for j in range(i, -1, -1):
            same = open_.copy()
            for key, query in zip(keys, queries, strict=True):
                same &= ~(key[j] ^ query[i])
            recalled[i] |= same & value[j]
            open_ &= ~same
            if not open_.any():
                break
    return recalled


def _at(batch: WordBatch, holds: Callable[[int], bool]) -> Lanes:
    signal = _fill(batch, False)
    signal[[holds(i) for i in range(1, batch.length + 1)]] = _ONES
    return signal


def _shift(f: Lanes, weak: bool) -> Lanes:
    result = np.empty_like(f)
    result[0] = _ONES if weak else 0
    result[1:] = f[:-1]
    return result


def _within(f: Lanes, g: Lanes, low: int, high: int) -> Lanes:
    """g at a distance from `low` to `high`, and f at every position after it: step by step."""
    seen, result = g, np.zeros_like(g)
    for distance in range(min(high, len(g) - 1) + 1):
        if distance:
            seen = _shift(seen, False) & f
        if distance >= low:
            result |= seen
    return result


def _since(f: Lanes, g: Lanes) -> Lanes:
    """g, or f and the same at the position before."""
    return _scanned(f, g, np.bitwise_and, np.bitwise_or)


def _triggered(f: Lanes, g: Lanes) -> Lanes:
    """g, and f or the same at the position before."""
    return _scanned(f, g, np.bitwise_or, np.bitwise_and)


def _scanned(f: Lanes, g: Lanes, inner: np.ufunc, outer: np.ufunc) -> Lanes:
    """outer(g, inner(f, the same at the position before)), position by position."""
    result = np.empty_like(g)
    result[0] = g[0]
    for i in range(1, len(g)):
        inner(f[i], result[i - 1], out=result[i])
        outer(g[i], result[i], out=result[i])
    return result


def _compare(
    comparison: Comparison, form: LinearForm, counted: list[Lanes], batch: WordBatch
) -> Lanes:
    """Where `form ⋈ 0`: a running sum in two's complement, its digits bit-sliced."""
    n = batch.length
    largest = sum(abs(a) for a, _ in form.terms) * n + abs(form.constant) + 1
    digits = largest.bit_length() + 1
    if digits > _DIGITS:
        return _compare_huge(comparison, form, counted, batch)
    past, future = len(form.past), len(form.past) + len(form.future)
    weighted = [(a, signal) for (a, _), signal in zip(form.terms, counted, strict=True)]
    value = _Sum(form.constant, digits, batch.lanes)
    for a, signal in weighted[past:]:  # what is ahead of the first position
        for i in range(n):
            value.add(a, signal[i])
    result = np.empty((n, batch.lanes), np.uint64)
    for i in range(n):
        for a, signal in weighted[:past]:
            value.add(a, signal[i])
        result[i] = value.holds(comparison.relation)
        for a, signal in weighted[past:future]:  # position i is behind the next one
            value.add(-a, signal[i])
    return result


class _Sum:
    """One integer for each word, in two's complement; `planes[d]` holds digit d of all."""

    def __init__(self, value: int, digits: int, lanes: int) -> None:
        self.planes = np.empty((digits, lanes), np.uint64)
        for d in range(digits):
            self.planes[d] = _ONES if value >> d & 1 else 0
        self._carry = np.empty(lanes, np.uint64)
        self._both = np.empty(lanes, np.uint64)

    def add(self, a: int, where: Lanes) -> None:
        """Add `a` to the words in `where`."""
        low = (a & -a).bit_length() - 1  # below the lowest set digit nothing changes
        carry, both = self._carry, self._both
        carry[:] = 0
        for d in range(low, len(self.planes)):
            plane = self.planes[d]
            if a >> d & 1:
                # plane + where + carry: sum is their xor, carry their majority
                np.bitwise_xor(plane, carry, out=both)
                np.bitwise_and(plane, carry, out=carry)
                np.bitwise_xor(both, where, out=plane)
                np.bitwise_and(both, where, out=both)
                np.bitwise_or(carry, both, out=carry)
            else:
                np.bitwise_and(plane, carry, out=both)
                np.bitwise_xor(plane, carry, out=plane)
                carry, both = both, carry

    def holds(self, relation: str) -> Lanes:
        negative: Lanes = self.planes[-1]
        if relation == ">=":
            return ~negative
        if relation == "<":
            return negative
        nonzero: Lanes = np.bitwise_or.reduce(self.planes, axis=0)
        match relation:
            case "=":
                return ~nonzero
            case "!=":
                return nonzero
            case ">":
                return ~negative & nonzero
            case _:
                return negative | ~nonzero


def _compare_huge(
    comparison: Comparison, form: LinearForm, counted: list[Lanes], batch: WordBatch
) -> Lanes:
    """The comparison where machine integers might overflow: with Python's, word by word."""
    past, future = len(form.past), len(form.past) + len(form.future)
    value = np.full((batch.count, batch.length), form.constant, object)
    for k, ((a, _), signal) in enumerate(zip(form.terms, counted, strict=True)):
        bits = unpack(signal, batch.count)
        if k < past:
            count = np.cumsum(bits, axis=1)
        elif k < future:
            count = np.cumsum(bits[:, ::-1], axis=1)[:, ::-1]
        else:
            count = np.broadcast_to(bits.sum(axis=1, keepdims=True), bits.shape)
        value += a * count.astype(object)
    return _pack(RELATIONS[comparison.relation](value, 0).astype(np.bool_).T)
