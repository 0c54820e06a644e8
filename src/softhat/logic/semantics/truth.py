"""The truth value of a formula at every position of a word, by definition.

All words are laid out on one tape, an empty place after each, and a truth signal is one Python
integer whose bit p is the value at place p. Then `Y` is a shift, and

    f S g = g | (f & Y(f S g))

is the carry of one addition: adding `f | g` and `g`, bit p carries iff g holds there, or f does
and the bit before carried. The empty places stop carries between words. Future operators are
past operators on the reversed tape. Counts are running sums. Every operator takes time linear
in the tape, and no word is looped over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import lshift, rshift
from typing import Literal

import numpy as np

from softhat.io.errors import SofthatError
from softhat.logic.fragments import acceptance_position
from softhat.logic.semantics.counts import compare
from softhat.logic.semantics.gates import Gate, gate
from softhat.logic.semantics.plan import EvaluationPlan, plan
from softhat.logic.semantics.tape import Tape, lay_out, positions
from softhat.logic.semantics.words import Bools, Word
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Comparison, Formula, Node
from softhat.numbers.predicates import Predicate, column, depends_on_length

__all__ = ["acceptance_position", "accepts", "truth", "truth_many"]


def truth(formula: Formula, word: Word) -> Bools:
    """The truth value at each position of `word`."""
    return truth_many(formula, [word])[0]


def truth_many(formula: Formula, words: Iterable[Word]) -> list[Bools]:
    """`truth` of each word, evaluated together."""
    return truths([formula], words)[0]


def truths(formulas: Iterable[Formula], words: Iterable[Word]) -> list[list[Bools]]:
    """For each formula the truth of each word; common subformulas are evaluated once."""
    laid_out = lay_out(words)
    if laid_out is None:
        return [[] for _ in formulas]
    tape, symbol = laid_out
    computed = signals(plan(tuple(formulas)), tape, symbol)
    return [
        np.split(tape.to_bools(signal), tape.begins[1:])
        if len(tape.lengths) > 1
        else [tape.to_bools(signal)]
        for signal in computed
    ]


def accepts(formula: Formula, word: Word, at: Literal["first", "last"] | None = None) -> bool:
    """Truth at the last position, or the first for a pure-future formula, unless `at` says."""
    return bool(truth(formula, word)[0 if resolve_at(formula, at) == "first" else -1])


def resolve_at(formula: Formula, at: str | None) -> Literal["first", "last"]:
    """Where acceptance is read off: `at`, or what the formula's fragment says."""
    if at not in (None, "first", "last"):
        raise SofthatError(f"at is 'first' or 'last', not {at!r}")
    if at is not None:
        return "first" if at == "first" else "last"
    where = acceptance_position(formula)
    if where is None:
        raise SofthatError(
            "the formula looks both ways, so a word is accepted at its first or its last position: "
            "say which with at='first' or at='last'"
        )
    return where


def signals(steps: EvaluationPlan, tape: Tape, symbol: Callable[[str], int]) -> list[int]:
    """The truth signals of formulas on a tape of words; `symbol` says where each stands."""
    computed: dict[int, int] = {}
    for k, (node, places, form) in enumerate(steps.steps):
        if isinstance(node, Formula):
            if isinstance(node, Comparison) and form is not None:
                counted = [tape.inside if place < 0 else computed[place] for place in places]
                computed[k] = compare(node.relation, form, counted, tape)
            else:
                computed[k] = step(node, [computed[place] for place in places], tape, symbol)
        for place in steps.dead[k]:
            computed.pop(place, None)
    return [computed[k] for k in steps.results]


