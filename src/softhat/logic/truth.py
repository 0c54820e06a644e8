"""The truth value of a formula at every position of a word, by definition.

All words are laid out in one row, an empty place after each, and a truth signal is one Python
integer whose bit p is the value at place p. Then `Y` is a shift, and

    f S g = g | (f & Y(f S g))

is the carry of one addition: adding `f | g` and `g`, bit p carries iff g holds there, or f does
and the bit before carried. The empty places stop carries between words. Future operators are
past operators on the reversed row. Counts are running sums. Every operator takes time linear
in the row, and no word is looped over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.errors import SofthatError
from softhat.logic import nodes
from softhat.logic.fragments import acceptance_position
from softhat.logic.linear import LinearForm
from softhat.logic.nodes import Comparison, Formula, Node, Term
from softhat.logic.plan import plan
from softhat.logic.words import Bools, Word, join

__all__ = ["acceptance_position", "accepts", "truth", "truth_many"]


def truth(formula: Formula, word: Word) -> Bools:
    """The truth value at each position of `word`."""
    return truth_many(formula, [word])[0]


def truth_many(formula: Formula, words: Iterable[Word]) -> list[Bools]:
    """`truth` of each word, evaluated together."""
    return truths([formula], words)[0]


def truths(formulas: Iterable[Formula], words: Iterable[Word]) -> list[list[Bools]]:
    """For each formula the truth of each word; common subformulas are evaluated once."""
    row, symbol = _lay_out(words)
    if row is None:
        return [[] for _ in formulas]
    signals = _evaluate(tuple(formulas), row, symbol)
    return [
        np.split(row.to_bools(signal), row.begins[1:])
        if len(row.lengths) > 1
        else [row.to_bools(signal)]
        for signal in signals
    ]


def accepts(formula: Formula, word: Word, at: Literal["first", "last"] | None = None) -> bool:
    """Truth at the last position, or the first for a pure-future formula, unless `at` says."""
    return bool(truth(formula, word)[0 if resolve_at(formula, at) == "first" else -1])


def resolve_at(formula: Formula, at: str | None) -> Literal["first", "last"]:
    """Where acceptance is read off: `at`, or what the formula's fragment says."""
    if at not in (None, "first", "last"):
        raise SofthatError(f"at is 'first' or 'last', not {at!r}")
    where = at or acceptance_position(formula)
    if where is None:
        raise SofthatError(
            "the formula looks both ways, so a word is accepted at its first or its last position: "
            "say which with at='first' or at='last'"
        )
    return where  # type: ignore[return-value]  # checked above


