"""Sample words: what holds somewhere, and everywhere, on a few hundred of them?

What a sample shows is never proof of a constant, but it refutes most of what is none, at the
cost of one evaluation. The words are the same every time, dense and sparse in each symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softhat.logic.linear import difference
from softhat.logic.semantics.counts import compare
from softhat.logic.semantics.tape import Tape, tape_of
from softhat.logic.semantics.truth import step
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import TRUE, Comparison, Formula, Node, Not
from softhat.numbers.predicates import longest

_WORDS = 128
"""Of each length."""
_LENGTHS = ((8,), (1, 2, 3, 4, 16, 64))
"""Those that are tried together. What is not constant on the first words needs no others."""

Rows = Sequence[tuple[Node, tuple[int, ...]]]
"""Distinct nodes, each with the places of its children, children first."""


class Seen(NamedTuple):
    """Does a formula hold somewhere, and everywhere; and does that occur which a head needs beside
    its own value: for `f S g` and `f U g` a key that they rule out, f & !g, for `Y !f` and `X !f`
    an f there."""

    some: bool = False
    every: bool = True
    beside: bool = False


def candidates(
    rows: Rows, asked: Iterable[int], symbols: Sequence[str], propositional: bool
) -> dict[int, Seen]:
    """The core formulas of which something may be constant, by their places in `rows`, with what is
    seen of them."""
    open_ = dict.fromkeys(asked, Seen())
    tables = [longest(node.predicate) for node, _ in rows if isinstance(node, nodes.At)]
    end = min([n for n in tables if n is not None], default=None)
    for lengths in _LENGTHS:
        tried = tuple([n for n in lengths if end is None or n <= end])
        if not tried or not open_:
            continue
        tape, letters = _sample(tuple(symbols), propositional, tried)
        signals = _signals(rows, tape, letters)
        still: dict[int, Seen] = {}
        for at, (some, every, beside) in open_.items():
            own = signals[at]
            some = some or own != 0
            every = every and own == tape.inside
            beside = beside or _beside(*rows[at], own, signals, tape)
            if every or not some or not beside:
                still[at] = Seen(some, every, beside)
        open_ = still
    return open_


def _beside(
    node: Node, places: tuple[int, ...], own: int, signals: Sequence[int], tape: Tape
) -> bool:
    match node:
        case nodes.Since() | nodes.Until():
            return signals[places[0]] & ~signals[places[1]] != 0
        case nodes.Yesterday(Not()):
            return own | tape.first != tape.inside
        case nodes.Tomorrow(Not()):
            return own | tape.last != tape.inside
    return True


def _signals(rows: Rows, tape: Tape, letters: Mapping[str, int]) -> list[int]:
    """The truth signals of formulas; terms and digits have none, so 0 stands in their places."""
    signals: list[int] = []
    place_of: dict[Node, int] = {}
    for node, places in rows:
        signal = 0
        if isinstance(node, Comparison):
            place_of = place_of or {node: place for place, (node, _) in enumerate(rows)}
            form = difference(node)
            counted = [tape.inside if f == TRUE else signals[place_of[f]] for f in form.operands]
            signal = compare(node.relation, form, counted, tape)
        elif isinstance(node, nodes.Recall):
            place_of = place_of or {node: place for place, (node, _) in enumerate(rows)}
            operands = [signals[place_of[f]] for f in node.operands]
            signal = step(node, operands, tape, letters.__getitem__)
        elif isinstance(node, Formula):
            signal = step(node, [signals[place] for place in places], tape, letters.__getitem__)
        signals.append(signal)
    return signals


@lru_cache(maxsize=64)
def _sample(
    symbols: tuple[str, ...], propositional: bool, lengths: tuple[int, ...]
) -> tuple[Tape, dict[str, int]]:
    """A tape of words, and where each symbol stands on it."""
    tape = tape_of(np.repeat(np.array(lengths), _WORDS))
    words = len(lengths) * _WORDS
    inside = tape.to_bits(tape.inside).astype(np.bool_)
    if propositional:  # each word has a density of its own
        density = np.repeat(_uniform(1, words), tape.lengths + 1)
        chosen = _uniform(2, tape.size * len(symbols)).reshape(len(symbols), -1) < density
        return tape, dict(zip(symbols, map(tape.to_signal, chosen & inside), strict=True))
    weights = _uniform(3, words * len(symbols)).reshape(-1, words) ** 4
    shares = np.cumsum(weights / weights.sum(axis=0), axis=0)[:-1]
    drawn = _uniform(4, tape.size)
    codes = (drawn > np.repeat(shares, tape.lengths + 1, axis=1)).sum(axis=0)
    return tape, {name: tape.to_signal((codes == k) & inside) for k, name in enumerate(symbols)}


def _uniform(seed: int, count: int) -> NDArray[np.float64]:
    """Numbers in (0, 1) that look random: SplitMix64 (`numpy.random` takes longer to import)."""
    z = (np.arange(count, dtype=np.uint64) + np.uint64(seed << 40)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
