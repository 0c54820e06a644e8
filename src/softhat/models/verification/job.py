"""What is done for an item of a verification: run the model, compare, measure its heads.

What is found is plain JSON, and always comes out the same.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import CertificateWarning
from softhat.models.verification.adversary import Shape, climb, shapes
from softhat.models.verification.items import KINDS, MEMORY, Item, Items
from softhat.models.verification.measure import Meter
from softhat.models.verification.words import (
    Tokens,
    decode,
    numbered,
    random_words,
    truth_of,
    truth_together,
)
from softhat.runtime.dense import Ready
from softhat.runtime.heard import Heard, listen

SEARCH_WIDTH = 16
"""Words tried in each step of a search."""


class Job(Items):
    """A model, made ready to do its items."""

    @cached_property
    def _meter(self) -> Meter:
        return Meter(self.model)

    @cached_property
    def _shapes(self) -> list[Shape]:
        return shapes(self.model, self.table)

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
        if len(parts) > 1 and item.n == self.one_block:
            if self._check_block(parts, findings):
                right = [item]
            else:
                self._one_by_one(parts, findings)
        else:
            short = list(takewhile(lambda part: not self.free(part.n), parts))
            right = self._together(short, findings)
            for part in parts[len(short) :]:
                if findings.mismatch is not None:
                    break
                if self._check_block([part], findings) or self._one_by_one([part], findings):
                    right.append(part)
        samples = [self.measured(part) for part in right]
        self._leaks([tokens for tokens in samples if len(tokens)], findings)

    def _check_block(self, parts: Sequence[Item], findings: Findings) -> bool:
        """All words of the last part at once, and with them those of the shorter ones; whether
        that can be done and they are right. Which of them is wrong is seen one by one."""
        item = parts[-1]
        free = self.free(item.n)
        if not free:
            return False
        least = self.blocks.least_margins(item.n, item.start, free, shorter=len(parts) > 1)
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
            step = max(1, MEMORY // self.per_word(part.n))
            for start in range(part.start, part.stop, step):
                words = numbered(self.table, part.n, start, min(start + step, part.stop))
                self.check(words, findings)
                if findings.mismatch is not None:
                    return False
        return True

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
        steps = min(24, max(3, self.fitting(item.n) // (4 * SEARCH_WIDTH)))
        start = self.table[shape(rng, item.n)]
        for _ in climb(start, self.table, objective, rng, steps, SEARCH_WIDTH):
            if findings.mismatch is not None:
                break


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
