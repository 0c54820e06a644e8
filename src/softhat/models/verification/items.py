"""The work of a verification, cut into numbered items that always come out the same.

An item is a few plain numbers; what it finds is plain JSON. So items can run anywhere and in
any order, be done again after a crash, and be kept in a file: each counts once, by its number.
Exhaustive items come first, shortest words first.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import CertificateWarning
from softhat.models.model import Model
from softhat.models.verification.adversary import Shape, climb, shapes
from softhat.models.verification.blocks import Blocks
from softhat.models.verification.letters import letters
from softhat.models.verification.measure import Meter
from softhat.models.verification.words import (
    Tokens,
    by_number,
    decode,
    numbered,
    random_words,
    truth_of,
)
from softhat.runtime.answers import Runtime

Kind = Literal["exhaustive", "random", "adversarial", "search"]
KINDS = get_args(Kind)
BUDGET = 3e8
"""Rough nanoseconds of one item."""
TOGETHER = 8
"""Random words of one length."""
SEARCH_WIDTH = 16
"""Words tried in each step of a search."""
MEMORY = 1 << 24
"""Numbers that a batch of words may hold at a time."""
CHEAPER = 32
"""So many times as many words fit an item whose words share what they compute."""
MEASURED, MOST_MEASURED = 32, 1 << 9
"""One word in so many of an item is measured head by head, and no more than these."""


class Item(NamedTuple):
    """Words `start` to `stop` of a kind, all of length `n`; the first exhaustive item may be of all
    shorter words, too (`Job.lengths`)."""

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


class Job:
    """A model, made ready to run items."""

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
    def _meter(self) -> Meter:
        return Meter(self.model, self.settings.dtype)

    @cached_property
    def _shapes(self) -> list[Shape]:
        return shapes(self.model, self.table)

    # Cutting

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
    def _at_once(self) -> int:
        """The length of words whose block is one of all shorter words; at least 1."""
        n = 1
        while n < self.exhaustive_length and self._blocks.settled(n + 1):
            n += 1
        while n > 1 and self._free(n) < n:
            n -= 1
        return n

    def lengths(self, item: Item) -> range:
        """The lengths of an item's words."""
        shortest = 1 if item.kind == "exhaustive" and item.n == self._at_once else item.n
        return range(shortest, item.n + 1)

    def _exhaustive(self) -> Iterator[Item]:
        for n in range(self._at_once, self.exhaustive_length + 1):
            total = len(self.table) ** n
            free = self._free(n)
            step = len(self.table) ** free if free else self._fitting(n)
            for start in range(0, total, step):
                yield Item("exhaustive", n, start, min(start + step, total))

    def _random(self) -> Iterator[Item]:
        """Lengths are spread evenly on a logarithmic scale, the longest first."""
        rng = np.random.default_rng([self.settings.seed, 10])
        at = 0
        while at < self.settings.random:
            n = self._length(rng) if at else self.settings.longest
            stop = min(at + min(TOGETHER, self._fitting(n)), self.settings.random)
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

    def _fitting(self, n: int) -> int:
        """Words of length n for one item."""
        size = self.model.size
        rows = n + 2
        each = rows * (size.parameters / 4 + 16.0 * rows * max(size.heads, 1))
        return max(1, int(BUDGET / each))

    @cached_property
    def _blocks(self) -> Blocks:
        return Blocks(self.model, self.table, self.settings.dtype)

    def _free(self, n: int) -> int:
        """The free letters of an item of all words of length n; 0 if they are run one by one."""
        if self.settings.runtime != "dense":
            return 0
        return self._blocks.free(n, CHEAPER * self._fitting(n))

    def _shown_later(self, n: int) -> bool:
        """Whether the leaks of words of length n are those of longer words, measured with them."""
        last = self.exhaustive_length
        return (
            n < last
            and self._free(last) > 0
            and all(map(self._blocks.settled, range(n + 1, last + 1)))
        )

    # Doing

    def run(self, item: Item) -> dict[str, Any]:
        """What an item finds: words, seconds, smallest margins, leaks, the first mismatch."""
        began = time.perf_counter()
        findings = Findings(len(self.model.transformer.outputs), self.model.size.heads)
        samples = []
        if item.kind == "exhaustive" and self._free(item.n) and self._check_block(item, findings):
            samples.append(self._measured(item))
        else:
            for tokens, sample in self._one_by_one(item, findings):
                self.check(tokens, findings)
                if findings.mismatch is not None:
                    break
                samples.append(sample)
        samples = list(filter(len, samples))
        if findings.mismatch is None and samples:
            self._leaks(np.concatenate(samples), findings)  # together: small batches are dear
        return findings.to_json(time.perf_counter() - began)

    def margins(self, tokens: Tokens) -> NDArray[Any]:
        """(words, n, outputs), by the runtime that is verified."""
        if self.settings.runtime == "dense":
            return self.model.run_batch(tokens, self.settings.dtype)
        words = [decode(self.model, word) for word in tokens]
        dtype, runtime = self.settings.dtype, self.settings.runtime
        with warnings.catch_warnings():  # going past the certificate is the point here
            warnings.simplefilter("ignore", CertificateWarning)
            outputs = [
                np.stack(self.model.margins_many(words, dtype, name, runtime))
                for name in self.model.transformer.outputs
            ]
        return np.stack(outputs, axis=-1)

    def signed(self, tokens: Tokens) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]:
        """(words, n, outputs): the margins, positive on the right side; the formulas' truth;
        and where the model is wrong."""
        margins, truth = self.margins(tokens), truth_of(self.model, tokens)
        wrong = ((margins > 0) != truth) | np.isnan(margins)
        side = np.where(truth, margins, -margins)
        return np.where(np.isnan(side), -np.inf, side), truth, wrong

    def check(self, tokens: Tokens, findings: Findings) -> NDArray[Any]:
        """Compare with the formulas at every position, for every output; the signed margins."""
        signed, truth, wrong = self.signed(tokens)
        findings.words += len(tokens)
        findings.margin = np.minimum(findings.margin, signed.min(axis=(0, 1)))
        if wrong.any() and findings.mismatch is None:
            word, position, output = (int(k) for k in np.argwhere(wrong)[0])
            findings.mismatch = {
                "tokens": tokens[word].astype(int).tolist(),
                "position": position,
                "output": self.model.transformer.outputs[output],
                "expected": bool(truth[word, position, output]),
            }
        return signed

    def _check_block(self, item: Item, findings: Findings) -> bool:
        """All words of an item at once; whether they are right. Which of them is wrong is seen one
        by one."""
        lengths, free = self.lengths(item), self._free(item.n)
        least = self._blocks.least_margins(item.n, item.start, free, shorter=len(lengths) > 1)
        if least is None:
            return False
        findings.words += item.stop - item.start + sum(len(self.table) ** n for n in lengths[:-1])
        findings.margin = np.minimum(findings.margin, least)
        return True

    def _measured(self, item: Item) -> Tokens:
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

    def _leaks(self, tokens: Tokens, findings: Findings) -> NDArray[Any] | None:
        if not self._meter.able:
            return None
        soft, exact = self._meter.leaks(tokens)
        findings.leak = np.maximum(findings.leak, soft.max(axis=0))
        findings.exact_leak = np.maximum(findings.exact_leak, exact.max(axis=0))
        return soft

    def _one_by_one(self, item: Item, findings: Findings) -> Iterator[tuple[Tokens, Tokens]]:
        """`_batches` of an item, the shortest words first."""
        for n in self.lengths(item)[:-1]:
            yield from self._batches(Item("exhaustive", n, 0, len(self.table) ** n), findings)
        yield from self._batches(item, findings)

    def _batches(self, item: Item, findings: Findings) -> Iterator[tuple[Tokens, Tokens]]:
        """The words of an item, and those of them to measure head by head."""
        rng = np.random.default_rng([self.settings.seed, KINDS.index(item.kind), item.start])
        match item.kind:
            case "exhaustive":
                step = max(1, MEMORY // self._per_word(item.n))
                measured = self._measured(item)
                for start in range(item.start, item.stop, step):
                    tokens = numbered(self.table, item.n, start, min(start + step, item.stop))
                    yield tokens, measured
                    measured = measured[:0]
            case "random":
                tokens = random_words(self.model, rng, item.n, item.stop - item.start)
                yield tokens, tokens[:1]
            case "adversarial":
                shape = self._shapes[item.start % len(self._shapes)]
                tokens = self.table[shape(rng, item.n)][None]
                yield tokens, tokens
            case "search":
                yield from self._search(item, findings, rng)

    def _search(
        self, item: Item, findings: Findings, rng: np.random.Generator
    ) -> Iterator[tuple[Tokens, Tokens]]:
        """Make one head leak as much as it can, or an output's margin as small."""
        head = item.start % (self.model.size.heads + 1)
        shape = self._shapes[int(rng.integers(len(self._shapes)))]

        def objective(words: Tokens) -> NDArray[Any]:
            leaks = self._leaks(words, findings)
            if leaks is None or head == leaks.shape[1]:
                return -self.signed(words)[0].min(axis=(1, 2))
            return np.asarray(leaks[:, head])

        # Measuring takes three more runs, two of them in float64.
        steps = min(24, max(3, self._fitting(item.n) // (4 * SEARCH_WIDTH)))
        start = self.table[shape(rng, item.n)]
        for words in climb(start, self.table, objective, rng, steps, SEARCH_WIDTH):
            yield words, words[:0]

    def _per_word(self, n: int) -> int:
        """Numbers held at a time for a word of length n."""
        widest = max((len(layer.labels) for layer in self.model.transformer.layers), default=0)
        size = self.model.size
        return (n + 2) * (1 + 4 * size.d_model + 3 * size.d_ff + 16 * widest)


class Findings:
    """What an item has found so far."""

    def __init__(self, outputs: int, heads: int) -> None:
        self.words = 0
        self.margin = np.full(outputs, np.inf)
        self.leak = np.zeros(heads)
        self.exact_leak = np.zeros(heads)
        self.mismatch: dict[str, Any] | None = None

    def to_json(self, seconds: float) -> dict[str, Any]:
        """Infinities are written as strings: JSON has none."""
        return {
            "words": self.words,
            "seconds": round(seconds, 6),
            "margin": [number(x) for x in self.margin],
            "leak": [number(x) for x in self.leak],
            "exact_leak": [number(x) for x in self.exact_leak],
            "mismatch": self.mismatch,
        }


def number(x: float) -> float | str:
    """A number as JSON."""
    return float(x) if math.isfinite(x) else str(float(x))
