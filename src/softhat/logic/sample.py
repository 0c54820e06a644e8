"""Sample words: does a formula hold somewhere, and everywhere, on a few hundred of them?

What a sample shows is never proof of a constant, but it refutes most of what is none, at the
cost of one evaluation. The words are the same every time, dense and sparse in each symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from softhat.logic.binding import longest_word
from softhat.logic.semantics.plan import planned
from softhat.logic.semantics.rows import Row, row_of
from softhat.logic.semantics.truth import signals
from softhat.logic.semantics.words import Bools
from softhat.logic.syntax.nodes import Formula

_WORDS = 128
"""Of each length."""
_ROWS = ((8,), (1, 2, 3, 4, 16, 64))
"""Lengths that are tried together. What is not constant on the first row needs no second."""


def sampled(
    formulas: Iterable[Formula], symbols: Sequence[str], propositional: bool
) -> dict[Formula, tuple[bool, bool]]:
    """Whether each holds somewhere, and everywhere, on the sample."""
    found = dict.fromkeys(formulas, (False, True))
    end = longest_word(*found)
    for lengths in _ROWS:
        open_ = tuple(f for f, (some, every) in found.items() if every or not some)
        tried = tuple(n for n in lengths if end is None or n <= end)
        if not open_ or not tried:
            continue
        row, planes = _sample(tuple(symbols), propositional, tried)
        held = signals(planned(open_), row, planes.__getitem__)
        for formula, signal in zip(open_, held, strict=True):
            some, every = found[formula]
            found[formula] = (some or signal != 0, every and signal == row.inside)
    return found


@lru_cache(maxsize=64)
def _sample(
    symbols: tuple[str, ...], propositional: bool, lengths: tuple[int, ...]
) -> tuple[Row, dict[str, Bools]]:
    """A row of words, and where each symbol stands on it."""
    row = row_of(np.repeat(np.array(lengths), _WORDS))
    words = len(lengths) * _WORDS
    inside = row.to_bits(row.inside).astype(np.bool_)
    if propositional:  # each word has a density of its own
        density = np.repeat(_uniform(1, words), row.lengths + 1)
        chosen = _uniform(2, row.size * len(symbols)).reshape(len(symbols), -1) < density
        return row, dict(zip(symbols, chosen & inside, strict=True))
    weights = _uniform(3, words * len(symbols)).reshape(-1, words) ** 4
    shares = np.cumsum(weights / weights.sum(axis=0), axis=0)[:-1]
    drawn = _uniform(4, row.size)
    codes = (drawn > np.repeat(shares, row.lengths + 1, axis=1)).sum(axis=0)
    return row, {name: (codes == k) & inside for k, name in enumerate(symbols)}


def _uniform(seed: int, count: int) -> NDArray[np.float64]:
    """Numbers in (0, 1) that look random: SplitMix64 (`numpy.random` takes longer to import)."""
    z = (np.arange(count, dtype=np.uint64) + np.uint64(seed << 40)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
