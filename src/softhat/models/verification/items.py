"""The work of a verification, cut into numbered items.

An item is a few plain numbers, and the same work is always cut the same way. So items can run
anywhere and in any order, be done again after a crash, and be kept in a file: each counts once, by
its number. Exhaustive items come first, shortest words first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from softhat.models.model import Model
from softhat.models.verification.blocks import WordBlocks
from softhat.models.verification.letters import letters
from softhat.models.verification.words import Tokens, by_number, numbered
from softhat.runtime.answers import Runtime

Kind = Literal["exhaustive", "random", "adversarial", "search"]
KINDS = get_args(Kind)
BUDGET = 3e8
"""Rough nanoseconds of one item."""
TOGETHER = 8
"""Random words of one length."""
MEMORY = 1 << 24
"""Numbers that a batch of words may hold at a time."""
CHEAPER = 32
"""So many times as many words fit an item whose words share what they compute."""
TOGETHER_AT_MOST = 1 << 15
"""Words of several lengths in one item: for so few an item's own costs are as large as theirs."""
MEASURED, MOST_MEASURED = 32, 1 << 9
"""One word in so many of an item is measured head by head, and no more than these."""


class Item(NamedTuple):
    """Words `start` to `stop` of a kind, all of length `n`; the first exhaustive item may be of all
    shorter words, too (`Items.lengths`)."""

    kind: Kind
    n: int
    start: int
    stop: int


@dataclass(frozen=True)
class VerificationSettings:
    """What is to be verified, beside the model. `longest` bounds random and adversarial words."""

    exhaustive: int
    random: int
    adversarial: int
    longest: int
    max_words: int
    dtype: str
    runtime: Runtime
    seed: int


class Items:
    """The words that a model is tried on, in items."""

    def __init__(self, model: Model, settings: VerificationSettings) -> None:
        self.model = model
        self.settings = settings

    @cached_property
    def _letters(self) -> tuple[Tokens, bool]:
        return letters(self.model)

    @property
    def table(self) -> Tokens:
        """The letters that words are made of."""
        return self._letters[0]

    @cached_property
    def exhaustive_length(self) -> int:
        """The last length up to which all words fit `max_words`."""
        k, complete = self._letters
        total = n = 0
        while complete and n < self.settings.exhaustive:
            total += len(k) ** (n + 1)
            if total > self.settings.max_words:
                break
            n += 1
        return n

    def items(self) -> list[Item]:
        return [*self._exhaustive(), *self._random(), *self._adversarial(), *self._searches()]

    @cached_property
    def one_block(self) -> int:
        """The length of words whose block is one of all shorter words; at least 1."""
        n = 1
        while n < self.exhaustive_length and self.blocks.settled(n + 1):
            n += 1
        while n > 1 and self.free(n) < n:
            n -= 1
        return n

    @cached_property
    def _at_once(self) -> int:
        """The length of words whose item is of all shorter words, too; at least 1."""
        if self.one_block > 1 or self.settings.runtime != "dense":
            return self.one_block
        words = held = 0
        for n in range(1, self.exhaustive_length + 1):
            own, free = len(self.table) ** n, self.free(n)
            words += own
            held += 0 if free else own * self.per_word(n)
            whole = free == n or (not free and own <= self.fitting(n))
            if not whole or words > TOGETHER_AT_MOST or held > MEMORY:
                return max(1, n - 1)
        return max(1, self.exhaustive_length)

    def lengths(self, item: Item) -> range:
        """The lengths of an item's words."""
        shortest = 1 if item.kind == "exhaustive" and item.n == self._at_once else item.n
        return range(shortest, item.n + 1)

    def _exhaustive(self) -> Iterator[Item]:
        for n in range(self._at_once, self.exhaustive_length + 1):
            total = len(self.table) ** n
            free = self.free(n)
            step = len(self.table) ** free if free else self.fitting(n)
            for start in range(0, total, step):
                yield Item("exhaustive", n, start, min(start + step, total))

    def _random(self) -> Iterator[Item]:
        """Lengths are spread evenly on a logarithmic scale, the longest first."""
        rng = np.random.default_rng([self.settings.seed, 10])
        at = 0
        while at < self.settings.random:
            n = self._length(rng) if at else self.settings.longest
            stop = min(at + min(TOGETHER, self.fitting(n)), self.settings.random)
            yield Item("random", n, at, stop)
            at = stop

    def _adversarial(self) -> Iterator[Item]:
        """Half of the words as long as allowed, the others of any length."""
        rng = np.random.default_rng([self.settings.seed, 11])
        for at in range(self.settings.adversarial):
            n, longest = self._length(rng), bool(rng.random() < 0.5)
            yield Item("adversarial", self.settings.longest if longest else n, at, at + 1)

    def _searches(self) -> Iterator[Item]:
        """One search for ten adversarial words, on lengths where many steps can be afforded."""
        rng = np.random.default_rng([self.settings.seed, 12])
        for at in range(math.ceil(self.settings.adversarial / 10)):
            n = min(self._length(rng), 200)
            yield Item("search", n, at, at + 1)

    def _length(self, rng: np.random.Generator) -> int:
        low, high = min(self.exhaustive_length + 1, self.settings.longest), self.settings.longest
        return round(math.exp(rng.uniform(math.log(low), math.log(high))))

    def fitting(self, n: int) -> int:
        """Words of length n for one item."""
        size = self.model.size
        rows = n + 2
        each = rows * (size.parameters / 4 + 16.0 * rows * max(size.heads, 1))
        return max(1, int(BUDGET / each))

    @cached_property
    def blocks(self) -> WordBlocks:
        return WordBlocks(self.model, self.table, self.settings.dtype)

    def free(self, n: int) -> int:
        """The free letters of an item of all words of length n; 0 if they are run one by one."""
        if self.settings.runtime != "dense":
            return 0
        return self.blocks.free(n, CHEAPER * self.fitting(n))

    def _shown_later(self, n: int) -> bool:
        """Whether the leaks of words of length n are those of longer words, measured with them."""
        last = self.exhaustive_length
        return (
            n < last
            and self.free(last) > 0
            and all(map(self.blocks.settled, range(n + 1, last + 1)))
        )

    def measured(self, item: Item) -> Tokens:
        """The words of an exhaustive item that are measured head by head: none if longer ones show
        the same, all of a few, otherwise some that are spread over all."""
        count = item.stop - item.start
        if self._shown_later(item.n):
            return numbered(self.table, item.n, item.start, item.start)
        wanted = count if count <= 2 * MEASURED else min(count // MEASURED, MOST_MEASURED)
        step = round(count * (math.sqrt(5) - 1) / 2)
        while math.gcd(step, count) != 1:  # all letters come up at every place
            step += 1
        places = item.start + np.sort(np.arange(wanted) * step % count)
        return by_number(self.table, item.n, places)

    def per_word(self, n: int) -> int:
        """Numbers held at a time for a word of length n."""
        widest = max((len(layer.labels) for layer in self.model.transformer.layers), default=0)
        size = self.model.size
        return (n + 2) * (1 + 4 * size.d_model + 3 * size.d_ff + 16 * widest)
