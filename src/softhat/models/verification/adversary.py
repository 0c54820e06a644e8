"""Words made to break a model: as hostile as its formulas allow.

Heads err where the winner is far away or hardly wins, so these words have one trigger and then
only filler (distances as long as they get), counts that stay on a threshold, one below or one
above it, at every position, and alternations and periods that make every other position a
competitor. The short words on which the heads leak most are put at the ends of long ones. A
search then flips symbols to make a head leak more or a margin smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.logic.linear import LinearForm, difference
from softhat.logic.semantics.batch import evaluate, unpack
from softhat.logic.semantics.truth import truths
from softhat.logic.syntax.nodes import TRUE, Comparison, Formula
from softhat.logic.syntax.walk import distinct
from softhat.models.model import Model
from softhat.models.verification.measure import Meter
from softhat.models.verification.words import Tokens, decode, numbered, pack, truth_of
from softhat.runtime.heard import listen

Letters = NDArray[np.int64]
"""A word by the indices of its letters in the table of representatives."""
GREEDY = 96
"""Length to which a word is made letter by letter where counted formulas are not just letters;
longer ones repeat its end."""
SEEDED = 1 << 28
"""Multiplications that all short words may take together: a large model gets fewer of them."""


def shapes(model: Model, table: Tokens) -> list[Shape]:
    """The families of hostile words for this model's formulas, most hostile first."""
    k = len(table)
    hugging: list[Shape] = [
        _Hug(model, table, form, target) for form in comparisons(model) for target in (0, -1, 1)
    ]
    worst = seeds(model, table)
    grown: list[Shape] = [
        _Grown(k, seed, where)
        for where in ("suffix", "prefix", "repeated", "middle")
        for seed in worst
    ]
    return [*_interleaved(hugging, grown, list(_distances(k)), list(_periods(k)))]


Shape = Callable[[np.random.Generator, int], Letters]
"""Makes a word of a length; different draws may give different words."""


def _interleaved(*families: Sequence[Shape]) -> Iterator[Shape]:
    for at in range(max(map(len, families), default=0)):
        for family in families:
            if at < len(family):
                yield family[at]


def comparisons(model: Model) -> list[LinearForm]:
    """The distinct comparisons of the formulas as `form ⋈ 0`."""
    rows, _ = distinct(*model.formulas.values())
    forms = [difference(node) for node, _ in rows if isinstance(node, Comparison)]
    return list(dict.fromkeys(form for form in forms if form.terms))


# Distances


def _distances(k: int) -> Iterator[Shape]:
    """A trigger at one end (or in the middle), filler elsewhere; two fillers; all the same."""
    few = range(min(k, 6))
    for x in few:
        for y in few:
            if x != y:
                yield _Trigger(x, y, "first")
                yield _Trigger(x, y, "last")
    for x in few:
        yield _Trigger(x, x, "first")
    for x in few:
        for y in few:
            if x != y:
                yield _Trigger(x, y, "middle")
                yield _Trigger(x, y, "both")


@dataclass(frozen=True)
class _Trigger:
    x: int
    filler: int
    where: str

    def __call__(self, rng: np.random.Generator, n: int) -> Letters:
        word = np.full(n, self.filler, np.int64)
        match self.where:
            case "first":
                word[0] = self.x
            case "last":
                word[-1] = self.x
            case "both":
                word[[0, -1]] = self.x
            case _:
                word[int(rng.integers(n))] = self.x
        return word


# The worst short words, grown


