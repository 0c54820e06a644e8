"""Where the words of a verification come from, and what the formulas say of them.

Words are kept encoded, many of one length together: symbol codes (words, n), or proposition
bits (words, n, propositions). The formulas' truth is evaluated here by `softhat.logic` alone,
which shares nothing with the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.logic.fragments import symbols_of
from softhat.logic.semantics.batch import WordBatch, evaluate_many, from_codes, unpack
from softhat.logic.semantics.plan import plan
from softhat.logic.semantics.tape import tape_of
from softhat.logic.semantics.truth import signals
from softhat.logic.semantics.words import Word
from softhat.logic.syntax.nodes import Formula
from softhat.models.model import Model

Tokens = NDArray[Any]
MANY = 32
"""From so many words on, 64 at a time is the faster way to evaluate formulas."""


def truth_of(model: Model, tokens: Tokens) -> NDArray[np.bool_]:
    """(words, n, outputs): the truth of the model's formulas, by definition."""
    if len(tokens) < MANY:
        return truth_together(model, [tokens])[0]
    formulas = [model.formulas[name] for name in model.transformer.outputs]
    batch = pack(formulas, tokens, model.transformer.symbols)
    values = [unpack(lanes, batch.count) for lanes in evaluate_many(formulas, batch)]
    return np.stack(values, axis=-1)


def truth_together(model: Model, groups: Sequence[Tokens]) -> list[NDArray[np.bool_]]:
    """`truth_of` of several groups of words, each of one length, laid out on one tape."""
    formulas = [model.formulas[name] for name in model.transformer.outputs]
    tape = tape_of(np.repeat([x.shape[1] for x in groups], [len(x) for x in groups]))
    ends = [_with_gap(x) for x in groups]
    places = np.concatenate([x.reshape(-1, *x.shape[2:]) for x in ends])
    names = model.transformer.symbols

    def stands(name: str) -> int:
        k = names.index(name)
        return tape.to_signal(places == k if places.ndim == 1 else places[:, k])

    values = [tape.to_bits(signal) for signal in signals(plan(tuple(formulas)), tape, stands)]
    flat = np.stack(values, axis=-1).view(np.bool_)
    cuts = np.cumsum([x.shape[0] * x.shape[1] for x in ends])
    return [
        part.reshape(len(x), -1, len(formulas))[:, :-1]
        for x, part in zip(groups, np.split(flat, cuts[:-1]), strict=True)
    ]


def _with_gap(tokens: Tokens) -> Tokens:
    """The words, with an empty place after each."""
    count, n = tokens.shape[:2]
    longer = np.full(
        (count, n + 1, *tokens.shape[2:]), -1 if tokens.ndim == 2 else False, tokens.dtype
    )
    longer[:, :n] = tokens
    return longer


def pack(formulas: Sequence[Formula], tokens: Tokens, symbols: Sequence[str]) -> WordBatch:
    """The words as the bit-parallel evaluator wants them; only symbols that are named count."""
    named = symbols_of(*formulas)
    if tokens.ndim == 2:
        place = np.full(len(symbols), len(named), np.int64)
        for k, name in enumerate(named):
            place[symbols.index(name)] = k
        return from_codes(place[tokens], named)
    count, n = tokens.shape[:2]
    lanes = {
        name: from_codes(tokens[..., symbols.index(name)].astype(np.int64), ("no", "yes")).symbols[
            "yes"
        ]
        for name in named
    }
    return WordBatch(n, count, lanes)


def numbered(table: Tokens, n: int, start: int, stop: int) -> Tokens:
    """The words number `start` to `stop` of length `n` over the letters of `table`, in
    lexicographic order."""
    return by_number(table, n, np.arange(start, stop))


def by_number(table: Tokens, n: int, number: NDArray[np.int64]) -> Tokens:
    """Words of length `n` by their numbers in that order."""
    digits = np.empty((len(number), n), np.int64)
    for at in reversed(range(n)):
        number, digits[:, at] = np.divmod(number, len(table))
    return table[digits]


def random_words(model: Model, rng: np.random.Generator, n: int, count: int) -> Tokens:
    """Random words of three kinds: all letters alike, few letters favoured, long runs."""
    symbols = len(model.transformer.symbols)
    if model.transformer.propositional:
        density = rng.beta(0.7, 0.7, (count, 1, symbols))
        bits = rng.random((count, n, symbols)) < density
        return _with_runs(rng, bits)
    codes = rng.integers(0, symbols, (count, n))
    for k in range(count):
        if rng.random() < 0.5 and symbols > 1:
            weights = rng.dirichlet(np.full(min(symbols, 64), 0.5))
            chosen = rng.permutation(symbols)[: len(weights)]
            codes[k] = rng.choice(chosen, n, p=weights)
    return _with_runs(rng, codes)


def _with_runs(rng: np.random.Generator, tokens: Tokens) -> Tokens:
    """A third of the words with each letter repeated a while."""
    n = tokens.shape[1]
    for k in range(len(tokens)):
        if rng.random() < 1 / 3:
            stay = rng.random(n) < 1 - 1 / rng.integers(2, max(3, n // 4))
            stay[0] = False
            tokens[k] = tokens[k][np.maximum.accumulate(np.where(stay, 0, np.arange(n)))]
    return tokens


def decode(model: Model, tokens: Tokens) -> Word:
    """One encoded word as users write it."""
    symbols = model.transformer.symbols
    if tokens.ndim == 2:
        return [{symbols[k] for k in np.flatnonzero(row)} for row in tokens]
    word = [symbols[code] for code in tokens.tolist()]
    return "".join(word) if all(len(symbol) == 1 for symbol in symbols) else word