@dataclass(frozen=True, slots=True)
class Row:
    """Words side by side, one empty place after each."""

    lengths: NDArray[np.int64]
    starts: NDArray[np.int64]  # the place of each word's first symbol
    size: int  # places, the empty ones included
    inside: int  # the signal that is true at every position
    first: int
    last: int

    @property
    def longest(self) -> int:
        return int(self.lengths.max())

    @property
    def begins(self) -> NDArray[np.int64]:
        """Where each word starts once the empty places are gone."""
        return np.cumsum(self.lengths) - self.lengths

    def to_signal(self, bools: NDArray[Any]) -> int:
        return int.from_bytes(np.packbits(bools, bitorder="little").tobytes(), "little")

    def to_bits(self, signal: int) -> NDArray[np.uint8]:
        data = np.frombuffer(signal.to_bytes((self.size + 7) // 8, "little"), np.uint8)
        return np.unpackbits(data, count=self.size, bitorder="little")

    def to_bools(self, signal: int) -> Bools:
        """The values at the positions, word after word."""
        bits = self.to_bits(signal).view(np.bool_)
        return (
            bits[:-1] if len(self.lengths) == 1 else bits[self.to_bits(self.inside).view(np.bool_)]
        )

    def reverse(self, signal: int) -> int:
        """The signal read from the other end of the row (its last place is empty)."""
        size = (self.size + 6) // 8  # bytes for size - 1 places
        turned = signal.to_bytes(size, "little").translate(_REVERSED)[::-1]
        return int.from_bytes(turned, "little") >> 8 * size - (self.size - 1)


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _lay_out(words: Iterable[Word]) -> tuple[Row | None, Callable[[str], Bools]]:
    lengths, symbol = join(words)
    if not len(lengths):
        return None, symbol
    ends = np.cumsum(lengths + 1)
    starts = ends - lengths - 1
    size = int(ends[-1])
    if len(lengths) == 1:
        return Row(lengths, starts, size, (1 << size - 1) - 1, 1, 1 << size - 2), symbol
    places = np.ones((3, size), np.bool_)
    places[0, ends - 1] = False
    places[1:] = False
    places[1, starts] = True
    places[2, ends - 2] = True
    pack = [
        int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little") for mask in places
    ]
    return Row(lengths, starts, size, *pack), symbol


def _evaluate(formulas: tuple[Formula, ...], row: Row, symbol: Callable[[str], Bools]) -> list[int]:
    steps = plan(formulas)
    signals: dict[int, int] = {}
    for k, (node, places, form) in enumerate(steps.steps):
        if not isinstance(node, Term):
            if form is not None:
                counted = [row.inside if place < 0 else signals[place] for place in places]
                signals[k] = _compare(node, form, counted, row)
            else:
                signals[k] = _step(node, [signals[place] for place in places], row, symbol)
        for place in steps.dead[k]:
            signals.pop(place, None)
    return [signals[k] for k in steps.results]


def _step(node: Node, below: list[int], row: Row, symbol: Callable[[str], Bools]) -> int:
    inside = row.inside
    match node:
        case nodes.Symbol(name):
            return row.to_signal(symbol(name))
        case nodes.Constant(value):
            return inside if value else 0
        case nodes.First():
            return row.first
        case nodes.Last():
            return row.last
        case nodes.Mod(modulus, remainder):
            return _mod(modulus, remainder, row)
        case nodes.Not():
            return inside ^ below[0]
        case nodes.And():
            return below[0] & below[1]
        case nodes.Or():
            return below[0] | below[1]
        case nodes.Xor():
            return below[0] ^ below[1]
        case nodes.Implies():
            return inside ^ below[0] | below[1]
        case nodes.Iff():
            return inside ^ below[0] ^ below[1]
        case nodes.Yesterday():
            return below[0] << 1 & inside
        case nodes.WeakYesterday():
            return below[0] << 1 & inside | row.first
        case nodes.Tomorrow():
            return below[0] >> 1 & inside
        case nodes.WeakTomorrow():
            return below[0] >> 1 & inside | row.last
        case nodes.Once():
            return _since(inside, below[0])
        case nodes.Historically():
            return inside ^ _since(inside, inside ^ below[0])
        case nodes.Since():
            return _since(below[0], below[1])
        case nodes.Triggered():
            return inside ^ _since(inside ^ below[0], inside ^ below[1])
        case nodes.Eventually():
            return _until(inside, below[0], row)
        case nodes.Always():
            return inside ^ _until(inside, inside ^ below[0], row)
        case nodes.Until():
            return _until(below[0], below[1], row)
        case nodes.Release():
            return inside ^ _until(inside ^ below[0], inside ^ below[1], row)
        case nodes.WeakUntil():
            always = inside ^ _until(inside, inside ^ below[0], row)
            return _until(below[0], below[1], row) | always
        case nodes.StrongRelease():
            return _until(below[1], below[0] & below[1], row)
    raise AssertionError(f"no meaning for {type(node).__name__}")


def _since(f: int, g: int) -> int:
    either = f | g
    return (either + g ^ either ^ g) >> 1


def _until(f: int, g: int, row: Row) -> int:
    return row.reverse(_since(row.reverse(f), row.reverse(g)))


def _positions(row: Row) -> NDArray[np.int64]:
    """1..n in each word, 0 at the empty places."""
    if len(row.lengths) == 1:
        positions = np.arange(1, row.size + 1)
    else:
        positions = np.arange(1, row.size + 1) - np.repeat(row.starts, row.lengths + 1)
    positions[row.starts + row.lengths] = 0
    return positions


def _mod(modulus: int, remainder: int, row: Row) -> int:
    if modulus > row.longest:  # no position is as large as the modulus, which may be huge
        if not 1 <= remainder <= row.longest:
            return 0
        return row.to_signal(_positions(row) == remainder)
    return row.to_signal(_positions(row) % modulus == remainder) & row.inside


def _compare(comparison: Node, form: LinearForm, counted: list[int], row: Row) -> int:
    assert isinstance(comparison, Comparison)
    past, future = len(form.past), len(form.past) + len(form.future)
    weighted = [(a, signal) for (a, _), signal in zip(form.terms, counted, strict=True)]
    parts = (weighted[:past], weighted[past:future], weighted[future:])
    largest = sum(abs(a) for a, _ in weighted) * row.longest + abs(form.constant)
    # Running sums go over the whole row before a word's start is subtracted.
    running = sum(abs(a) for a, _ in weighted) * row.size + abs(form.constant)
    compare = RELATIONS[comparison.relation]
    if max(largest, running) < 2**62:
        dtype = np.int32 if max(largest, running) < 2**30 else np.int64
        value = _total_of([_weigh(part, row, dtype) for part in parts], row)
        return row.to_signal(compare(value + dtype(form.constant), 0)) & row.inside
    return row.to_signal(_compare_huge(parts, form.constant, compare, row)) & row.inside


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
            total += bits * dtype(a)
    return total


def _total_of(weights: list[_Values | None], row: Row) -> _Values:
    """Past sums of the first weights, future sums of the second, total sums of the third."""
    past, future, total = weights
    value: _Values = np.zeros(1, np.int32)
    if past is not None:
        value = value + _from_start(past, row)
    if future is not None:
        sums = _from_start(future, row)
        value = value + (_at_end(sums, row) - sums + future)
    if total is not None:
        value = value + _at_end(_from_start(total, row), row)
    return np.broadcast_to(value, row.size)


def _from_start(weights: _Values, row: Row) -> _Values:
    sums: _Values = np.cumsum(weights, dtype=weights.dtype)
    if len(row.lengths) == 1:
        return sums
    before = np.zeros(len(row.lengths), weights.dtype)
    before[1:] = sums[row.starts[1:] - 1]
    sums -= np.repeat(before, row.lengths + 1)
    return sums


def _at_end(sums: _Values, row: Row) -> _Values:
    """The value at each word's end, at all its places (the empty place adds nothing)."""
    return np.repeat(sums[row.starts + row.lengths], row.lengths + 1)


def _compare_huge(
    parts: tuple[_Part, _Part, _Part], constant: int, compare: Callable[[Any, Any], Any], row: Row
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
        result[piece] = compare(value, 0)
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
