"""The work of a verification, cut into numbered items that always come out the same.

An item is a few plain numbers; what it finds is plain JSON. So items can run anywhere and in
any order, be done again after a crash, and be kept in a file: each counts once, by its number.
Exhaustive items come first, shortest words first.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Sequence
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
    truth_together,
)
from softhat.runtime.answers import Runtime
from softhat.runtime.dense import Ready
from softhat.runtime.heard import Heard, listen

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
TOGETHER_AT_MOST = 1 << 15
"""Words of several lengths in one item: for so few an item's own costs are as large as theirs."""
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
        return Meter(self.model)

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
    def _one_block(self) -> int:
        """The length of words whose block is one of all shorter words; at least 1."""
        n = 1
        while n < self.exhaustive_length and self._blocks.settled(n + 1):
            n += 1
        while n > 1 and self._free(n) < n:
            n -= 1
        return n

    @cached_property
    def _at_once(self) -> int:
        """The length of words whose item is of all shorter words, too; at least 1."""
        if self._one_block > 1 or self.settings.runtime != "dense":
            return self._one_block
        words = held = 0
        for n in range(1, self.exhaustive_length + 1):
            own, free = len(self.table) ** n, self._free(n)
            words += own
            held += 0 if free else own * self._per_word(n)
            whole = free == n or (not free and own <= self._fitting(n))
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
        rng = np.random.default_rng([self.settings.seed, KINDS.index(item.kind), item.start])
        match item.kind:
            case "exhaustive":
                self._try_all(item, findings)
            case "random":
                tokens = random_words(self.model, rng, item.n, item.stop - item.start)
                self.check(tokens, findings)
                if findings.mismatch is None:
                    self._leaks([tokens[:1]], findings)
            case "adversarial":
                shape = self._shapes[item.start % len(self._shapes)]
                self._examine(self.table[shape(rng, item.n)][None], findings)
            case "search":
                self._search(item, findings, rng)
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

    def wrong(self, tokens: Tokens) -> NDArray[np.bool_]:
        """(words,): whether the model is wrong somewhere."""
        margins, truth = self.margins(tokens), truth_of(self.model, tokens)
        return np.asarray(_differ(margins, truth).any(axis=(1, 2)))

    def check(self, tokens: Tokens, findings: Findings) -> None:
        """Compare with the formulas at every position, for every output."""
        self._compare(tokens, self.margins(tokens), truth_of(self.model, tokens), findings)

    def _compare(
        self, tokens: Tokens, margins: NDArray[Any], truth: NDArray[np.bool_], findings: Findings
    ) -> NDArray[Any]:
        """(words, n, outputs): the margins, positive on the right side."""
        side = np.where(truth, margins, -margins)
        signed = np.where(np.isnan(side), -np.inf, side)
        findings.words += len(tokens)
        findings.margin = np.minimum(findings.margin, signed.min(axis=(0, 1)))
        wrong = _differ(margins, truth)
        if findings.mismatch is None and wrong.any():
            word, position, output = (int(k) for k in np.argwhere(wrong)[0])
            findings.mismatch = {
                "tokens": tokens[word].astype(int).tolist(),
                "position": position,
                "output": self.model.transformer.outputs[output],
                "expected": bool(truth[word, position, output]),
            }
        return signed

    # All words

    def _try_all(self, item: Item, findings: Findings) -> None:
        """The words of an exhaustive item, the shortest first: short ones of several lengths
        together, longer ones in blocks, or all in one block."""
        parts = [Item(item.kind, n, 0, len(self.table) ** n) for n in self.lengths(item)[:-1]]
        parts.append(item)
        right: list[Item] = []
        if len(parts) > 1 and item.n == self._one_block:
            if self._check_block(parts, findings):
                right = [item]
            else:
                self._one_by_one(parts, findings)
        else:
            few = sum(not self._free(part.n) for part in parts)
            right = self._together(parts[:few], findings)
            for part in parts[few:]:
                if findings.mismatch is not None:
                    break
                if self._check_block([part], findings) or self._one_by_one([part], findings):
                    right.append(part)
        samples = [self._measured(part) for part in right]
        self._leaks([tokens for tokens in samples if len(tokens)], findings)

    def _check_block(self, parts: Sequence[Item], findings: Findings) -> bool:
        """All words of the last part at once, and with them those of the shorter ones; whether
        they are right. Which of them is wrong is seen one by one."""
        item = parts[-1]
        free = self._free(item.n)
        least = self._blocks.least_margins(item.n, item.start, free, shorter=len(parts) > 1)
        if least is None:
            return False
        findings.words += sum(part.stop - part.start for part in parts)
        findings.margin = np.minimum(findings.margin, least)
        return True

    def _together(self, parts: Sequence[Item], findings: Findings) -> list[Item]:
        """All words of several lengths in one run; the lengths that are right before the first
        that is not."""
        if len(parts) < 2:
            return [*parts] if self._one_by_one(parts, findings) else []
        groups = [numbered(self.table, part.n, part.start, part.stop) for part in parts]
        heard = listen(self._ready, groups)
        truths = truth_together(self.model, groups)
        for k, (tokens, truth) in enumerate(zip(groups, truths, strict=True)):
            self._compare(tokens, heard.margins(k), truth, findings)
            if findings.mismatch is not None:
                return [*parts[:k]]
        return [*parts]

    def _one_by_one(self, parts: Sequence[Item], findings: Findings) -> bool:
        """Words that share nothing, up to the first that is wrong; whether there is none."""
        for part in parts:
            step = max(1, MEMORY // self._per_word(part.n))
            for start in range(part.start, part.stop, step):
                words = numbered(self.table, part.n, start, min(start + step, part.stop))
                self.check(words, findings)
                if findings.mismatch is not None:
                    return False
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

    # Heads

    @property
    def _ready(self) -> Ready:
        return self.model.ready(self.settings.dtype)

    def _leaks(
        self, groups: Sequence[Tokens], findings: Findings, heard: Heard | None = None
    ) -> NDArray[Any] | None:
        """(words, heads): the leaks in the number format, the longest words first; `heard` is what
        the words say in it, if they were run. None if nothing can be measured."""
        if not groups or not self._meter.able:
            return None
        hard = self._meter.hard(groups)
        soft = self._meter.leaks(heard or listen(self._ready, groups), hard)
        exact = soft
        if self._ready is not self.model.ready("float64"):
            exact = self._meter.leaks(listen(self.model.ready("float64"), groups), hard)
        findings.leak = np.maximum(findings.leak, soft.max(axis=0))
        findings.exact_leak = np.maximum(findings.exact_leak, exact.max(axis=0))
        return soft

    def _examine(
        self, tokens: Tokens, findings: Findings
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Check words and measure all of them: the signed margins, and the leaks."""
        dense = self.settings.runtime == "dense"
        heard = listen(self._ready, [tokens]) if dense else None
        margins = self.margins(tokens) if heard is None else heard.margins(0)
        signed = self._compare(tokens, margins, truth_of(self.model, tokens), findings)
        if findings.mismatch is not None:
            return signed, None
        return signed, self._leaks([tokens], findings, heard)

    def _search(self, item: Item, findings: Findings, rng: np.random.Generator) -> None:
        """Make one head leak as much as it can, or an output's margin as small."""
        head = item.start % (self.model.size.heads + 1)
        shape = self._shapes[int(rng.integers(len(self._shapes)))]

        def objective(words: Tokens) -> NDArray[Any]:
            signed, leaks = self._examine(words, findings)
            if leaks is None or head == leaks.shape[1]:
                return np.asarray(-signed.min(axis=(1, 2)))
            return np.asarray(leaks[:, head])

        # Measuring takes two more runs, both in float64.
        steps = min(24, max(3, self._fitting(item.n) // (4 * SEARCH_WIDTH)))
        start = self.table[shape(rng, item.n)]
        for _ in climb(start, self.table, objective, rng, steps, SEARCH_WIDTH):
            if findings.mismatch is not None:
                break

    def _per_word(self, n: int) -> int:
        """Numbers held at a time for a word of length n."""
        widest = max((len(layer.labels) for layer in self.model.transformer.layers), default=0)
        size = self.model.size
        return (n + 2) * (1 + 4 * size.d_model + 3 * size.d_ff + 16 * widest)


def _differ(margins: NDArray[Any], truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where the answers are not the truth, or are no numbers."""
    return np.asarray(((margins > 0) != truth) | np.isnan(margins))


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