def step(node: Node, below: list[int], tape: Tape, symbol: Callable[[str], int]) -> int:
    """The signal of a formula that is no comparison, from those of its operands."""
    inside = tape.inside
    match node:
        case nodes.Symbol(name):
            return symbol(name)
        case nodes.Constant(value):
            return inside if value else 0
        case nodes.First():
            return tape.first
        case nodes.Last():
            return tape.last
        case nodes.Mod(modulus, remainder):
            return _mod(modulus, remainder, tape)
        case nodes.At(predicate):
            return _predicate(predicate, tape)
        case _ if isinstance(node, Gate):
            return int(gate(node, below, inside))
        case nodes.Yesterday():
            return below[0] << 1 & inside
        case nodes.WeakYesterday():
            return below[0] << 1 & inside | tape.first
        case nodes.Tomorrow():
            return below[0] >> 1 & inside
        case nodes.WeakTomorrow():
            return below[0] >> 1 & inside | tape.last
        case nodes.Once():
            return _since(inside, below[0])
        case nodes.Historically():
            return inside ^ _since(inside, inside ^ below[0])
        case nodes.Since():
            return _since(below[0], below[1])
        case nodes.Triggered():
            return inside ^ _since(inside ^ below[0], inside ^ below[1])
        case nodes.Eventually():
            return _until(inside, below[0], tape)
        case nodes.Always():
            return inside ^ _until(inside, inside ^ below[0], tape)
        case nodes.Until():
            return _until(below[0], below[1], tape)
        case nodes.Release():
            return inside ^ _until(inside ^ below[0], inside ^ below[1], tape)
        case nodes.WeakUntil():
            always = inside ^ _until(inside, inside ^ below[0], tape)
            return _until(below[0], below[1], tape) | always
        case nodes.StrongRelease():
            return _until(below[1], below[0] & below[1], tape)
        case nodes.Recall():
            return _recall(below[0], below[1::2], below[2::2], tape)
        case nodes.OnceWithin(low, high):
            return _within(inside, below[0], low, high, tape)
        case nodes.HistoricallyWithin(low, high):
            return inside ^ _within(inside, inside ^ below[0], low, high, tape)
        case nodes.SinceWithin(low, high):
            return _within(below[0], below[1], low, high, tape)
        case nodes.EventuallyWithin(low, high):
            return _within(inside, below[0], low, high, tape, rshift)
        case nodes.AlwaysWithin(low, high):
            return inside ^ _within(inside, inside ^ below[0], low, high, tape, rshift)
        case nodes.UntilWithin(low, high):
            return _within(below[0], below[1], low, high, tape, rshift)
    raise AssertionError(f"no meaning for {type(node).__name__}")


def _since(f: int, g: int) -> int:
    """`f S g` as the carry of an addition."""
    either = f | g
    return (either + g ^ either ^ g) >> 1


def _within(
    f: int, g: int, low: int, high: int, tape: Tape, shift: Callable[[int, int], int] = lshift
) -> int:
    """g at a distance from `low` to `high`, and f at every position on the way: step by step.

    Positions are looked back to with `lshift`, ahead to with `rshift`.
    """
    seen, result = g, 0
    for distance in range(min(high, tape.longest) + 1):
        if distance:
            seen = shift(seen, 1) & f & tape.inside
        if distance >= low:
            result |= seen
    return result


def _until(f: int, g: int, tape: Tape) -> int:
    return tape.reverse(_since(tape.reverse(f), tape.reverse(g)))


def _recall(value: int, keys: list[int], queries: list[int], tape: Tape) -> int:
    """Walk each word, and remember the value at the last position of every code."""
    values = tape.to_bits(value)
    stored, asked = (_codes(side, tape) for side in (keys, queries))
    recalled = np.zeros(tape.size, np.bool_)
    inside = tape.to_bits(tape.inside)
    last: dict[bytes, bool] = {}
    for place in range(tape.size):
        if not inside[place]:  # between words
            last = {}
            continue
        last[stored[place]] = bool(values[place])
        recalled[place] = last.get(asked[place], False)
    return tape.to_signal(recalled)


def _codes(digits: list[int], tape: Tape) -> list[bytes]:
    """The digits at each place."""
    rows = np.stack([tape.to_bits(digit) for digit in digits], axis=1)
    return [row.tobytes() for row in np.packbits(rows.astype(np.bool_), axis=1)]


def _mod(modulus: int, remainder: int, tape: Tape) -> int:
    if modulus > tape.longest:  # no position is as large as the modulus, which may be huge
        if not 1 <= remainder <= tape.longest:
            return 0
        return tape.to_signal(positions(tape) == remainder)
    return tape.to_signal(positions(tape) % modulus == remainder) & tape.inside


def _predicate(predicate: Predicate, tape: Tape) -> int:
    numbers = positions(tape)
    if not depends_on_length(predicate):
        return tape.to_signal(column(predicate, numbers, tape.longest)) & tape.inside
    lengths = np.repeat(tape.lengths, tape.lengths + 1)  # of the word that each place belongs to
    held = np.zeros(tape.size, np.bool_)
    for n in np.unique(tape.lengths).tolist():
        held[lengths == n] = column(predicate, numbers[lengths == n], n)
    return tape.to_signal(held) & tape.inside
