"""Machines with a counter, for models whose languages need a state for every count.

The counter is a sum of integer weights of the symbols read, such as #(a) - #(b). A control state is
what a model answers after a word and after some short suffixes of it. Far from 0 those answers no
longer depend on how far: beyond `level`, steps are those at the level. So few questions determine a
machine for words of every length. Whether it is the model's is for the prover to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import gcd
from operator import and_, or_
from typing import Any

import numpy as np

from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import TRUE, Formula, count, symbol
from softhat.logic.syntax.nodes import Term as CountingTerm
from softhat.trained.specification import Specification, explored

HEAVIEST = 2
"""Weights of symbols, up to sign."""
SUFFIX = 2
"""Control states are told apart by what follows suffixes of at most so many symbols."""
LEVELS = 2
"""Levels that are tried for each counter, each twice as far from 0."""
MOST_CONTROLS = 200
"""Control states at all levels together."""
MOST_STATES = 5_000
"""Pairs of a control state and a count."""
MOST_SYMBOLS = 4

Word = tuple[int, ...]
Answer = frozenset[int] | None
"""Tokens that follow a word, or its class; None once a symbol did not follow."""
Row = tuple[Answer, ...]


@dataclass(frozen=True)
class LearnedCounter:
    """A machine with a counter: from a control state at a level, symbols lead to others."""

    symbols: tuple[str, ...]
    weights: tuple[int, ...]
    level: int
    start: Row
    steps: dict[tuple[Row, int], tuple[Row | None, ...]]

    def clipped(self, value: int) -> int:
        return max(-self.level, min(self.level, value))

    def to_json(self, accepts: int) -> dict[str, Any]:
        """The machine, and the formula of its language where the count alone decides."""
        names: dict[Row, str] = {}
        for row, _ in self.steps:
            names.setdefault(row, f"q{len(names)}")
        formula = self.formula(accepts)
        return {
            "alphabet": list(self.symbols),
            "counter": dict(zip(self.symbols, self.weights, strict=True)),
            "level": self.level,
            "start": names[self.start],
            "accept": sorted({name for row, name in names.items() if accepts in (row[0] or ())}),
            "transitions": [
                {
                    "state": names[row], "count": value,
                    "next": {
                        name: names[to]
                        for name, to in zip(self.symbols, after, strict=True) if to is not None
                    },
                }
                for (row, value), after in self.steps.items()
            ],
            "formula": None if formula is None else str(formula),
        }  # fmt: skip

    def formula(self, accepts: int) -> Formula | None:
        """A past formula of the language of nonempty words: the count is one at which words end,
        and at every position the symbol was allowed at the count before it. None if control
        states matter beside the count."""
        by_count: dict[int, tuple[bool, ...]] = {}
        ends: dict[int, bool] = {}
        for (row, value), after in self.steps.items():
            if row[0] == frozenset() and row == self.start:
                continue  # a classifier answers nothing before the first symbol
            allowed = tuple(to is not None for to in after)
            good = accepts in (row[0] or ())
            if value in by_count and (by_count[value], ends[value]) != (allowed, good):
                return None
            by_count[value], ends[value] = allowed, good
        total = self._total()
        final = self._within(total, {value for value, good in ends.items() if good}, 0)
        if all(all(allowed) for allowed in by_count.values()):
            return final
        steps = [
            symbol(name)
            & self._within(total, {v for v, allowed in by_count.items() if allowed[k]}, weight)
            for k, (name, weight) in enumerate(zip(self.symbols, self.weights, strict=True))
        ]
        return final & reduce(or_, steps).historically()

    def _total(self) -> CountingTerm:
        """The count as a term. The first weight that is not 0 is positive."""
        total: CountingTerm | None = None
        for name, weight in zip(self.symbols, self.weights, strict=True):
            if not weight:
                continue
            one = count(symbol(name))
            many = one if abs(weight) == 1 else abs(weight) * one
            total = many if total is None else total + many if weight > 0 else total - many
        assert total is not None
        return total

    def _within(self, total: CountingTerm, values: set[int], shift: int) -> Formula:
        """The count minus a shift is one of the values; the outermost stand for all beyond."""
        ranges: list[Formula] = []
        ordered = sorted(values)
        while ordered:
            low = high = ordered.pop(0)
            while ordered and ordered[0] == high + 1:
                high = ordered.pop(0)
            bounds = []
            if low == high and abs(low) < self.level:
                bounds.append(total.equals(low + shift))
            else:
                bounds += [total >= low + shift] if low > -self.level else []
                bounds += [total <= high + shift] if high < self.level else []
            ranges.append(reduce(and_, bounds) if bounds else TRUE)
        return reduce(or_, ranges) if ranges else ~TRUE


def counters(
    symbols: tuple[str, ...], follows: Callable[[Word], Answer], longest: int
) -> Iterator[LearnedCounter]:
    """Machines with one counter that agree with the answers asked for, simple counters first."""
    if len(symbols) > MOST_SYMBOLS:
        return
    suffixes = [w for n in range(SUFFIX + 1) for w in product(range(len(symbols)), repeat=n)]
    rows: dict[Word, Row] = {}

    def row(word: Word) -> Row:
        if word not in rows:
            rows[word] = tuple(follows(word + suffix) for suffix in suffixes)
        return rows[word]

    for weights in _weights(len(symbols)):
        for doubling in range(LEVELS):
            level = (SUFFIX * max(map(abs, weights)) + 1) << doubling
            machine = _counter(symbols, weights, level, row, longest)
            if machine is not None:
                yield machine


def _weights(count: int) -> list[tuple[int, ...]]:
    """Weights of symbols without a common factor, the first one positive, small ones first."""
    spread = range(-HEAVIEST, HEAVIEST + 1)
    every = [w for w in product(spread, repeat=count) if gcd(*w) == 1]
    positive = [w for w in every if next(x for x in w if x) > 0]
    return sorted(positive, key=lambda w: (max(map(abs, w)), min(w) >= 0, sum(map(abs, w)), w))


def _counter(
    symbols: tuple[str, ...],
    weights: tuple[int, ...],
    level: int,
    row: Callable[[Word], Row],
    longest: int,
) -> LearnedCounter | None:
    """The machine that representatives of every control state at every level give; None if they
    are too many."""
    steps: dict[tuple[Row, int], tuple[Row | None, ...]] = {}
    machine = LearnedCounter(symbols, weights, level, row(()), steps)
    todo: list[tuple[Word, int]] = [((), 0)]
    while todo:
        word, value = todo.pop(0)
        key = (row(word), machine.clipped(value))
        if key in steps:
            continue
        if len(steps) >= MOST_CONTROLS or len(word) >= longest - SUFFIX:
            return None
        after: list[Row | None] = []
        for k, weight in enumerate(weights):
            longer = (*word, k)
            alive = row(longer)[0] is not None
            after.append(row(longer) if alive else None)
            if alive:
                todo.append((longer, value + weight))
        steps[key] = tuple(after)
    return machine


def unrolled(
    machine: LearnedCounter, ids: tuple[int, ...], bos: int, eos: int | None, most: int
) -> Specification | None:
    """The machine for words of at most `most` symbols, a state for every control state and count;
    None where a step is not known, or there are too many."""

    def after(state: tuple[Row, int]) -> list[tuple[Row, int] | None]:
        row, value = state
        steps = machine.steps.get((row, machine.clipped(value)))
        if steps is None:
            raise SofthatError("a step is not known")
        moved = zip(steps, machine.weights, strict=True)
        return [None if to is None else (to, value + weight) for to, weight in moved]

    try:
        states, steps = explored(
            (machine.start, 0), after, len(ids), most, MOST_STATES, "the machine"
        )
    except SofthatError:
        return None
    classifies = eos is None
    numbers: dict[Row, int] = {}
    names = [f"q{numbers.setdefault(row, len(numbers))}, {value}" for row, value in states]
    return Specification(
        machine.symbols, ids, bos, eos, "argmax" if classifies else "sign", tuple(names), 0,
        np.array(steps, np.int64), tuple(row[0] or frozenset() for row, _ in states),
        (("false", 0), ("true", 1)) if classifies else (),
    )  # fmt: skip
