"""Pairs of words made for what a model decides, where random ones say nothing.

Of `#(a) >= 30` or ten symbols in a row a random short word shows nothing: no head and no edge would
matter on it. These words are built from the formulas, as long as they need to be; the corrupt word
has another symbol in a place that the formula has a wish for, or is one on which the formula has
the other value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from softhat.circuits.network import Array, Network
from softhat.logic.construct import WordWithTruth, parts, spelt, words_for
from softhat.logic.semantics.truth import truths
from softhat.logic.syntax.nodes import Formula

LONG = 24
"""Symbols of words that are made for no formula."""
PARTS = 12
"""Parts of a formula that words are made for; of more, so many at random."""


def aimed_pairs(
    network: Network,
    formulas: Sequence[Formula],
    rng: np.random.Generator,
    letters: int,
    seen: Sequence[Array] | None,
) -> Iterator[tuple[Array, Array]]:
    """(clean, corrupt) words of one length each, of about so many letters for the formulas; and
    some for each part of a formula that has but one value on the words that were `seen` already,
    or for every part if none were. Where no formula is known, words of few symbols."""
    if not formulas:
        yield from _mostly_one(network, rng, letters)
    by_length: dict[int, list[tuple[Array, Array]]] = {}
    for formula in formulas:
        share = letters // (3 * len(formulas))  # each word is in three pairs
        missing = parts(formula) if seen is None else _constant(parts(formula), network, seen)
        chosen = rng.permutation(len(missing))[:PARTS].tolist()
        for focus in (None, *(missing[at] for at in chosen)):
            words = words_for(
                formula,
                network.symbols,
                network.propositional,
                rng,
                share if focus is None else 0,
                network.longest,
                focus,
            )
            if words:
                pairs = [*_one_place(network, words, rng), *_other_value(words)]
                by_length.setdefault(len(words[0].word), []).extend(pairs)
    for pairs in by_length.values():
        yield np.stack([clean for clean, _ in pairs]), np.stack([corrupt for _, corrupt in pairs])


def _mostly_one(
    network: Network, rng: np.random.Generator, letters: int
) -> Iterator[tuple[Array, Array]]:
    """Words of a symbol, with a second one in few or in many places, and one place changed."""
    n = LONG if network.longest is None else min(LONG, network.longest)
    k = len(network.symbols)
    if network.propositional or k < 2:
        return
    count = max(PARTS, letters // n)
    two = rng.permuted(np.tile(np.arange(k), (count, 1)), axis=1)[:, :2]
    dense = rng.random((count, n)) < rng.random((count, 1)) ** 2
    clean = np.take_along_axis(two, dense.astype(np.int64), axis=1)
    corrupt = clean.copy()
    at = np.arange(count), rng.integers(0, n, count)
    corrupt[at] = np.where(clean[at] == two[:, 0], two[:, 1], two[:, 0])
    yield np.concatenate([clean, corrupt]), np.concatenate([corrupt, clean])


def _constant(
    formulas: Sequence[Formula], network: Network, seen: Sequence[Array]
) -> list[Formula]:
    """The parts that have one value everywhere."""
    if not formulas:
        return []
    words = [spelt(word, network.symbols) for batch in seen for word in batch]
    return [
        formula
        for formula, values in zip(formulas, truths(formulas, words), strict=True)
        if all(value.all() for value in values) or not any(value.any() for value in values)
    ]


def _one_place(
    network: Network, words: Sequence[WordWithTruth], rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Each word and itself with one place changed, both ways round."""
    for one in words:
        places = np.flatnonzero(one.asked) if one.asked.any() else np.arange(len(one.word))
        other = one.word.copy()
        k = len(network.symbols)
        at = int(rng.choice(places))
        if network.propositional:
            bit = int(rng.integers(k))
            other[at, bit] = 1 - other[at, bit]
        elif k > 1:
            other[at] = (other[at] + rng.integers(1, k)) % k
        yield one.word, other
        yield other, one.word


def _other_value(words: Sequence[WordWithTruth]) -> Iterator[tuple[Array, Array]]:
    """A word on which the formula is true somewhere, and one on which it is false."""
    true = [one.word for one in words if one.value]
    false = [one.word for one in words if not one.value]
    for left, right in zip(true, false, strict=False):
        yield left, right
        yield right, left