def seeds(model: Model, table: Tokens) -> list[Letters]:
    """For each head the short word on which it leaks most, and the one with the least margin."""
    k = min(len(table), 4)
    chosen = np.linspace(0, len(table) - 1, k).astype(np.int64)
    length = 5 if k <= 3 else 4
    tables = model.longest_word
    length = length if tables is None else min(length, tables)
    short = chosen[numbered(np.arange(k), length, 0, k**length)]
    most = max(8, SEEDED // ((length + 2) * (1 + model.size.parameters)))
    short = short[:: -(-len(short) // most)]
    tokens = table[short]
    heard, truth = listen(model.ready("float64"), [tokens]), truth_of(model, tokens)
    margins = heard.margins(0)
    least = np.where(truth, margins, -margins).min(axis=(1, 2))
    worst = [int(least.argmin())]
    meter = Meter(model)
    if meter.able:
        worst += meter.leaks(heard, meter.hard([tokens])).argmax(axis=0).tolist()
    return [short[at] for at in dict.fromkeys(worst)]


@dataclass(frozen=True, eq=False)
class _Grown:
    """A short word at an end (or in the middle) of filler, or again and again."""

    k: int
    seed: Letters
    where: str

    def __call__(self, rng: np.random.Generator, n: int) -> Letters:
        word = np.full(n, int(rng.integers(self.k)), np.int64)
        size = min(n, len(self.seed))
        match self.where:
            case "repeated":
                return np.resize(self.seed, n)
            case "prefix":
                word[:size] = self.seed[:size]
            case "suffix":
                word[n - size :] = self.seed[len(self.seed) - size :]
            case _:
                at = int(rng.integers(n - size + 1))
                word[at : at + size] = self.seed[:size]
        return word


# Alternations and periods


def _periods(k: int) -> Iterator[Shape]:
    for length in (2, 3, 2, 4, 5, 7, 16):
        yield _Periodic(k, length, 0)
        yield _Periodic(k, length, 1)
    yield _Runs(k, 2.0)
    yield _Runs(k, 1.3)


@dataclass(frozen=True)
class _Periodic:
    """A random block again and again; `faults` letters of the word are then changed."""

    k: int
    length: int
    faults: int

    def __call__(self, rng: np.random.Generator, n: int) -> Letters:
        block = rng.permutation(np.resize(np.arange(self.k), max(self.length, 2)))[: self.length]
        if self.length > 2:
            block = rng.integers(0, self.k, self.length)
        word = np.resize(block, n)
        if self.faults:
            word[int(rng.integers(n))] = int(rng.integers(self.k))
        return word


@dataclass(frozen=True)
class _Runs:
    """Runs of one letter, each `growth` times as long as the one before."""

    k: int
    growth: float

    def __call__(self, rng: np.random.Generator, n: int) -> Letters:
        word = np.empty(n, np.int64)
        at, run = 0, 1.0
        letter = int(rng.integers(self.k))
        while at < n:
            stop = min(n, at + max(1, round(run)))
            word[at:stop] = letter
            letter = (letter + 1 + int(rng.integers(max(1, self.k - 1)))) % self.k
            at, run = stop, run * self.growth
        return word


# Thresholds


class _Hug:
    """Words on which a linear form stays as close to `target` as the letters allow.

    With past weights p, future weights f and total weights t of the letters, the form's value
    at i is K + Σ_{j<i} (p - f)(w_j) + p(w_i), where K is the constant plus Σ (f + t)(w_j) over
    the whole word. Letters are chosen greedily so that the walk stays at the target while the
    total drifts to the K that the walk was started with.
    """

    def __init__(self, model: Model, table: Tokens, form: LinearForm, target: int) -> None:
        self.model, self.table, self.form, self.target = model, table, form, target
        self.weights = _letter_weights(model, table, form)

    def __call__(self, rng: np.random.Generator, n: int) -> Letters:
        if self.weights is None:
            return self._by_evaluation(rng, n)
        past, future, total = self.weights
        drift = future + total
        # What the whole word adds to K: any value will do that lets the walk start near 0.
        aim = 0
        if drift.any():
            low, high = int(drift.min()) * n, int(drift.max()) * n
            aim = min(max(-self.form.constant + int(rng.integers(-2, 3)), low), high)
        value = self.form.constant + aim
        gathered = 0
        word = np.empty(n, np.int64)
        for i in range(n):
            off = np.abs(value + past - self.target) + np.abs(value + past - future - self.target)
            lag = np.abs((gathered + drift) * n - aim * (i + 1)) / n
            cost = off + 2.0 * lag + 0.5 * rng.random(len(past))
            letter = int(cost.argmin())
            word[i] = letter
            value += int(past[letter] - future[letter])
            gathered += int(drift[letter])
        return word

    def _by_evaluation(self, rng: np.random.Generator, n: int) -> Letters:
        """Where whole formulas are counted: letter by letter, keeping the one after which the
        form is nearest to the target, as the formulas' own semantics says."""
        steps = min(n, GREEDY)
        mirrored = bool(self.form.future) and not self.form.past
        word = np.empty(0, np.int64)
        candidates = np.arange(min(len(self.table), 8))
        for _ in range(steps):
            ends = np.tile(word, (len(candidates), 1))
            parts = [candidates[:, None], ends] if mirrored else [ends, candidates[:, None]]
            longer = np.concatenate(parts, axis=1)
            off = [abs(value - self.target) for value in self._values(longer, mirrored)]
            nearest = [k for k, distance in enumerate(off) if distance == min(off)]
            word = longer[nearest[int(rng.integers(len(nearest)))]]
        if n <= steps:
            return word
        tail = word[-steps // 2 :] if not mirrored else word[: steps // 2]
        filler = np.resize(tail, n - steps)
        return np.concatenate([filler, word] if mirrored else [word, filler])

    def _values(self, words: Letters, first: bool) -> list[int]:
        """The form's value at the first or last position of each word."""
        decoded = [decode(self.model, word) for word in self.table[words]]
        values = [self.form.constant] * len(words)
        end = 0 if first else -1
        counted = truths(self.form.operands, decoded)
        kinds = "p" * len(self.form.past) + "f" * len(self.form.future) + "t" * len(self.form.total)
        for (a, _), kind, signals in zip(self.form.terms, kinds, counted, strict=True):
            whole = kind == "t" or (kind == "f") == first
            for k, signal in enumerate(signals):
                values[k] += a * int(signal.sum() if whole else signal[end])
        return values


def _letter_weights(
    model: Model, table: Tokens, form: LinearForm
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Each letter's weight in the three sums; None if something other than letters is counted
    (or the weights are too large for machine integers)."""
    if any(abs(a) >= 2**40 for a, _ in form.terms) or abs(form.constant) >= 2**60:
        return None
    sums = []
    for part in (form.past, form.future, form.total):
        weights = np.zeros(len(table), np.int64)
        for a, formula in part:
            if formula != TRUE and not _is_letter_predicate(formula):
                return None
            batch = pack([formula], table[:, None], model.transformer.symbols)
            weights += a * unpack(evaluate(formula, batch), batch.count)[:, 0]
        sums.append(weights)
    return sums[0], sums[1], sums[2]


_OF_ONE_LETTER = frozenset(("Symbol", "Constant", "Not", "And", "Or", "Xor", "Implies", "Iff"))


def _is_letter_predicate(formula: Formula) -> bool:
    return all(type(node).__name__ in _OF_ONE_LETTER for node, _ in distinct(formula)[0])


# Search


def climb(
    start: Tokens,
    table: Tokens,
    objective: Callable[[Tokens], NDArray[Any]],
    rng: np.random.Generator,
    steps: int,
    width: int = 16,
) -> Iterator[Tokens]:
    """Hill climbing by flips of symbols and copies of blocks: yields the words of each step,
    and keeps the one with the largest objective."""
    best, best_value = start, -np.inf
    for _ in range(steps):
        words = np.stack([best] + [_changed(best, table, rng) for _ in range(width - 1)])
        yield words
        values = objective(words)
        at = int(values.argmax())
        if values[at] >= best_value:
            best, best_value = words[at], float(values[at])


def _changed(word: Tokens, table: Tokens, rng: np.random.Generator) -> Tokens:
    changed = word.copy()
    n = len(word)
    if n > 3 and rng.random() < 0.25:  # a block of the word over another
        length = int(rng.integers(1, n // 2 + 1))
        source, target = rng.integers(0, n - length + 1, 2)
        changed[target : target + length] = word[source : source + length]
        return changed
    flips = 1 + int(rng.geometric(0.5))
    for at in rng.integers(0, n, flips):
        changed[at] = table[int(rng.integers(len(table)))]
    return changed
